/* Shared by the benchmarks. */
#ifndef OAT_BENCH_H
#define OAT_BENCH_H

#include <stddef.h>

#include "oatgp.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Ends the program with the context's sentence unless the status is OATGP_OK. */
void bench_check(const oatgp_context *ctx, oatgp_status status);
/* An array of zeros; ends the program if there is no memory. Free with free(). */
double *bench_numbers(oatgp_context *ctx, size_t count);
/* The median (the upper one of an even count); sorts the values. */
double bench_median(double *values, size_t count);

#endif
