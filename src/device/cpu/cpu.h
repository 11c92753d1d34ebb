/* Shared by the files of the CPU backend: its lanes and blocks. */
#ifndef OAT_CPU_H
#define OAT_CPU_H

#include <math.h>

#include "device/device.h"
#include "linalg/linalg.h"

enum { OAT_CPU_ROW_VECTORS = 6, OAT_CPU_PANEL = 128, OAT_CPU_MOST_LANES = 16 }; /* panel: candidates at a time */

/* Where one thread works: its own buffers and sums. Rows are dealt out to lanes block by block, in a way that depends on the data and the
 * number of knots alone, and the lanes' sums are added in their order: so the number of threads changes no bit. */
typedef struct oat_lane {
  oat_backend *backend;
  double *v, *slope, *t;            /* block x K each: V, phi' of the kernel, and what the adjoint of Kfu is made in */
  double *panel;                    /* block x panel */
  double *work;                     /* of the kernel */
  double *row[OAT_CPU_ROW_VECTORS]; /* block each */
  double *sums;                     /* of either pass */
} oat_lane;

struct oat_backend {
  oatgp_context *ctx;                    /* for progress alone */
  size_t done;                           /* rows of the loop that is under way */
  size_t wanted_block, block, max_knots; /* wanted: 0 to choose */
  int64_t memory;
  int threads;
  bool predicts;
  oat_rows rows;
  double *cache; /* of all rows, block after block, V and then the slopes; or NULL */
  size_t cached; /* number of knots of the V that the cache holds, 0 for none */
  bool slopes;   /* it holds their slopes, too */
  size_t lanes;
  oat_lane *lane;
  double *room; /* for the two triangles: L, and LB in predictions */
  oat_triangle kuu, b;
};

/* The rows first .. first + n - 1 under work. */
typedef struct oat_block {
  size_t first, n;
  oat_view v;
  double *slope;   /* with the leading dimension of v */
  const double *q; /* |v_i|^2, if asked for */
} oat_block;

/* ---- lanes.c ------------------------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_open(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out);
oatgp_status oat_cpu_load_rows(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows);
void oat_cpu_close(oat_backend *backend);
/* Threads of a loop over lanes. */
int oat_cpu_threads(const oat_backend *backend);
/* At the beginning of what makes V; pass 2 follows a pass 1 at the same point. */
void oat_cpu_take_factor(oat_backend *backend, const oat_sparse *sparse);
/* The block that begins at a row, with V, and with slopes if a pass 2 will follow: from the cache, or made. */
oat_block oat_cpu_block(const oat_lane *l, const oat_sparse *sparse, size_t first);
/* The same with |v_i|^2. */
oat_block oat_cpu_block_with_q(const oat_lane *l, const oat_sparse *sparse, size_t first);
/* After a loop over all blocks: V is there for the next one, until knots or parameters change. */
void oat_cpu_keep_v(oat_backend *backend, const oat_sparse *sparse);
/* After each block: how far the loop is. */
void oat_cpu_count(const oat_lane *l, const oat_block *b, const char *what);
/* w_i = 1 / n_i of the block's rows into row[1], for alpha = 0. */
void oat_cpu_weights(oat_lane *l, const oat_sparse *sparse, const oat_block *b);
bool oat_cpu_uniform(const oat_rows *rows);
/* y += x */
void oat_cpu_add(size_t n, const double *x, double *y);

/* k(x_i, x_i) of the block's rows, in row[5]. */
const double *oat_cpu_prior(oat_lane *l, const oat_sparse *sparse, const oat_block *b);
/* g_i is never negative but for rounding. */
static inline double oat_cpu_residual(double prior, double q) { return fmax(prior - q, 0); }

/* ---- pass1.c, pass2.c, weigh.c ---------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_pass1(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums);
oatgp_status oat_cpu_pass2(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums);
oatgp_status oat_cpu_weigh(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates);

#endif
