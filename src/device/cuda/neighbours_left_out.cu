/* Knots and neighbours: rows left out. src/device/cpu/neighbours_rows.c has the formulas. */
#include <stdlib.h>

#include "device/cuda/neighbours.cuh"

/* The results of each row, n numbers each; then e and u . c, a column each. */
enum { DIAGONAL, SQUARES, EXPLAINED, RESIDUAL, LEFT_OUT };

struct left_out {
  gathering from;
  const double *d;
  int width;
  double *rows; /* n x (LEFT_OUT + width + columns) */
};

/* Row j of A^T D^-1 [W, rho]: the first k numbers into t, the others into the columns of e. Also the diagonal of A^T
 * D^-1 A. */
__global__ void __launch_bounds__(GATHER) gather_left_out(left_out l, size_t first, double *t) {
  __shared__ double b[GATHER];
  __shared__ size_t from[GATHER];
  const gathering &at = l.from;
  const size_t row = first + blockIdx.x, c = blockIdx.y * (size_t)GATHER + threadIdx.x, end = at.start[row + 1];
  const bool own = c < at.step;
  double sum = own ? at.y[row * at.step + c] / sqrt(l.d[row]) : 0, diagonal = 1 / l.d[row];
  for (size_t e = at.start[row]; e < end; e += GATHER) {
    const int count = (int)min((size_t)GATHER, end - e);
    __syncthreads();
    if ((int)threadIdx.x < count) {
      const size_t place = at.entry[e + threadIdx.x];
      from[threadIdx.x] = place / at.most;
      b[threadIdx.x] = at.b[place] / sqrt(l.d[place / at.most]);
    }
    __syncthreads();
    for (int i = 0; i < count && own; i++) {
      sum = fma(-b[i], at.y[from[i] * at.step + c], sum);
      diagonal = fma(b[i], b[i], diagonal);
    }
  }
  if (c < at.k) {
    t[blockIdx.x * at.k + c] = sum;
  } else if (own) {
    l.rows[row + (LEFT_OUT + c - at.k) * at.n] = sum;
  }
  if (c == 0) {
    l.rows[row + DIAGONAL * at.n] = diagonal;
    l.rows[row + RESIDUAL * at.n] = at.y[row * at.step + at.k];
  }
}

/* The predictions of a block's rows from the knots; c is k x columns. */
static void leave_block(oat_cuda *cuda, const left_out &l, const oat_cuda_triangle &b, const double *c, size_t columns,
                        size_t item) {
  const gathering &at = l.from;
  const size_t k = at.k, n = oat_cuda_rows_of(cuda, item), first = item * cuda->block;
  double *rows = l.rows + first;
  const oat_view t = oat_cuda_view(cuda, cuda->t, k), u = oat_cuda_view(cuda, cuda->u, k);
  oat_cuda_turn_rows(cuda, k, k, n, at.y + first * at.step, at.step, t.a, t.ld);
  oat_cuda_solve(cuda, b, OAT_TRANSPOSED, t, u);
  oat_cuda_gemm(cuda, 1, {u.a, n, k, u.ld}, OAT_PLAIN, {c, k, 1, k}, OAT_PLAIN, 0,
                {rows + EXPLAINED * at.n, n, 1, at.n});
  if (oat_cuda_fine(cuda)) {
    gather_left_out<<<dim3((unsigned)n, (unsigned)((at.step + GATHER - 1) / GATHER)), GATHER, 0,
                      cuda->session->stream>>>(l, first, u.a);
  }
  oat_cuda_turn_rows(cuda, k, k, n, u.a, k, t.a, t.ld);
  oat_cuda_solve(cuda, b, OAT_TRANSPOSED, t, u);
  oat_cuda_gemm(cuda, 1, {u.a, n, k, u.ld}, OAT_PLAIN, {c, k, columns, k}, OAT_PLAIN, 0,
                {rows + (LEFT_OUT + l.width) * at.n, n, columns, at.n});
  oat_cuda_row_dots(cuda, n, k, u.a, u.a, rows + SQUARES * at.n);
}

/* The error of a row from e and u . c, n apart; `own` has room for 1 + p numbers. */
static double error_of(const oat_left_out *out, size_t n, size_t p, const double *e, double kappa, double *own) {
  const double *uc = e + (1 + p) * n;
  for (size_t c = 0; c <= p; c++) {
    own[c] = e[c * n];
  }
  if (out->columns == 1) {
    for (size_t c = 0; c < p; c++) {
      own[0] -= out->coefficient[c] * own[1 + c];
    }
    return (own[0] - uc[0]) / kappa;
  }
  for (size_t c = 0; c <= p; c++) {
    own[c] = (own[c] - uc[c * n]) / kappa;
  }
  return oat_gls_error(out->gls, out->coefficient, own, kappa);
}

static void conclude(size_t n, size_t p, const double *rows, double *room, oat_left_out *out) {
  out->density = out->squares = out->products = 0;
  for (size_t i = 0; i < n; i++) {
    const double *at = rows + i, diagonal = at[DIAGONAL * n], residual = at[RESIDUAL * n];
    const double kappa = fmax(diagonal - at[SQUARES * n], 1e-12 * diagonal), variance = 1 / kappa;
    const double error = error_of(out, n, p, at + LEFT_OUT * n, kappa, room);
    out->squares += residual * residual;
    out->products += residual * at[EXPLAINED * n];
    out->density -= 0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
    if (out->error != NULL) {
      out->error[i] = error;
      out->variance[i] = variance;
    }
  }
}

oatgp_status oat_cuda_neighbours_left_out(oat_cuda *cuda, const oat_sparse *sparse, oat_left_out *out) {
  const near_rows at = oat_cuda_make_near_rows(cuda, sparse);
  const oat_cuda_near *near = &cuda->near;
  const size_t n = at.n, k = at.k, width = at.width, count = n * (LEFT_OUT + width + out->columns);
  const oat_cuda_triangle b = oat_cuda_take_lb(cuda, k, out->lb);
  double *rows = oat_cuda_take_doubles(cuda, count + k * out->columns, 1), *c = rows + count;
  double *host = (double *)malloc((count + width) * sizeof *host);
  const left_out l = {{n, k, k + width, at.most, near->start, near->entry, nullptr, near->b, nullptr, near->y},
                      near->d,
                      at.width,
                      rows};
  oatgp_status status = host == NULL ? oat_no_memory(cuda->ctx, count * sizeof *host) : OATGP_OK;
  oat_cuda_upload(cuda, k * out->columns, out->c, c);
  for (size_t item = 0; item < cuda->blocks && status == OATGP_OK; item++) {
    leave_block(cuda, l, b, c, out->columns, item);
  }
  if (status == OATGP_OK) {
    oat_cuda_download(cuda, count, rows, host);
    oat_cuda_download(cuda, OAT_CUDA_PARTS * OAT_CUDA_SCALARS, cuda->result + scalars_at(at), cuda->back);
    status = oat_cuda_end(cuda);
  }
  if (status == OATGP_OK) {
    double scalars[VALUE_SUMS];
    oat_cuda_take_near_scalars(cuda, cuda->back, scalars);
    conclude(n, width - 1, host, host + count, out);
  }
  oat_cuda_give(cuda, rows);
  free(host);
  return status;
}
