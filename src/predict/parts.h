/* Scores rows that stay in their files, in blocks. */
#ifndef OAT_PARTS_H
#define OAT_PARTS_H

#include "data/data.h"

/* Scores rows in memory, and fills the arrays of `rows`. */
typedef oatgp_status oat_score_part(void *self, const oatgp_data *part, const oatgp_held_out_sd *rows,
                                    oatgp_scores *scores);

/* The scores of all rows from those of parts. They are means over rows and the same as for all rows at once, except for
 * the median (mnlp) and the AUC: with over a million rows, these use only one row in every few, with a note. `rows` may
 * be NULL. */
oatgp_status oat_parts_score(oatgp_context *ctx, const oatgp_data *data, oat_score_part *score, void *self,
                             const oatgp_held_out_sd *rows, oatgp_scores *out);

#endif
