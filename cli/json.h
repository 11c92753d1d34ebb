/* JSON objects with cJSON, whose numbers read back to the same value. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <cjson/cJSON.h>

#include "cli.h"

/* An object under construction. A failed allocation is recorded and reported at the end. */
typedef struct cli_json {
  cJSON *object;
  bool failed;
} cli_json;

/* rows x columns values, row-major. */
typedef struct cli_matrix {
  size_t rows, columns;
  const double *values;
} cli_matrix;

cli_json cli_json_begin(void);
void cli_json_number(cli_json *json, const char *name, double value); /* null when not finite */
void cli_json_whole(cli_json *json, const char *name, int64_t value);
void cli_json_text(cli_json *json, const char *name,
                   const char *text); /* null for NULL; made UTF-8 as oatgp_to_utf8 does */
void cli_json_numbers(cli_json *json, const char *name, size_t count, const double *values);
/* "parameters", an object from names to values. */
void cli_json_parameters(cli_json *json, size_t count, const oatgp_parameter *parameters);
/* "likelihood_parameters", the same. */
void cli_json_likelihood(cli_json *json, size_t count, const oatgp_parameter *parameters);
void cli_json_matrix(cli_json *json, const char *name, const cli_matrix *matrix);
/* Adds any item, such as an array made by the caller, and takes ownership of it. */
void cli_json_item(cli_json *json, const char *name, cJSON *item);
/* Adds the child, and takes ownership of it. */
void cli_json_object(cli_json *json, const char *name, cli_json *child);
/* Writes the object, indented or on one line, and a newline; frees it. */
oatgp_status cli_json_end(cli *c, cli_json *json, FILE *stream, bool indented);

#endif
