/* Version, texts of codes, context, and settings: every refusal, and every row of the table by a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "oatgp.h"
#include "util/context.h"

typedef struct fixture {
  oatgp_context *ctx;
  oatgp_settings settings;
} fixture;

static fixture shared; /* cmocka hands out a pointer to it */

static int set_up(void **state) {
  shared.ctx = oatgp_context_create();
  oatgp_settings_default(&shared.settings);
  *state = &shared;
  return shared.ctx == NULL;
}

static int tear_down(void **state) {
  oatgp_context_free(((fixture *)*state)->ctx);
  return 0;
}

static void accept(fixture *f, const char *name, const char *value) {
  if (oatgp_settings_set(f->ctx, &f->settings, name, value) != OATGP_OK) {
    fail_msg("%s = %s was refused: %s", name, value, oatgp_last_error(f->ctx));
  }
}

/* The setting must be refused with a sentence that has the piece, and nothing may change. */
static void refuse(fixture *f, const char *name, const char *value, const char *piece) {
  const oatgp_settings before = f->settings;
  const oatgp_status status = oatgp_settings_set(f->ctx, &f->settings, name, value);
  if (status != OATGP_ARGUMENT) {
    fail_msg("%s = %s gave status %d", name, value, (int)status);
  }
  if (strstr(oatgp_last_error(f->ctx), piece) == NULL) {
    fail_msg("%s = %s: '%s' is not in '%s'", name, value, piece, oatgp_last_error(f->ctx));
  }
  assert_memory_equal(&before, &f->settings, sizeof before);
}

static void check_refuses(fixture *f, const char *piece) {
  assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_ARGUMENT);
  if (strstr(oatgp_last_error(f->ctx), piece) == NULL) {
    fail_msg("'%s' is not in '%s'", piece, oatgp_last_error(f->ctx));
  }
  oatgp_settings_default(&f->settings);
}

/* ---- codes and context ----------------------------------------------------------------------------------------- */

static void test_texts(void **state) {
  (void)state;
  int major, minor, patch;
  char rest;
  assert_int_equal(sscanf(oatgp_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
  assert_string_equal(oatgp_status_sentence(OATGP_OK), "no error");
  assert_string_equal(oatgp_status_sentence(OATGP_STOPPED), "stopped by the caller before there was a result");
  assert_string_equal(oatgp_stop_word(OATGP_STOP_NONE), "none");
  assert_string_equal(oatgp_stop_word(OATGP_STOP_USER), "user");
  assert_string_equal(oatgp_stop_sentence(OATGP_STOP_TIME), "the time limit was reached");
  assert_string_equal(oatgp_status_sentence((oatgp_status)99), "unknown code");
  assert_string_equal(oatgp_stop_word((oatgp_stop)99), "unknown code");
  assert_string_equal(oatgp_stop_sentence((oatgp_stop)99), "unknown code");
}

static void take_message(void *user, oatgp_level level, const char *sentence) {
  snprintf(user, 64, "%d %s", (int)level, sentence);
}

static void test_context(void **state) {
  fixture *f = *state;
  char heard[64] = "";
  assert_string_equal(oatgp_last_error(f->ctx), "");
  oat_say(f->ctx, OATGP_NOTE, "lost");
  oatgp_context_set_message(f->ctx, take_message, heard);
  oat_say(f->ctx, OATGP_WARNING, "row %d", 7);
  assert_string_equal(heard, "1 row 7");
  oatgp_context_set_message(f->ctx, NULL, NULL);
  oat_say(f->ctx, OATGP_NOTE, "lost too");
  assert_string_equal(heard, "1 row 7");
  refuse(f, "alpha", "x", "alpha is 'x'");
  oatgp_context_free(NULL);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void test_table(void **state) {
  (void)state;
  assert_null(oatgp_setting_at(oatgp_setting_count()));
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    assert_non_null(s->value);
    assert_true(strlen(s->name) > 0 && strlen(s->name) < 32 && strchr(s->name, '-') == NULL);
    assert_true(strlen(s->verbs) > 0 && strlen(s->help) > 0);
    assert_true(s->help[strlen(s->help) - 1] != '.');
    assert_int_equal(s->argument == NULL, s->type == OATGP_TYPE_FLAG);
    assert_int_equal(s->choices != NULL, s->type == OATGP_TYPE_CHOICE || strcmp(s->name, "kernel") == 0);
    assert_true(s->lowest <= s->highest);
  }
}

/* No verb has two options of one name, and no flag's negation is another option. */
static void test_names_are_unique(void **state) {
  (void)state;
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *a = oatgp_setting_at(i);
    for (size_t j = i + 1; j < oatgp_setting_count(); j++) {
      const oatgp_setting *b = oatgp_setting_at(j);
      if (strcmp(a->name, b->name) == 0) {
        assert_null(strstr(a->verbs, b->verbs));
        assert_null(strstr(b->verbs, a->verbs));
        assert_true(a->in_command_only != b->in_command_only);
      }
      assert_false(strncmp(b->name, "no_", 3) == 0);
    }
  }
}

static void test_defaults(void **state) {
  fixture *f = *state;
  assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_OK);
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    if (!s->in_command_only) {
      accept(f, s->name, s->value); /* the default as text is the default of the struct */
    }
  }
  oatgp_settings fresh;
  oatgp_settings_default(&fresh);
  assert_memory_equal(&fresh.alpha, &f->settings.alpha, sizeof fresh.alpha);
  assert_true(fresh.alpha == 0.5 && isnan(f->settings.jitter) && f->settings.max_iter == 1000 &&
              f->settings.scale == 1);
  assert_string_equal(f->settings.approx, "vfe");
  assert_string_equal(f->settings.knots, "");
  assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_OK);
}

static const char *range_piece(const oatgp_setting *s) {
  return s->lowest == DBL_MIN ? "must be above 0" : "must be from";
}

/* The ends of every range are accepted and the next value beyond is refused, as text and in the struct. */
static void test_ranges(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    const int is_real = s->type == OATGP_TYPE_REAL;
    if (s->in_command_only || !(is_real || s->type == OATGP_TYPE_INT || s->type == OATGP_TYPE_BYTES)) {
      continue;
    }
    const double step = s->type == OATGP_TYPE_BYTES ? 1024 : 1; /* the next whole double after 2^62 */
    const double below = is_real ? nextafter(s->lowest, -HUGE_VAL) : s->lowest - 1;
    const double above = is_real ? nextafter(s->highest, HUGE_VAL) : s->highest + step;
    char text[64];
    snprintf(text, sizeof text, is_real ? "%.17g" : "%.0f", below);
    refuse(f, s->name, text, range_piece(s));
    snprintf(text, sizeof text, is_real ? "%.17g" : "%.0f", above);
    refuse(f, s->name, text, range_piece(s));
    snprintf(text, sizeof text, is_real ? "%.17g" : "%.0f", s->lowest);
    accept(f, s->name, text);
    snprintf(text, sizeof text, is_real ? "%.17g" : "%.0f", s->highest);
    accept(f, s->name, text);
    assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_OK);
    refuse(f, s->name, "", "must be");
    refuse(f, s->name, "nan", "must be");
    refuse(f, s->name, "1x", "must be");
    refuse(f, s->name, " 1", "must be");
    refuse(f, s->name, "1 ", "must be");
    refuse(f, s->name, "0x1", "must be");
    refuse(f, s->name, "-", "must be");
  }
}

static void test_choices(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    if (s->type != OATGP_TYPE_CHOICE) {
      continue;
    }
    char word[64], wrong[72];
    for (const char *at = s->choices; *at != '\0'; at += *at == '|') {
      const size_t length = strcspn(at, "|");
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      accept(f, s->name, word);
      assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_OK);
      snprintf(wrong, sizeof wrong, "%sz", word);
      refuse(f, s->name, wrong, s->choices);
      at += length;
    }
    refuse(f, s->name, "", s->choices);
    refuse(f, s->name, "|", s->choices);
    refuse(f, s->name, s->choices, s->choices);
    oatgp_settings_default(&f->settings); /* word goes out of scope */
  }
}

/* ---- one field ------------------------------------------------------------------------------------------------- */

static void test_names(void **state) {
  fixture *f = *state;
  accept(f, "max-iter", "7");
  assert_int_equal(f->settings.max_iter, 7);
  accept(f, "max_iter", "8");
  assert_int_equal(f->settings.max_iter, 8);
  refuse(f, "lenghtscale", "1", "there is no setting 'lenghtscale'; the nearest name is 'lengthscale'");
  refuse(f, "time-limits", "1", "'time_limit'");
  refuse(f, "", "1", "there is no setting ''");
  refuse(f, "max_iter_", "1", "'max_iter'");
  refuse(f, "max_ite", "1", "'max_iter'");
  refuse(f, "a name that is much longer than any name in the table could ever be", "1", "there is no setting");
  refuse(f, "output", "m", "'output' is an option of the command, not a setting");
  accept(f, "knots", "random:5"); /* both a setting and an option of info */
  assert_string_equal(f->settings.knots, "random:5");
}

static void test_real(void **state) {
  fixture *f = *state;
  accept(f, "tau", "0.25");
  assert_true(f->settings.tau == 0.25);
  accept(f, "tau", "+1.5E-3");
  assert_true(f->settings.tau == 1.5e-3);
  accept(f, "tau", ".5");
  assert_true(f->settings.tau == 0.5);
  refuse(f, "tau", "-0.1", "tau is -0.1 but must be from 0 to 1e+300");
  refuse(f, "tau", "1e400", "tau is 1e400 but must be from 0 to 1e+300");
  refuse(f, "tau", "inf", "must be from 0 to 1e+300");
  refuse(f, "tau", "0.5s", "tau is '0.5s' but must be a number");
  refuse(f, "jitter", "much", "jitter is 'much' but must be a number such as 0.5 or 1e-3, or 'auto'");
  refuse(f, "tau", "1,5", "must be a number");
  refuse(f, "alpha", "0", "alpha is 0 but must be above 0 and at most 1");
  refuse(f, "alpha", "1e-400", "above 0");
  refuse(f, "obj-tol", "x", "obj-tol is 'x'"); /* the name as the caller wrote it */
}

static void test_integer(void **state) {
  fixture *f = *state;
  accept(f, "seed", "9007199254740991");
  assert_int_equal(f->settings.seed, INT64_C(9007199254740991));
  refuse(f, "seed", "9007199254740993", "must be from 0 to 9007199254740991");
  refuse(f, "seed", "99999999999999999999999999", "must be from 0 to");
  refuse(f, "restarts", "2.5", "restarts is '2.5' but must be a whole number");
  refuse(f, "restarts", "0x10", "must be a whole number");
  refuse(f, "restarts", "1_000", "must be a whole number");
  refuse(f, "restarts", "1e-1", "must be a whole number");
  refuse(f, "restarts", "inf", "must be from 0 to 100000");
  static const char *const thousand[] = {"1000", "+1000", "1e3", "1000.0", "1000.", ".1e4", "1E+3", "100000e-2"};
  for (size_t i = 0; i < sizeof thousand / sizeof *thousand; i++) { /* as real settings, sizes and --samples have it */
    double value = 0;
    accept(f, "restarts", thousand[i]);
    assert_int_equal(f->settings.restarts, 1000);
    accept(f, "tau", thousand[i]);
    assert_true(f->settings.tau == 1000);
    accept(f, "memory", thousand[i]);
    assert_int_equal(f->settings.memory, 1000);
    assert_true(oatgp_is_number(thousand[i], &value) && value == 1000);
  }
  static const char *const none[] = {"",    " 1", "1 ", "0x10", "1_000", "1,5",   "inf",
                                     "nan", "NA", ".",  "1e",   "e3",    "1e400", "--1"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_false(oatgp_is_number(none[i], NULL));
  }
  refuse(f, "restarts", "-1", "restarts is -1 but must be from 0 to 100000");
}

static void test_bytes(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text;
    int64_t bytes;
  } cases[] = {{"0", 0},
               {"1000", 1000},
               {"1K", 1024},
               {"512M", INT64_C(512) << 20},
               {"4G", INT64_C(4) << 30},
               {"1.5G", INT64_C(3) << 29},
               {"2T", INT64_C(2) << 40},
               {"1e3K", 1024000},
               {"4g", INT64_C(4) << 30},
               {"4GB", INT64_C(4) << 30},
               {"4GiB", INT64_C(4) << 30},
               {"4gib", INT64_C(4) << 30},
               {"7B", 7}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    accept(f, "memory", cases[i].text);
    assert_int_equal(f->settings.memory, cases[i].bytes);
  }
  static const char *const wrong[] = {"1.5", "4Gi", "4X", "4GBs", "G", "4 G", "iB", "4iB", "4P", "4G4", "inf", "4GG"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    refuse(f, "memory", wrong[i], "must be");
  }
  refuse(f, "memory", "-1G", "memory is -1G but must be from 0 to");
  refuse(f, "memory", "9999999999T", "must be from 0 to");
  refuse(f, "memory", "4X", "must be a size such as 1000, 512M or 4G");
}

static void test_flag(void **state) {
  fixture *f = *state;
  static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
  for (size_t i = 0; i < 6; i++) {
    accept(f, "scale", words[i]);
    assert_int_equal(f->settings.scale, (int)(i % 2));
  }
  refuse(f, "scale", "maybe", "scale is 'maybe' but must be yes or no");
  refuse(f, "scale", "", "must be yes or no");
  refuse(f, "scale", "2", "must be yes or no");
}

/* A decimal comma in the process must not change what a text means. */
static void test_locale(void **state) {
  fixture *f = *state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
  const char *found = NULL;
  for (size_t i = 0; i < 4 && found == NULL; i++) {
    found = setlocale(LC_NUMERIC, names[i]);
  }
  accept(f, "tau", "0.25");
  assert_true(f->settings.tau == 0.25);
  accept(f, "tau", "1.25e-300");
  assert_true(f->settings.tau == 1.25e-300);
  refuse(f, "tau", "0,25", "must be a number");
  setlocale(LC_NUMERIC, "C");
  if (found == NULL) {
    skip();
  }
}

/* ---- all fields ------------------------------------------------------------------------------------------------ */

static void test_check(void **state) {
  fixture *f = *state;
  f->settings.alpha = 1.5;
  check_refuses(f, "alpha is 1.5 but must be above 0 and at most 1");
  f->settings.tau = NAN;
  check_refuses(f, "tau is");
  f->settings.sigma = HUGE_VAL;
  check_refuses(f, "sigma is inf");
  f->settings.patience = 0;
  check_refuses(f, "patience is 0 but must be from 1 to 1000000");
  f->settings.seed = INT64_MAX;
  check_refuses(f, "seed is");
  f->settings.memory = -1;
  check_refuses(f, "memory is -1");
  f->settings.scale = 2;
  check_refuses(f, "scale is 2 but must be from 0 to 1");
  f->settings.kernel = "se-arc";
  check_refuses(f, "kernel is 'se-arc' but must be one of auto|se|se-ard");
  f->settings.kernel = "linear";
  check_refuses(f, "matern52-ard|rq|rq-ard|exponential, or an expression such as 'se(x1) + linear(x2)'");
  f->settings.kernel = "linear()"; /* it can only be checked when the inputs are known */
  assert_int_equal(oatgp_settings_check(f->ctx, &f->settings), OATGP_OK);
  f->settings.kernel = NULL;
  check_refuses(f, "kernel is NULL");
  f->settings.target = NULL;
  check_refuses(f, "target is NULL but must be a string");
}

/* The lines are a config file that gives the same settings; a long list of columns is not cut. */
static void test_text(void **state) {
  fixture *f = *state;
  static char inputs[5000];
  memset(inputs, 'a', sizeof inputs - 1);
  f->settings.inputs = inputs;
  f->settings.tau = 0.1 + 0.2;
  f->settings.scale = 0;
  f->settings.seed = INT64_C(9007199254740991);
  char *text = NULL;
  assert_int_equal(oat_settings_text(f->ctx, &f->settings, &text), OATGP_OK);
  const fixture before = *f;
  oatgp_settings_default(&f->settings);
  size_t count = 0;
  for (char *line = text, *end; *line != '\0'; line = end + 1) {
    end = strchr(line, '\n');
    char *equals = strstr(line, " = ");
    assert_true(end != NULL && equals != NULL && equals < end);
    *end = *equals = '\0';
    accept(f, line, equals + 3);
    count++;
  }
  assert_true(count > 30 && count < oatgp_setting_count());
  assert_string_equal(f->settings.inputs, inputs);
  assert_string_equal(f->settings.kernel, "se-ard");
  assert_true(f->settings.tau == before.settings.tau && f->settings.scale == 0 &&
              f->settings.seed == before.settings.seed);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),
      cmocka_unit_test_setup_teardown(test_context, set_up, tear_down),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_names_are_unique),
      cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_ranges, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_choices, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_real, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_integer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_flag, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_locale, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
