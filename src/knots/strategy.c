/* The strategies, one row each, and the two simple ones. */
#include "knots/strategy.h"

#include <string.h>

/* The parameters alone. */
static oatgp_status run_fixed(oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (s->state.phase == OAT_PHASE_PARAMETERS) {
    TRY(oat_search_optimise(s, s->state.k, &s->limits));
    s->state.phase = OAT_PHASE_POLISH;
  }
  TRY(oat_run_polish(s));
done:
  return status;
}

/* All knots and parameters at once. */
static oatgp_status run_simultaneous(oat_search *s) {
  s->state.phase = OAT_PHASE_POLISH;
  const oatgp_status status = oat_search_optimise(s, 0, &s->limits);
  s->state.phase = OAT_PHASE_DONE;
  return status;
}

/* Remembers the model before the refinement, in case it ends lower, and restarts the parameters if asked for. */
static void begin_refinement(oat_search *s) {
  oat_search_tell(s, OAT_SEARCH_REFINE);
  oat_search_mark(s);
  if (s->given->restart_parameters && !oat_search_halted(s)) {
    memcpy(s->point.theta, s->start->theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof(double));
  }
}

static oatgp_status refine(oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (s->resumed == NULL) {
    begin_refinement(s);
  }
  if (!oat_search_halted(s)) {
    TRY(oat_search_optimise(s, 0, &s->limits));
  }
  if (s->state.value < s->state.value_before) {
    oat_search_revert(s);
  }
done:
  return status;
}

oatgp_status oat_run_polish(oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (!oat_search_halted(s) && (s->given->refine || s->settings.finish)) {
    status = s->given->refine ? refine(s) : oat_search_settle(s);
  }
  s->state.phase = OAT_PHASE_DONE;
  return status;
}

#define AT(phase) (1u << OAT_PHASE_##phase)
/* What the strategies that grow by proposals have in common. */
#define GROWING                                                                       \
  .moves = true, .grows = true, .compares = true, .most = 80, .run = oat_run_growing, \
  .phases = AT(PARAMETERS) | AT(GROW) | AT(RELEASE) | AT(POLISH)

static const oat_strategy strategies[] = {
    {.name = "auto",
     .automatic = true,
     .moves = true,
     .grows = true,
     .most = 1000,
     .phases = AT(PARAMETERS) | AT(SUBSET) | AT(GROW) | AT(NEIGHBOURS) | AT(COMPARE) | AT(POLISH),
     .rounds = OAT_COMPARE_ROUNDS,
     .run = oat_run_auto},
    {.name = "fixed", .phases = AT(PARAMETERS) | AT(POLISH), .run = run_fixed},
    {.name = "simultaneous", .moves = true, .needs_moving = true, .phases = AT(POLISH), .run = run_simultaneous},
    {.name = "oat-bo", GROWING, .proposal = &oat_proposal_bo},
    {.name = "oat-rs", GROWING, .proposal = &oat_proposal_random},
    {.name = "oat-gain", GROWING, .proposal = &oat_proposal_gain},
    {.name = "variance",
     .compares = true,
     .phases = AT(PARAMETERS) | AT(POLISH),
     .rounds = 20,
     .run = oat_run_variance},
};

const oat_strategy *oat_strategy_at(size_t index) {
  return index < sizeof strategies / sizeof *strategies ? &strategies[index] : NULL;
}

const oat_strategy *oat_strategy_find(const char *name) {
  for (size_t i = 0; oat_strategy_at(i) != NULL; i++) {
    if (strcmp(strategies[i].name, name) == 0) {
      return &strategies[i];
    }
  }
  return NULL;
}
