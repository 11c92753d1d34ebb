/* The linear system behind the exact evidence, without its matrix: C = K + D over all rows, D their noise variances, and its sparse
 * approximation P = Q + D, Q = V^T V, whose inverse is known by the Woodbury identity from K x K factors.
 *
 * Blocks of K are made, used and forgotten. Work is dealt out to lanes in a way that depends on the rows alone, each lane has its own sums,
 * and these are added in their order: so the number of threads changes no bit. */
#ifndef OAT_SYSTEM_H
#define OAT_SYSTEM_H

#include "linalg/linalg.h"
#include "objective/objective.h"

enum { OAT_SYSTEM_BLOCK = 256 }; /* rows */

typedef struct oat_system_config {
  const oat_rows *rows; /* borrowed, as all that follows */
  oat_sparse sparse;    /* covariance, knots, their factor, tau */
  const double *lb;     /* factor of B = I + V D^-1 V^T */
  int threads;
  int64_t memory;          /* bytes that may be spent on keeping V */
  bool (*ask)(void *self); /* asked in the thread of the caller after each tile; false: give up */
  void *self;
} oat_system_config;

typedef struct oat_system_lane {
  double *tile; /* a block of K or of V */
  double *work; /* of the kernel */
  double *y;    /* n: sums of a product */
  double *t;    /* k: sums of V D^-1 u */
} oat_system_lane;

typedef struct oat_system {
  oat_system_config config;
  oatgp_context *ctx;
  size_t blocks, tiles; /* of rows; of the upper half of K */
  size_t lanes, width;  /* width: columns of a lane's tile */
  oat_system_lane *lane;
  double *w;    /* n: 1 / noise variance */
  double *v;    /* V block after block, rows x k each; or NULL */
  double *t;    /* k */
  double *room; /* of the triangle */
  oat_triangle kuu;
  const char *what;   /* is under way, for progress */
  size_t done, total; /* tiles of that */
  bool given_up;
} oat_system;

/* `system` must be zero before; close it whatever happens. */
oatgp_status oat_system_open(oatgp_context *ctx, const oat_system_config *config, oat_system *system);
/* y = C p, O(N^2 d / 2). False if it was given up; y is then of no use. */
bool oat_system_product(oat_system *system, const double *p, double *y);
/* z = P^-1 u, O(N K). */
void oat_system_solve_sparse(oat_system *system, const double *u, double *z);
/* About how many seconds a product takes, from a small part of one. */
double oat_system_cost(oat_system *system);
void oat_system_close(oat_system *system);

/* For other loops over tiles: the rows of a block; threads to use; V of a block, kept or made in the lane's tile. */
oat_points oat_system_part(const oat_system *system, size_t block);
int oat_system_threads(const oat_system *system);
oat_const_view oat_system_v(const oat_system *system, const oat_system_lane *lane, size_t block);
/* Before such a loop, and after each tile of it: tells how far it is and asks whether to go on. */
void oat_system_begin(oat_system *system, const char *what, size_t tiles);
bool oat_system_goes_on(oat_system *system);

#endif
