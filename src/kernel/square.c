/* The kernel between all pairs of some points, in threads: panels of columns are divided among lanes. */
#include <string.h>

#include "kernel/kernel.h"
#include "util/lanes.h"

enum { PANEL = 32 }; /* columns at a time */

typedef struct job {
  const oat_covariance *cov;
  oat_points z;
  double *k, *slope;
  double *g; /* the adjoint, with the slopes that were found before */
  const double *slopes;
  const oat_kernel_team *team;
  size_t workers, stride, thetas; /* of the team's work: of the kernel, and the derivatives in theta of each lane */
  oat_kernel_gradient *gradient;  /* or NULL */
} job;

static size_t panels_of(size_t n) { return (n + PANEL - 1) / PANEL; }

static size_t workers_for(size_t n, int threads) { return oat_workers_for(oat_lanes_for(panels_of(n)), threads); }

size_t oat_kernel_team_work(oat_kernel_size size, size_t n, size_t d, int threads) {
  return workers_for(n, threads) * oat_kernel_work(size, n, PANEL, d) +
         oat_lanes_for(panels_of(n)) * oat_theta_most(size, d);
}

static double *work_of(const job *j) { return j->team->work + oat_worker() * j->stride; }

static double *theta_of(const job *j, size_t lane) { return j->team->work + j->workers * j->stride + lane * j->thetas; }

static oat_points panel_of(const job *j, size_t item) {
  const size_t first = item * PANEL, left = j->z.n - first;
  return (oat_points){j->z.a + first, left < PANEL ? left : PANEL, j->z.ld};
}

static void fill_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const size_t n = j->z.n, first = item * PANEL * n;
  oat_kernel_cross_slopes(j->cov, j->z, panel_of(j, item), j->k + first, j->slope + first, n, work_of(j));
}

static void add_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  const size_t n = j->z.n, first = item * PANEL * n;
  double *theta = theta_of(j, lane), *z = j->gradient->z != NULL ? j->gradient->z + item * PANEL : NULL;
  if (item == lane) {
    memset(theta, 0, j->thetas * sizeof *theta);
  }
  oat_kernel_gradient part = {theta, z};
  oat_kernel_cross_adjoint(j->cov, j->z, panel_of(j, item), j->g + first, j->slopes + first, n, work_of(j), &part);
}

static size_t run(job *j, void (*item)(void *self, size_t lane, size_t item)) {
  const size_t n = j->z.n, panels = panels_of(n), lanes = oat_lanes_for(panels);
  const oat_kernel kernel = oat_covariance_kernel(j->cov);
  const oat_kernel_size size = oat_kernel_size_of(&kernel);
  j->workers = workers_for(n, j->team->threads);
  j->stride = oat_kernel_work(size, n, PANEL, j->cov->d);
  j->thetas = oat_theta_most(size, j->cov->d);
  oat_loop_run(&(oat_loop){.items = panels,
                           .lanes = lanes,
                           .workers = j->workers,
                           .threads = j->team->threads,
                           .flops = (double)n * (double)n * (3 * (double)j->cov->d + 25),
                           .item = item,
                           .self = j});
  return lanes;
}

void oat_kernel_square_slopes(const oat_covariance *cov, oat_points z, double *k, double *slope,
                              const oat_kernel_team *team) {
  run(&(job){.cov = cov, .z = z, .k = k, .slope = slope, .team = team}, fill_panel);
}

void oat_kernel_square_adjoint(const oat_covariance *cov, oat_points z, double *g, const double *slope,
                               const oat_kernel_team *team, oat_kernel_gradient *gradient) {
  job j = {.cov = cov, .z = z, .g = g, .slopes = slope, .team = team, .gradient = gradient};
  const oat_kernel kernel = oat_covariance_kernel(cov);
  const size_t lanes = run(&j, add_panel), count = oat_theta_count(&kernel, cov->d);
  for (size_t lane = 0; lane < lanes; lane++) {
    for (size_t i = 0; i < count; i++) {
      gradient->theta[i] += theta_of(&j, lane)[i];
    }
  }
}
