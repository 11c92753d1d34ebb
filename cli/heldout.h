/* Scores and predictions of held-out rows as text and as JSON, for score, loo and cv. */
#ifndef CLI_HELDOUT_H
#define CLI_HELDOUT_H

#include "json.h"

/* The arrays that the library fills, with one value for each row. */
typedef struct cli_held_out {
  size_t rows;
  oatgp_held_out_sd out;
} cli_held_out;

oatgp_status cli_held_out_make(cli *c, size_t rows, cli_held_out *held);
/* The table of -o, if it was requested: mean, sd, nlp and standardised residual. */
oatgp_status cli_held_out_write(cli *c, const cli_held_out *held);
void cli_held_out_free(cli_held_out *held);
/* Refuses a table and JSON that both go to standard output. */
oatgp_status cli_held_out_check(cli *c);
/* Whether only the table goes to standard output. */
bool cli_held_out_alone(const cli *c);

/* score.c: all scores but those against another model. */
void cli_put_scores(cli_json *json, const oatgp_scores *scores);
void cli_print_scores(const oatgp_scores *scores);

#endif
