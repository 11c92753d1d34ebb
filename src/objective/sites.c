/* The fixed point of the sites. A step in their natural parameters follows the natural gradient of the bound, so a
 * short enough step raises it: a whole step is tried first, and halved until the bound does not fall. */
#include "objective/sites.h"

#include <math.h>
#include <string.h>

#define SHORTEST 1e-4 /* step */
#define LONGEST 64.0
#define LEAST_STEP 0.3 /* shortest step, unless the bound falls */
#define MOST_LONGER 8.0
#define ROUNDING 1e-10 /* of the bound, relative to its size: a smaller decrease does not count */
enum { MOST_ROUNDS = 1000, SLOW_ROUNDS = 100 }; /* SLOW_ROUNDS: the limit if not log-concave */
#define SLOW_ENOUGH 1e-4                        /* after many rounds, such a change counts as converged */
#define NEAR 0.1                                /* if no step makes progress, such a change does */

oat_response oat_objective_response(const oat_objective *objective, const double *theta) {
  const oat_objective_config *config = &objective->config;
  return (oat_response){config->likelihood, theta + oat_covariance_count(config->kernel, oat_rows_inputs(config->rows)),
                        config->levels};
}

double oat_objective_constant(const oat_objective *objective, const oat_rows *rows, const double *theta, double *tau) {
  if (objective->config.likelihood == NULL) {
    return oat_rows_constant(rows, tau);
  }
  const oat_response response = oat_objective_response(objective, theta);
  if (tau != NULL) {
    *tau = 1;
  }
  return oat_rows_constant_answers(rows, &response, NULL);
}

/* A search for the fixed point under way. */
typedef struct settling {
  oat_objective *objective;
  oat_site_round round;
  void *self;
  double value, step; /* of the latest accepted q; of the present trial */
} settling;

static bool is_settled(const oat_objective *objective, size_t rounds) {
  const double change = objective->look.change;
  return change <= objective->config.site_tol || (rounds >= SLOW_ROUNDS && change <= SLOW_ENOUGH);
}

/* Evaluates q at the current sites. Accepts it if its value is finite and not below that of the last one. */
static oatgp_status look(settling *s, bool *accepted) {
  double value = -HUGE_VAL;
  const oatgp_status status = s->round(s->objective, s->self, &s->objective->look, &value);
  s->objective->rounds++;
  const double rounding = ROUNDING * fabs(s->value) + 1000 * DBL_EPSILON * s->objective->look.size;
  *accepted = status == OATGP_OK && isfinite(value) && (s->value == -HUGE_VAL || value >= s->value - rounding);
  s->value = *accepted ? value : s->value;
  return status == OATGP_NUMERIC ? OATGP_OK : status;
}

/* The length of the next step (Barzilai and Borwein's). If a step of this length multiplied the change by `turn`, a
 * step 1 / (1 - turn) times as long would have reduced it to 0. */
static double next_step(const settling *s, bool accepted, bool first) {
  const double turn = s->objective->look.turn;
  if (first || !accepted) {
    return first ? 1 : fmin(s->step, 1) / 2;
  }
  return fmin(fmax(s->step / fmax(1 - turn, 1 / MOST_LONGER), LEAST_STEP), LONGEST);
}

/* No step makes progress, because rounding errors hide the remaining gain. (If the likelihood is not log-concave, the
 * sites of the exact GP may be at their bounds.) The sites return to where the bound was largest. */
static oatgp_status rest(settling *s) {
  bool accepted;
  PASS_ON(s->objective->device->table->sites_move(s->objective->device, 0, false));
  PASS_ON(look(s, &accepted));
  const bool near = s->objective->look.change <= NEAR || !s->objective->config.likelihood->log_concave;
  return accepted && near ? OATGP_OK : OATGP_NUMERIC;
}

static oatgp_status settle_from_here(settling *s) {
  const oat_device *device = s->objective->device;
  bool accepted = false;
  const size_t most = s->objective->config.likelihood->log_concave ? MOST_ROUNDS : SLOW_ROUNDS;
  oatgp_status status = OATGP_OK;
  s->value = -HUGE_VAL;
  s->step = 1;
  TRY(look(s, &accepted));
  if (!accepted) {
    return OATGP_NUMERIC;
  }
  for (size_t rounds = 1; !(accepted && is_settled(s->objective, rounds)); rounds++) {
    s->step = next_step(s, accepted, rounds == 1);
    if (s->step < SHORTEST || rounds == most) {
      return rest(s);
    }
    TRY(device->table->sites_move(s->objective->device, s->step, accepted));
    TRY(look(s, &accepted));
  }
done:
  return status;
}

oatgp_status oat_sites_settle(oat_objective *objective, const oat_point *point, oat_site_round round, void *self,
                              double *value) {
  settling s = {.objective = objective, .round = round, .self = self};
  const bool warm = objective->sited;
  oatgp_status status = OATGP_NUMERIC;
  objective->look.response = oat_objective_response(objective, point->theta);
  objective->rounds = 0;
  objective->sited = false;
  if (warm) {
    status = settle_from_here(&s);
  }
  if (status == OATGP_NUMERIC) { /* start from the targets */
    objective->device->table->sites_begin(objective->device, &objective->look.response, NAN);
    status = settle_from_here(&s);
  }
  if (status == OATGP_NUMERIC) { /* start from a constant, if nearby targets differ too much for that */
    double level;
    oat_rows_constant_answers(objective->config.rows, &objective->look.response, &level);
    objective->device->table->sites_begin(objective->device, &objective->look.response, level);
    status = settle_from_here(&s);
  }
  objective->sited = status == OATGP_OK;
  *value = s.value;
  return status;
}

void oat_sites_add_own(const oat_objective *objective, oat_gradient *gradient) {
  const oat_objective_config *config = &objective->config;
  if (config->likelihood != NULL) {
    gradient->theta[OAT_TAU] = 0;
    memcpy(gradient->theta + oat_covariance_count(config->kernel, oat_rows_inputs(config->rows)),
           objective->look.parameters, objective->look.count * sizeof *gradient->theta);
  }
}
