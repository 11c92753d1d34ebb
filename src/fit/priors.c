/* The priors of parameters: those from the settings, the default ones, and all of them as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/setup.h"
#include "text/number.h"

static size_t theta_count(const oat_setup *setup) { return oat_theta_count(setup->kernel, setup->scaling.d); }

static bool is_word(const char *word, const char *part, size_t length) {
  return strlen(word) == length && strncmp(word, part, length) == 0;
}

/* ---- one ------------------------------------------------------------------------------------------------------- */

/* Sets the prior of one parameter, in place of an earlier one. A fixed parameter gets none. */
static oatgp_status put(oat_setup *setup, size_t place, const void *with) {
  oat_prior *prior = &setup->prior;
  oat_prior_term term = *(const oat_prior_term *)with;
  size_t at = 0;
  if (!setup->free[place]) {
    return OATGP_OK;
  }
  term.place = place;
  term.unit = oat_given_unit(setup, place);
  while (at < prior->count && prior->term[at].place != place) {
    at++;
  }
  prior->term[at] = term;
  prior->count += at == prior->count;
  return OATGP_OK;
}

/* ---- the default ----------------------------------------------------------------------------------------------- */

/* The weak priors. The log evidence grows with the number of rows, so their influence fades. A lengthscale is lognormal
 * about this many spreads of its input, times the square root of the number of inputs, since distances grow with that.
 * An input that does not matter may need a lengthscale of many thousand spreads, where that density costs a hundred
 * nats, so the width grows with the rows. The noise is gamma, in spreads of the target. Its density falls only as a
 * power of tau towards 0, so data without noise can still be fitted so. docs/priors.md has what was tried. */
#define LENGTH_MIDDLE 0.25 /* logarithm */
#define LENGTH_WIDTH 0.75
#define FADING_ROWS 500.0 /* beyond them the log density of lengthscales counts less and less, in proportion */
#define NOISE_SHAPE 3.0
#define NOISE_RATE 8.0

/* The number of inputs of the leaf that the parameter belongs to. */
static double inputs_beside(const oat_setup *setup, size_t place) {
  const oat_expression *expression = setup->kernel->expression;
  for (size_t i = 0; expression != NULL && i < expression->leaves; i++) {
    const oat_leaf *leaf = &expression->leaf[i];
    if (place - OAT_LENGTHSCALE - leaf->parameter < oat_leaf_parameters(leaf)) {
      return (double)leaf->inputs;
    }
  }
  return (double)setup->scaling.d;
}

static void add_logs(const void *self, const oatgp_data *data, const oat_data_part *part, void *result) {
  double sum = 0;
  (void)self, (void)data;
  for (size_t i = 0; i < part->n; i++) {
    sum += log(part->other[OAT_OTHER_WEIGHT][i]);
  }
  *(double *)result = sum;
}

/* tau in units of the noise that the rows have: with weights, it is that of a row with weight 1. */
static oatgp_status weight_unit(oatgp_context *ctx, const oatgp_data *data, double *unit) {
  const size_t chunks = oat_data_chunks(data);
  double *of_chunk = NULL, sum = 0;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, chunks, 1, &of_chunk));
  TRY(oat_data_pass(ctx, data,
                    &(oat_pass){.look = add_logs,
                                .flops = OAT_FLOPS_OF_MEMORY,
                                .threads = ctx->at_work,
                                .bytes = sizeof *of_chunk,
                                .results = of_chunk}));
  for (size_t i = 0; i < chunks; i++) {
    sum += of_chunk[i];
  }
  *unit = exp(sum / (2 * (double)data->n));
done:
  free(of_chunk);
  return status;
}

static double length_width(const oat_setup *setup) {
  return LENGTH_WIDTH * sqrt(fmax((double)oat_rows_total(setup->rows) / FADING_ROWS, 1));
}

static oatgp_status put_weak(oatgp_context *ctx, oat_setup *setup, double spread) {
  const oat_units units = {spread / setup->y_scale, setup->scaling.d, setup->scaling.spread};
  double weight = 1;
  PASS_ON(oat_data_has(setup->data, OAT_OTHER_WEIGHT) ? weight_unit(ctx, setup->data, &weight) : OATGP_OK);
  for (size_t i = 0; i < theta_count(setup); i++) {
    const oat_parameter parameter = oat_parameter_at(setup->kernel, i);
    const double size = oat_parameter_unit(&parameter, &units) * oat_given_unit(setup, i) * (i == OAT_TAU ? weight : 1);
    if (i == OAT_TAU &&
        isnormal(NOISE_RATE / size)) { /* near the limits of a double the rate would not be a normal number */
      put(setup, i,
          &(oat_prior_term){.family = oat_family_find("gamma", 5), .argument = {NOISE_SHAPE, NOISE_RATE / size}});
    } else if (parameter.unit == OAT_UNIT_INPUT && !oat_parameter_is_period(setup->kernel, i)) {
      const double middle = LENGTH_MIDDLE + log(size * sqrt(inputs_beside(setup, i)));
      put(setup, i,
          &(oat_prior_term){.family = oat_family_find("lognormal", 9), .argument = {middle, length_width(setup)}});
    }
  }
  return OATGP_OK;
}

/* ---- what is given --------------------------------------------------------------------------------------------- */

enum { LONGEST_LIST = 240 };

static oatgp_status no_family(oatgp_context *ctx, const char *text, size_t length) {
  char names[LONGEST_LIST] = "";
  for (size_t i = 0, used = 0; oat_family_at(i) != NULL; i++) {
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", oat_family_at(i)->name);
  }
  return oat_fail(ctx, OATGP_ARGUMENT, "prior: '%.*s' is not one of the families %s", (int)length, text, names);
}

/* A, B */
static bool read_arguments(const char *text, size_t length, oat_prior_term *term) {
  size_t count = 0;
  for (size_t from = 0; from <= length; count++) {
    const size_t span = oat_list_span(text + from, length - from, ',');
    if (count >= term->family->arguments || !oat_is_number(text + from, span, &term->argument[count])) {
      return false;
    }
    from += span + 1;
  }
  return count == term->family->arguments && term->family->allows(term->argument);
}

/* NAME ~ FAMILY(A, B) */
static oatgp_status read_prior(oatgp_context *ctx, oat_setup *setup, const char *part, size_t length) {
  const size_t tilde = oat_list_span(part, length, '~');
  const char *family = part + tilde + 1;
  size_t rest = tilde < length ? length - tilde - 1 : 0;
  oat_list_trim(&family, &rest);
  const char *open = rest > 0 ? memchr(family, '(', rest) : NULL, *name = family;
  size_t of_name = open != NULL ? (size_t)(open - family) : 0;
  REFUSE_IF(open == NULL || family[rest - 1] != ')', ctx, OATGP_ARGUMENT,
            "prior: '%.*s' must be none, weak or NAME ~ FAMILY(NUMBERS), such as tau ~ lognormal(-2, 1)", (int)length,
            part);
  oat_list_trim(&name, &of_name);
  oat_prior_term term = {.family = oat_family_find(name, of_name)};
  if (term.family == NULL) {
    return no_family(ctx, name, of_name);
  }
  REFUSE_IF(!read_arguments(open + 1, (size_t)(family + rest - open) - 2, &term), ctx, OATGP_ARGUMENT,
            "prior: '%.*s' needs %s", (int)rest, family, term.family->needs);
  return oat_given_each(ctx, setup, "prior", part, tilde, put, &term);
}

/* Parameters stay where their priors allow them to be, within their ranges. */
static oatgp_status narrow_ranges(oatgp_context *ctx, oat_setup *setup) {
  for (size_t i = 0; i < setup->prior.count; i++) {
    const oat_prior_term *term = &setup->prior.term[i];
    double *least = &setup->least[term->place], *most = &setup->most[term->place];
    if (!term->family->bounded) {
      continue;
    }
    *least = fmax(*least, term->argument[0] / term->unit);
    *most = fmin(*most, term->argument[1] / term->unit);
    REFUSE_IF(!(*least < *most), ctx, OATGP_ARGUMENT,
              "prior: %s ~ %s(%g, %g) lies outside the range of the parameter; set another one by --range",
              oat_parameter_at(setup->kernel, term->place).name, term->family->name, term->argument[0],
              term->argument[1]);
  }
  return OATGP_OK;
}

oatgp_status oat_given_priors(oatgp_context *ctx, oat_setup *setup, const char *text, double spread) {
  const char *part = NULL, *word;
  size_t length;
  setup->prior = (oat_prior){.rows = oat_rows_total(setup->rows),
                             .term = oat_take(&setup->memory, theta_count(setup), sizeof *setup->prior.term)};
  PASS_ON(setup->memory.status);
  while (oat_list_next(text, &part, &length)) {
    size_t of_word = length;
    oat_list_trim((word = part, &word), &of_word);
    if (is_word("weak", word, of_word) || is_word("auto", word, of_word)) {
      PASS_ON(put_weak(ctx, setup, spread));
    } else if (is_word("none", word, of_word)) {
      setup->prior.count = 0;
    } else {
      PASS_ON(read_prior(ctx, setup, word, of_word));
    }
  }
  return narrow_ranges(ctx, setup);
}

/* ---- as a text ------------------------------------------------------------------------------------------------- */

/* Whether the term is the same as the one before it, for a parameter with the same name. */
static bool repeats(const oat_setup *setup, size_t i) {
  const oat_prior_term *term = &setup->prior.term[i], *before = term - 1;
  return i > 0 && term->family == before->family &&
         memcmp(term->argument, before->argument, sizeof term->argument) == 0 &&
         strcmp(oat_parameter_at(setup->kernel, term->place).name,
                oat_parameter_at(setup->kernel, before->place).name) == 0;
}

oatgp_status oat_setup_prior_text(oatgp_context *ctx, const oat_setup *setup, char **out) {
  const oat_prior *prior = &setup->prior;
  oat_plain plain = {0};
  size_t room = sizeof "none", used = 0;
  char *text = NULL;
  oatgp_status status;
  for (size_t i = 0; i < prior->count; i++) {
    room += strlen(oat_parameter_at(setup->kernel, prior->term[i].place).name) + strlen(prior->term[i].family->name) +
            OAT_MOST_ARGUMENTS * (OAT_LONGEST_NUMBER + 2) + sizeof ",  ~ ()";
  }
  TRY(oat_plain_begin(ctx, &plain));
  TRY(oat_new(ctx, room, 1, &text));
  strcpy(text, prior->count == 0 ? "none" : "");
  for (size_t i = 0; i < prior->count; i++) {
    const oat_prior_term *term = &prior->term[i];
    if (repeats(setup, i)) {
      continue;
    }
    used += (size_t)snprintf(text + used, room - used, "%s%s ~ %s(", i > 0 ? ", " : "",
                             oat_parameter_at(setup->kernel, term->place).name, term->family->name);
    for (size_t j = 0; j < term->family->arguments; j++) {
      used += (size_t)snprintf(text + used, room - used, "%s", j > 0 ? ", " : "");
      used += oat_write_number(term->argument[j], text + used);
    }
    used += (size_t)snprintf(text + used, room - used, ")");
  }
  *out = text;
done:
  oat_plain_end(&plain);
  return status;
}
