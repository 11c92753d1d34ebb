/* Every statement of the paper that a number can settle. */
#ifndef EXPERIMENTS_CLAIMS_H
#define EXPERIMENTS_CLAIMS_H

#include "document.h"
#include "paper.h"

/* The table, with what was measured under both presets. */
void write_claims(document *d, const results *r);
/* How many hold with a preset; out of how many that could be judged. */
size_t count_claims(const results *r, const char *preset, size_t *judged);

#endif
