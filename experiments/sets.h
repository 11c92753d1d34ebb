/* A set of data, its five splits and starting knots, as the paper's scripts draw them. */
#ifndef EXPERIMENTS_SETS_H
#define EXPERIMENTS_SETS_H

#include "draw.h"
#include "paper.h"

/* A file of numbers with a header; the last column is the target. */
typedef struct numbers {
  size_t rows, columns;
  double *value;
} numbers;

oatgp_status numbers_read(oatgp_context *ctx, const char *path, numbers *out);

typedef struct split {
  size_t d;
  points scaled;          /* inputs of the training rows, centred and divided by their standard deviation; owned */
  double *centre, *scale; /* d each */
  oatgp_data *train, *test;
  bool *in_train; /* for each row of the table */
  double *test_y;
  size_t test_rows;
} split;

/* Run 1, 2, ... of a set. With quick, not more than 400 rows of each part. */
oatgp_status split_make(oatgp_context *ctx, const numbers *table, const set_info *set, int run, bool quick, split *out);
void split_free(split *s);
/* K starting knots by k-means, in the data's units: the paper draws five, and after these K for a simultaneous fit. */
oatgp_status split_knots(oatgp_context *ctx, const split *s, size_t k, oatgp_data **out);

enum { START_KNOTS = 5 };

#endif
