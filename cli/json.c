/* JSON objects with cJSON. Numbers are written here, because cJSON may print one that differs in the last bit. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The shortest of 15, 16 and 17 digits that reads back to the value. */
static cJSON *number_item(double value) {
  char text[40];
  if (!isfinite(value)) {
    return cJSON_CreateNull();
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) {
      break;
    }
  }
  return cJSON_CreateRaw(text);
}

static cJSON *array_item(size_t count, const double *values) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; array != NULL && i < count; i++) {
    cJSON *item = number_item(values[i]);
    if (item == NULL || !cJSON_AddItemToArray(array, item)) {
      cJSON_Delete(item);
      cJSON_Delete(array);
      return NULL;
    }
  }
  return array;
}

cli_json cli_json_begin(void) {
  cJSON *object = cJSON_CreateObject();
  return (cli_json){object, object == NULL};
}

void cli_json_item(cli_json *json, const char *name, cJSON *item) {
  if (item == NULL || json->object == NULL || !cJSON_AddItemToObject(json->object, name, item)) {
    cJSON_Delete(item);
    json->failed = true;
  }
}

void cli_json_number(cli_json *json, const char *name, double value) { cli_json_item(json, name, number_item(value)); }

void cli_json_whole(cli_json *json, const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  cli_json_item(json, name, cJSON_CreateRaw(text));
}

void cli_json_text(cli_json *json, const char *name, const char *text) {
  const size_t size = text != NULL ? oatgp_to_utf8(text, NULL, 0) + 1 : 0;
  char *copy = size > 0 ? malloc(size) : NULL; /* paths and arguments need not be UTF-8, JSON must be */
  if (copy != NULL) {
    oatgp_to_utf8(text, copy, size);
  }
  cli_json_item(json, name, text == NULL ? cJSON_CreateNull() : copy != NULL ? cJSON_CreateString(copy) : NULL);
  free(copy);
}

void cli_json_numbers(cli_json *json, const char *name, size_t count, const double *values) {
  cli_json_item(json, name, array_item(count, values));
}

static void put_parameters(cli_json *json, const char *name, size_t count, const oatgp_parameter *parameters) {
  cli_json values = cli_json_begin();
  for (size_t i = 0; i < count; i++) {
    cli_json_number(&values, parameters[i].name, parameters[i].value);
  }
  cli_json_object(json, name, &values);
}

void cli_json_parameters(cli_json *json, size_t count, const oatgp_parameter *parameters) {
  put_parameters(json, "parameters", count, parameters);
}

void cli_json_likelihood(cli_json *json, size_t count, const oatgp_parameter *parameters) {
  put_parameters(json, "likelihood_parameters", count, parameters);
}

void cli_json_matrix(cli_json *json, const char *name, const cli_matrix *matrix) {
  cJSON *rows = cJSON_CreateArray();
  for (size_t i = 0; rows != NULL && i < matrix->rows; i++) {
    cJSON *row = array_item(matrix->columns, matrix->values + i * matrix->columns);
    if (row == NULL || !cJSON_AddItemToArray(rows, row)) {
      cJSON_Delete(row);
      cJSON_Delete(rows);
      rows = NULL;
    }
  }
  cli_json_item(json, name, rows);
}

void cli_json_object(cli_json *json, const char *name, cli_json *child) {
  json->failed = json->failed || child->failed;
  cli_json_item(json, name, child->object);
  child->object = NULL;
}

oatgp_status cli_json_end(cli *c, cli_json *json, FILE *stream, bool indented) {
  if (stream == stdout) {
    cli_clear_line(c);
  }
  char *text = json->failed ? NULL : indented ? cJSON_Print(json->object) : cJSON_PrintUnformatted(json->object);
  cJSON_Delete(json->object);
  json->object = NULL;
  if (text == NULL) {
    return cli_fail(c, OATGP_MEMORY, "out of memory while writing JSON");
  }
  fprintf(stream, "%s\n", text);
  c->has_result = c->has_result || stream == stdout;
  cJSON_free(text);
  return OATGP_OK;
}
