/* Shared by the files of neighbours (neighbours.c has the formulas): a point with its neighbours, and the buffers for
 * it. */
#ifndef OAT_NEIGHBOURS_H
#define OAT_NEIGHBOURS_H

#include "device/cpu/cpu.h"
#include "device/cpu/near.h"
#include "linalg/few.h"

enum { OAT_NEAR_POINTS = 64 }; /* other points at a time */

/* The scratch of one worker. */
typedef struct oat_desk {
  const double **v;    /* m + 1: V of the neighbours and of the row behind them, row by row */
  const double **next; /* m + 1: those of the next row */
  double *c;           /* of the same points: C with its border, then its factor; with oat_few_side */
  double *factor;      /* of C, packed; in the memory for all rows if that is kept */
  double *x;           /* (m + 1) x d: the neighbours, and the row behind them */
  double *pairs[4];    /* of these points: k, slopes, d_shape; and the adjoint */
  double *work;        /* of the kernel */
  double *b, *w;       /* m, k: of a point that is not a row; dw of a row */
  double *points;      /* POINTS x k: V of points */
  double *cross;       /* of the kernel between points and knots */
} oat_desk;

typedef struct oat_near_job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_row_block all;
  const oat_adjoint *adjoint;
  oat_sums *sums;
  oat_gradient_sums *out;
  oat_gradient_sums own[OAT_MOST_LANES];
} oat_near_job;

/* A row, or another point, at a desk. */
typedef struct oat_seat {
  size_t i, m;          /* the row, and how many neighbours it has */
  const uint32_t *list; /* which */
  const uint32_t *next; /* the same number of those of the next row */
  const double *x;      /* its inputs, ldx apart */
  size_t ldx;
  const double *v;
  double noise;
  oat_desk at;
} oat_seat;

/* Row i of a matrix that has its rows one after the other. */
static inline const double *oat_row_of(const double *matrix, size_t i, size_t k) { return matrix + i * k; }

/* The rows in the order in which they are processed. */
static inline const oat_rows *oat_near_rows(const oat_cpu *cpu) {
  return cpu->near.rows != NULL ? cpu->near.rows : cpu->rows;
}

/* A job for all rows of the device. */
oat_near_job oat_near_job_of(oat_cpu *cpu, const oat_sparse *sparse);
oat_loop oat_near_loop(oat_near_job *j, const char *what, void (*item)(void *self, size_t lane, size_t item));
/* The rows' inputs in units of the lengthscales, to find the nearest of them. */
oatgp_status oat_near_search(oat_cpu *cpu, const oat_covariance *cov, oat_near **out);
/* V of all rows. */
void oat_near_make_v(oat_cpu *cpu, const oat_sparse *sparse);
oat_desk oat_desk_own(const oat_cpu *cpu);
oat_seat oat_seat_take(const oat_near_job *j, size_t i);
/* The inputs of the neighbours and of the point behind them, and the kernel between all of these. */
void oat_near_pairs(const oat_near_job *j, const oat_seat *s, bool slopes);
/* V of the neighbours, without the point itself. */
static inline oat_few oat_near_v(const oat_near_job *j, const oat_seat *s) {
  return (oat_few){s->m, j->sparse->k, s->at.v, s->at.next};
}
/* Pointers to V of the neighbours and of the point. */
void oat_near_take_v(const oat_near_job *j, const oat_seat *s);
/* C with the point's covariances and variance as its border, from the kernel of the pairs; then its factor, packed.
 * Returns the amount that was added to the diagonal of C; HUGE_VAL if no amount helps. */
double oat_near_factorise(const oat_near_job *j, const oat_seat *s);
/* Before a pass through all rows or points. */
void oat_near_forget_trouble(oat_cpu *cpu);
/* Computes b and w of a point; returns D. If C has no factor, the point is treated as one without neighbours, and C^-1
 * is 0 from there on. */
double oat_near_predict(const oat_near_job *j, const oat_seat *s, double *b, double *w);
/* A loop over points that are not rows, OAT_NEAR_POINTS for each item. Their neighbours must be in the list (points x
 * most). */
typedef struct oat_near_pass {
  const oat_rows *points;
  uint32_t *list;
  void (*item)(void *self, size_t lane, size_t item);
  void *self;
} oat_near_pass;

oatgp_status oat_near_pass_over(oat_near_job *rows, const double *lb, const oat_near_pass *pass);
/* The data for predictions of points: their neighbours among the rows (points x most), b and w (points x K), row after
 * row. */
typedef struct oat_point_weights {
  uint32_t *list;
  double *b, *w;
} oat_point_weights;

oatgp_status oat_near_weights(oat_cpu *cpu, const oat_sparse *sparse, const double *lb, const oat_rows *points,
                              const oat_point_weights *out);
/* b, D, w and rho of a row. */
void oat_near_row(const oat_near_job *j, const oat_seat *s);

#endif
