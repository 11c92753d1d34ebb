/* Shared by the files of the CPU device: its lanes and blocks. */
#ifndef OAT_CPU_H
#define OAT_CPU_H

#include <math.h>

#include "device/cpu/sites.h"
#include "device/device.h"
#include "util/lanes.h"
#include "rows/layout.h"
#include "util/memory.h"

enum { OAT_CPU_ROW_VECTORS = 6, OAT_CPU_PANEL = 128 }; /* panel: candidates at a time */

/* The scratch of one worker. */
typedef struct oat_cpu_worker {
  double *v, *slope, *t;            /* block x K each: V, phi' of the kernel, and scratch for the adjoint of Kfu */
  double *panel;                    /* block x panel */
  double *work;                     /* of the kernel */
  double *rows;                     /* a block of rows that are not in memory */
  double *row[OAT_CPU_ROW_VECTORS]; /* block each */
} oat_cpu_worker;

/* The exact GP of the rows; exact.c. */
typedef struct oat_cpu_exact {
  double *s;      /* n x n: S, then its factor, then its inverse */
  double *solved; /* n x (1 + p): L^-1 R, then S^-1 R; then a */
  double *c, *a;  /* n: L^-1 (r - H coefficient), S^-1 (r - H coefficient) */
  double *sums;   /* a few for each lane */
  double *room;   /* of the slots */
  bool inverted;  /* s is the inverse, and solved and a contain S^-1 */
} oat_cpu_exact;

/* Neighbours; neighbours.c. Matrices of rows have them row after row. */
typedef struct oat_cpu_neighbours {
  size_t most;     /* of a row; 0: none */
  uint32_t *list;  /* n x most: which rows, nearest first */
  size_t *start;   /* n + 1: where the entries of each row begin in `entry`, which has its places in `list` */
  size_t *entry;   /* n x most */
  oat_rows *rows;  /* the device's rows in spatial order; NULL: in their own order */
  uint32_t *rank;  /* n: the position of each among the device's rows, whose order defines the earlier rows */
  double *x;       /* n x d: the inputs */
  double *v, *w;   /* n x k */
  double *a;       /* n x k, for gradients */
  double *b, *z;   /* n x most */
  double *d, *rho; /* n, n x (1 + p) */
  double *factor;  /* n x most^2: of C, or NULL */
  double *theta;   /* of each lane: derivatives through the kernel of neighbours */
  double *desks;   /* `desk` doubles for each worker */
  size_t desk;
  oat_near_trouble *trouble; /* of each worker, in the latest pass */
  struct oat_near *search;   /* of predictions, after the first one; V then belongs to the same rows */
} oat_cpu_neighbours;

/* The system behind the exact evidence; system.c, traces.c. A slot's sums are n of a product, then k of V D^-1 u. */
typedef struct oat_cpu_system {
  oat_scratch memory;
  oat_system given;
  double *w, *x, *e, *z, *p, *cp; /* n: 1 / n_i; of conjugate gradients */
  double *t;                      /* k */
  double *u;                      /* of the traces, block after block, rows x k each: D^-1 V^T LB^-T; or NULL */
  double *traces;                 /* (slots + 1) x trace_stride: T of a block, U T, sums; then the totals */
  size_t trace_stride;
} oat_cpu_system;

typedef struct oat_cpu {
  oat_device base;
  oatgp_context *ctx; /* for progress alone */
  oat_device_config config;
  const oat_rows *rows;
  size_t n, d, p;       /* for which the lanes were made, */
  bool fed;             /* and whether those are not in memory */
  size_t block, blocks; /* rows at a time; how many of these */
  size_t lane_rows;     /* 0: blocks are assigned to lanes in turn; otherwise each lane has this many consecutive rows,
                         * in `turns` blocks */
  size_t items;         /* of a loop over all rows: blocks, or lanes x turns */
  oat_scratch memory;   /* of the lanes, and of the exact GP */
  size_t lanes, slots;  /* util/lanes.h; lanes are those of this rank, */
  size_t all_lanes, first_lane; /* and of all, and its first among them */
  size_t workers;
  oat_cpu_worker *worker;
  double *sums; /* slots x stride: of sums or gradient sums, or of the system */
  size_t stride;
  double *cache;   /* of all rows, block after block: V, and then the slopes if gradients are possible; or NULL */
  uint64_t cached; /* the stamp of the point whose V the cache holds, 0 for none */
  bool slopes;     /* it holds their slopes, too */
  double *room;    /* for the two triangles: L, and LB in predictions */
  oat_triangle kuu, b;
  oat_cpu_exact exact;
  oat_cpu_system system;
  oat_cpu_neighbours near;
} oat_cpu;

static inline oat_cpu *oat_cpu_of(oat_device *device) { return (oat_cpu *)device; }

static inline oat_cpu_worker *oat_cpu_own(const oat_cpu *cpu) { return &cpu->worker[oat_worker()]; }

/* The largest length of theta. */
static inline size_t oat_cpu_thetas(const oat_cpu *cpu) { return oat_theta_most(cpu->config.kernel, cpu->rows->d); }

static inline double *oat_cpu_sums_of(const oat_cpu *cpu, size_t lane) {
  return cpu->sums + lane % cpu->slots * cpu->stride;
}

/* The arguments of a simple loop over blocks. */
typedef struct oat_cpu_job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
} oat_cpu_job;

/* A block of rows in use. */
typedef struct oat_cpu_block {
  oat_row_block rows;
  oat_view v;
  double *slope; /* with the leading dimension of v */
} oat_cpu_block;

/* ---- blocks.c -------------------------------------------------------------------------------------------------- */

/* The rows of an item of a loop; the last items of a lane may have none. Rows from files are in the memory of the
 * worker. */
oat_row_block oat_cpu_rows_in(const oat_cpu *cpu, const oat_cpu_worker *memory, size_t item);
static inline oat_row_block oat_cpu_rows(const oat_cpu *cpu, size_t item) {
  return oat_cpu_rows_in(cpu, oat_cpu_own(cpu), item);
}

oatgp_status oat_cpu_open(oatgp_context *ctx, const oat_device_config *config, oat_device **out);
oatgp_status oat_cpu_load(oatgp_context *ctx, oat_device *device, const oat_rows *rows);
void oat_cpu_close(oat_device *device);
/* A loop over all blocks, which may be changed before it runs. */
void oat_cpu_run(const oat_cpu *cpu, const char *what, void (*item)(void *self, size_t lane, size_t item), void *self);
oat_loop oat_cpu_loop(const oat_cpu *cpu, const char *what, void (*item)(void *self, size_t lane, size_t item),
                      void *self);
/* Whether other ranks have some of the lanes. */
static inline bool oat_cpu_is_shared(const oat_cpu *cpu) { return cpu->lanes < cpu->all_lanes; }
/* After a loop: `sums`, with room for OAT_MOST_LANES times `each` doubles, has those of this rank's lanes and gets
 * those of all, whose number is returned. */
size_t oat_cpu_all_lanes(const oat_cpu *cpu, double *sums, size_t each);
/* Shares one value for each row; this rank has computed those of its lanes. NULL: no values. */
void oat_cpu_all_rows(const oat_cpu *cpu, double *values);
/* At the end of a round: the sums of its lanes, or `count` doubles from `offset` on, are added to the total. */
void oat_cpu_join(const oat_cpu *cpu, size_t first, size_t lanes, size_t offset, size_t count, double *total);
/* Call it before V is computed. */
void oat_cpu_take_factor(oat_cpu *cpu, const oat_sparse *sparse);
/* Sets both factors, for operations that destroy V. */
void oat_cpu_take_factors(oat_cpu *cpu, const oat_sparse *sparse, const double *lb);
/* A block with V, and with slopes if a gradient will follow: from the cache, or made in the memory of this worker or of
 * a given one. */
oat_cpu_block oat_cpu_block_of(const oat_cpu *cpu, const oat_sparse *sparse, size_t item);
oat_cpu_block oat_cpu_block_in(const oat_cpu *cpu, const oat_cpu_worker *memory, const oat_sparse *sparse, size_t item);
/* |v_i|^2 of its rows, in row[0] of the worker. */
const double *oat_cpu_squares(const oat_cpu *cpu, const oat_cpu_block *b);
/* After a loop over all blocks: V is available for the next loop at the same point. */
void oat_cpu_keep_v(oat_cpu *cpu, const oat_sparse *sparse);
/* Puts V of all rows into the cache, if there is one. Does nothing if V is already there. */
void oat_cpu_fill_cache(oat_cpu *cpu, const oat_sparse *sparse);
/* w_i = 1 / n_i of the block's rows into row[1], for alpha = 0. */
void oat_cpu_weights(const oat_cpu *cpu, const oat_sparse *sparse, const oat_row_block *b);

/* k(x_i, x_i) of the block's rows, in row[5]. */
const double *oat_cpu_prior(const oat_cpu *cpu, const oat_sparse *sparse, const oat_row_block *b);
/* g_i is negative only by rounding. */
static inline double oat_cpu_left(double prior, double q) { return fmax(prior - q, 0); }

/* After exact_quadratic: replaces the factor by S^-1, and computes solved and a with it, unless they are already
 * there. */
void oat_cpu_invert(oat_cpu *cpu);
/* The memory of the exact GP, beside that of the lanes. */
void oat_cpu_take_exact(oat_cpu *cpu);
/* The memory for neighbours; then the search for them. */
void oat_cpu_take_neighbours(oat_cpu *cpu);
oatgp_status oat_cpu_arrange(oatgp_context *ctx, oat_cpu *cpu);
/* Sums and gradient sums with neighbours. */
oatgp_status oat_cpu_neighbour_sums(oat_cpu *cpu, const oat_sparse *sparse, oat_sums *out);
oatgp_status oat_cpu_neighbours_left_out(oat_cpu *cpu, const oat_sparse *sparse, oat_left_out *out);
oatgp_status oat_cpu_neighbour_gradient(oat_cpu *cpu, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                        oat_gradient_sums *out);
/* Makes U if there is enough memory. */
oatgp_status oat_cpu_make_traces(oat_cpu *cpu);
/* The approximate seconds that they take; 0 without U. */
double oat_cpu_traces_cost(oat_cpu *cpu);

/* ---- one file for each operation, or a few --------------------------------------------------------------------- */

oatgp_status oat_cpu_find_neighbours(oat_device *device, const oat_covariance *cov, double *share);
oatgp_status oat_cpu_sums(oat_device *device, const oat_sparse *sparse, oat_sums *out);
oatgp_status oat_cpu_gradient_sums(oat_device *device, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                   oat_gradient_sums *out);
oatgp_status oat_cpu_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out);
oatgp_status oat_cpu_predictions(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                 const oat_row_predictions *out);
oatgp_status oat_cpu_prediction_slopes(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                       const oat_row_predictions *at, const oat_row_slopes *out);
oatgp_status oat_cpu_point_slopes_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb,
                                            const double *c, const oat_rows *points, const oat_row_predictions *at,
                                            const oat_row_slopes *out);
oatgp_status oat_cpu_points_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                      const oat_rows *points, const oat_row_predictions *out);
oat_near_trouble oat_cpu_near_trouble(const oat_device *device);
oatgp_status oat_cpu_joint_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb,
                                     const oat_rows *points, double *covariance);
oatgp_status oat_cpu_means(oat_device *device, const oat_sparse *sparse, const double *weights, double scale,
                           double *mean);
oatgp_status oat_cpu_left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out);
oatgp_status oat_cpu_averages(oat_device *device, const oat_sparse *sparse, const oat_group_averages *out);
oatgp_status oat_cpu_joint(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                           double *covariance);
oatgp_status oat_cpu_exact_sums(oat_device *device, const oat_exact *exact, oat_exact_sums *out);
oatgp_status oat_cpu_exact_quadratic(oat_device *device, const double *coefficient, double *quadratic);
oatgp_status oat_cpu_exact_gradient(oat_device *device, const oat_exact *exact, oat_exact_gradient *out);
oatgp_status oat_cpu_exact_left_out(oat_device *device, const oat_gls *gls, const oat_response *response,
                                    double *density);
oatgp_status oat_cpu_sites_begin(oat_device *device, const oat_response *response, double level);
oatgp_status oat_cpu_sites_look(oat_device *device, const oat_sparse *sparse, const oat_site_q *q, oat_site_look *look);
oatgp_status oat_cpu_exact_sites_look(oat_device *device, oat_site_look *look);
oatgp_status oat_cpu_sites_move(oat_device *device, double step, bool accept);
oatgp_status oat_cpu_factor(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l,
                            size_t *pivot);
oatgp_status oat_cpu_factor_more(oat_device *device, const oat_covariance *cov, const double *diagonal,
                                 oat_grown_factor *out);
oatgp_status oat_cpu_joint_with(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                                const oat_rows *points, double *covariance);
oatgp_status oat_cpu_exact_rows(oat_device *device, const double *l, const oat_exact_rows *out);
oatgp_status oat_cpu_system_open(oat_device *device, oat_system *system, oat_iterate *out);
oatgp_status oat_cpu_system_product(oat_device *device, double turn, double *curvature);
oatgp_status oat_cpu_system_step(oat_device *device, double length, oat_iterate *out);
oatgp_status oat_cpu_system_traces(oat_device *device, oat_trace_sums *out);
oatgp_status oat_cpu_system_cost(oat_device *device, double *product, double *traces);
oatgp_status oat_cpu_pivots_begin(oat_device *device, const oat_covariance *cov, size_t most, oat_pivots **out);
oatgp_status oat_cpu_pivots_next(oat_pivots *pivots, oat_pivot *out);
void oat_cpu_pivots_end(oat_pivots *pivots);
oatgp_status oat_cpu_nearest(oat_device *device, oat_nearest *out);
oatgp_status oat_cpu_centres(oat_device *device, const size_t *which, size_t k, double *size, double *mean);

#endif
