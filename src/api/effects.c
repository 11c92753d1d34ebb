/* Notes about settings that have no effect in combination with the others, such as --alpha with vfe. Settings that
 * contradict each other are refused. A setting counts as given if it is neither its default nor the value of the
 * preset. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "fit/setup.h"
#include "knots/strategy.h"
#include "model/model.h"

static bool has_likelihood(const oat_setup *s, const char *name) { return strcmp(s->settings->likelihood, name) == 0; }
static bool gaussian(const oat_setup *s) { return has_likelihood(s, "gaussian"); }
static bool has_trials(const oat_setup *s) { return has_likelihood(s, "binomial-logit"); }
static bool heavy_tails(const oat_setup *s) { return has_likelihood(s, "student-t"); }
static bool has_exposure(const oat_setup *s) {
  return has_likelihood(s, "poisson") || has_likelihood(s, "negative-binomial") || has_likelihood(s, "gamma");
}
static bool has_likelihood_shape(const oat_setup *s) {
  return has_likelihood(s, "negative-binomial") || has_likelihood(s, "gamma") || has_likelihood(s, "beta");
}

static bool sparse(const oat_setup *s) { return s->approx->sparse; }
static bool has_power(const oat_setup *s) { return s->approx->power; }
static bool can_have_neighbours(const oat_setup *s) { return s->approx->neighbours; }
static bool has_shape(const oat_setup *s) { return oat_kernel_has_shape(s->kernel); }
static bool is_of_the_list(const oat_setup *s) { return s->kernel->expression == NULL; }
static bool has_knots(const oat_setup *s) { return sparse(s) && s->knots != NULL; }
static bool relative_jitter(const oat_setup *s) { return sparse(s) && s->settings->jitter_absolute == 0; }
static bool checkpoints(const oat_setup *s) { return *s->settings->checkpoint != '\0'; }

static bool automatic(const oat_setup *s) { return s->strategy->automatic; }
static bool may_have_neighbours(const oat_setup *s) {
  return oat_setup_neighbours(s) > 0 || (automatic(s) && oat_approx_bound(s->approx) && gaussian(s));
}
static bool selects(const oat_setup *s) { return sparse(s) || s->strategy == oat_strategy_find(s->settings->select); }
static bool has_tolerance(const oat_setup *s) { return sparse(s) && automatic(s); }
static bool grows(const oat_setup *s) { return sparse(s) && s->strategy->grows; }
static bool guards(const oat_setup *s) { return s->strategy->grows; }
static bool compares_knots(const oat_setup *s) { return s->strategy->compares; }
static bool proposes(const oat_setup *s) { return s->strategy->proposal != NULL; }
static bool bayesian(const oat_setup *s) { return proposes(s) && s->strategy->proposal->surrogate; }
static bool by_gain(const oat_setup *s) { return proposes(s) && s->strategy->proposal->exact; }
static bool exact_gain(const oat_setup *s) { return by_gain(s) && oat_approx_plain_noise(s->approx); }
static bool draws_rows(const oat_setup *s) { return proposes(s) && !exact_gain(s); }
static bool refines(const oat_setup *s) { return s->settings->refine != 0; }
static bool can_refine(const oat_setup *s) { return sparse(s) && !s->strategy->needs_moving; }
static bool moves_knots(const oat_setup *s) { return sparse(s) && (refines(s) || s->strategy->moves); }
static bool adadelta(const oat_setup *s) { return !oat_optim_find(s->settings->optimizer)->curvature; }
static bool lbfgs(const oat_setup *s) { return !adadelta(s) || automatic(s); }

typedef struct effect {
  const char *name;
  bool (*has_one)(const oat_setup *setup);
  const char *why; /* it has none */
} effect;

static const effect effects[] = {
    {"alpha", has_power, "only --approx=pep has a power"},
    {"neighbours", can_have_neighbours, "only --approx=fitc has neighbours"},
    {"predict_neighbours", may_have_neighbours, "it needs --neighbours"},
    {"order", may_have_neighbours, "the order of the rows matters only with --neighbours"},
    {"trials", has_trials, "only --likelihood=binomial-logit has trials"},
    {"exposure", has_exposure, "only the likelihoods poisson, negative-binomial and gamma have an exposure"},
    {"likelihood_shape", has_likelihood_shape, "only the likelihoods negative-binomial, gamma and beta have a shape"},
    {"likelihood_scale", heavy_tails, "only --likelihood=student-t has a scale"},
    {"degrees", heavy_tails, "only --likelihood=student-t has degrees of freedom"},
    {"tau", gaussian, "only --likelihood=gaussian has this noise"},
    {"sigma", is_of_the_list, "the parameters of an expression are given by --parameters"},
    {"lengthscale", is_of_the_list, "the parameters of an expression are given by --parameters"},
    {"shape", has_shape, "the kernel has no shape"},
    {"knots", sparse, "the full GP has no knots"},
    {"knots_scaled", has_knots, "only knots given in a file or an array have units"},
    {"jitter", relative_jitter, "the full GP has no knots, or --jitter-absolute was given and replaces it"},
    {"jitter_absolute", sparse, "the full GP has no knots"},
    {"select", selects,
     "the full GP has no knots to select; there, auto chooses the starting parameters and fixed keeps those that are "
     "given"},
    {"subset_rows", automatic, "only --select=auto without --knots starts from an exact GP"},
    {"tol_row", has_tolerance, "only --select=auto without --knots has this tolerance"},
    {"max_knots", grows, "only the selections auto (without --knots) and oat-* change the number of knots"},
    {"tol_knot", compares_knots, "only the selections oat-* and variance decide knot by knot"},
    {"candidates", draws_rows,
     "only the selections oat-bo and oat-rs (and oat-gain for fic, fitc and pep) draw candidate rows"},
    {"first_candidates", bayesian, "only --select=oat-bo starts with random rows"},
    {"batch", by_gain, "only --select=oat-gain adds several knots at once"},
    {"gain_rows", exact_gain, "only --select=oat-gain computes exact gains, and not for fic, fitc and pep"},
    {"inner_iter", proposes, "only --select=oat-* optimises after each knot"},
    {"refine", can_refine, "--select=simultaneous moves all knots anyway, and the full GP has none"},
    {"restart_parameters", refines, "it changes the start of --refine, which is not set"},
    {"guard", guards, "only the selections auto (without --knots) and oat-* have this guard"},
    {"condition", bayesian, "only --select=oat-bo has a surrogate"},
    {"surrogate_sigma", bayesian, "only --select=oat-bo has a surrogate"},
    {"surrogate_lengthscale", bayesian, "only --select=oat-bo has a surrogate"},
    {"surrogate_jitter", bayesian, "only --select=oat-bo has a surrogate"},
    {"knot_box", moves_knots, "the knots do not move"},
    {"knot_margin", moves_knots, "the knots do not move"},
    {"lbfgs_history", lbfgs, "only --optimizer=lbfgs has a history"},
    {"line_search", lbfgs, "only --optimizer=lbfgs has a line search"},
    {"decay", adadelta, "only --optimizer=adadelta uses it"},
    {"epsilon", adadelta, "only --optimizer=adadelta uses it"},
    {"eta", adadelta, "only --optimizer=adadelta uses it"},
    {"checkpoint_seconds", checkpoints, "it needs --checkpoint"},
};

static void say(oatgp_context *ctx, const effect *e) {
  char option[OAT_LONGEST_SETTING];
  size_t i = 0;
  for (; e->name[i] != '\0'; i++) {
    option[i] = (char)(e->name[i] == '_' ? '-' : e->name[i]);
  }
  option[i] = '\0';
  oat_say(ctx, OATGP_NOTE, "--%s has no effect here: %s", option, e->why);
}

/* --kernel auto: the kernel is not known before the fit. */
static oatgp_status check_choosing(oatgp_context *ctx, const oatgp_settings *settings, const char *verb) {
  REFUSE_IF(strcmp(verb, "objective") == 0, ctx, OATGP_ARGUMENT,
            "--kernel=auto works only in a fit; name a kernel here");
  REFUSE_IF(*settings->parameters != '\0' || *settings->range != '\0', ctx, OATGP_ARGUMENT,
            "%s belong to one kernel; name that kernel instead of auto",
            *settings->parameters != '\0' ? "parameters" : "ranges");
  return OATGP_OK;
}

/* What goes with a likelihood. */
static oatgp_status check_likelihood(oatgp_context *ctx, const oat_setup *s) {
  const char *name = s->settings->likelihood;
  PASS_ON(oat_check_columns(ctx, oat_likelihood_find(name), s->data));
  if (gaussian(s)) {
    return OATGP_OK;
  }
  REFUSE_IF(sparse(s) && strcmp(s->approx->name, "vfe") != 0, ctx, OATGP_ARGUMENT,
            "--likelihood=%s works with the models vfe and full, not %s; leave out --approx or use one of these", name,
            s->approx->name);
  REFUSE_IF(s->settings->neighbours > 0, ctx, OATGP_ARGUMENT,
            "--likelihood=%s does not work with neighbours; leave out --neighbours", name);
  REFUSE_IF(oat_data_has(s->data, OAT_OTHER_NOISE), ctx, OATGP_ARGUMENT,
            "--likelihood=%s has no Gaussian noise to add known variances to; leave out --noise-variance", name);
  REFUSE_IF(has_trials(s) && !oat_data_has(s->data, OAT_OTHER_TRIALS), ctx, OATGP_ARGUMENT,
            "--likelihood=%s needs the number of trials of each row; name its column with --trials, or use "
            "bernoulli-logit for a target of 0 and 1",
            name);
  return OATGP_OK;
}

oatgp_status oat_note_effects(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                              const oatgp_data *knots, const char *verb) {
  oat_setup setup = {.data = data, .settings = settings, .approx = oat_approx_find(settings->approx), .knots = knots};
  oatgp_settings base;
  oatgp_status status;
  bool *category = NULL;
  oatgp_settings_default(&base);
  TRY(check_likelihood(ctx, &setup));
  TRY(oatgp_settings_set(ctx, &base, "preset", settings->preset));
  TRY(oat_new(ctx, data->d, sizeof *category, &category));
  for (size_t j = 0; j < data->d; j++) {
    category[j] = oat_data_levels(data, j) != NULL;
  }
  const bool chosen = oat_kernel_is_automatic(settings->kernel);
  TRY(chosen ? check_choosing(ctx, settings, verb) : OATGP_OK);
  TRY(oat_kernel_read(ctx, chosen ? base.kernel : settings->kernel,
                      &(oat_names){data->d, (const char *const *)data->names, category}, &setup.kernel));
  setup.strategy = oat_setup_strategy(&setup);
  for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
    if (!effects[i].has_one(&setup) && oat_setting_differs(settings, &base, effects[i].name, verb)) {
      say(ctx, &effects[i]);
    }
  }
done:
  free(category);
  oat_kernel_release(setup.kernel);
  return status;
}
