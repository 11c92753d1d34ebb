/* Options in messages have the syntax of the front end. */
#include "support.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

#include "util/context.h"
#include "util/front.h"

static void check(oatgp_front front, const char *sentence, const char *expected) {
  char shown[OAT_SENTENCE];
  oat_in_front(front, sentence, shown, sizeof shown);
  assert_string_equal(shown, expected);
}

static void options_have_the_words_of_the_front_end(void **state) {
  (void)state;
  const char *sentence = "raise --max-knots, use --mean=linear or --batch=5 (--no-guard fits anyway)";
  check(OATGP_FRONT_COMMAND, sentence, "raise --max-knots, use --mean linear or --batch 5 (--no-guard fits anyway)");
  check(OATGP_FRONT_PYTHON, sentence, "raise max_knots, use mean=\"linear\" or batch=5 (guard=False fits anyway)");
  check(OATGP_FRONT_R, sentence, "raise max_knots, use mean = \"linear\" or batch = 5 (guard = FALSE fits anyway)");
  check(OATGP_FRONT_PYTHON, "--approx=vfe.", "approx=\"vfe\".");
  check(OATGP_FRONT_PYTHON, "only --select=oat-* does; --max-knots=K", "only select=\"oat-*\" does; max_knots=K");
  check(OATGP_FRONT_R, "known --noise-variance", "known noise_variance");
}

static void options_that_are_no_keyword_are_said_otherwise(void **state) {
  (void)state;
  const char *sentence = "fit again (--refit), choose with --inputs or --missing=drop";
  check(OATGP_FRONT_COMMAND, sentence, "fit again (--refit), choose with --inputs or --missing drop");
  check(OATGP_FRONT_PYTHON, sentence, "fit again (Model.refit()), choose with inputs= or missing=\"drop\"");
  check(OATGP_FRONT_R, sentence,
        "fit again (update(refit = TRUE)), choose with the formula or the columns of x or na.omit()");
}

static void other_texts_stay(void **state) {
  (void)state;
  for (oatgp_front front = OATGP_FRONT_COMMAND; front <= OATGP_FRONT_R; front++) {
    check(front, "nothing -- at all", "nothing -- at all");
    check(front, "'--max-knots' is not a number; a--b, x=1", "'--max-knots' is not a number; a--b, x=1");
    check(front, "", "");
  }
}

static void a_sentence_that_is_too_long_is_cut(void **state) {
  (void)state;
  char shown[12];
  oat_in_front(OATGP_FRONT_R, "use --no-guard", shown, sizeof shown);
  assert_string_equal(shown, "use guard =");
  oat_in_front(OATGP_FRONT_COMMAND, "0123456789abcdef", shown, sizeof shown);
  assert_string_equal(shown, "0123456789a");
}

static const char *const last_words[] = {[OATGP_FRONT_COMMAND] = "name it with --target",
                                         [OATGP_FRONT_PYTHON] = "name it with target=",
                                         [OATGP_FRONT_R] = "name it with the formula"};

static void failures_speak_it(void **state) {
  (void)state;
  const double x[] = {1, 2};
  for (oatgp_front front = OATGP_FRONT_COMMAND; front <= OATGP_FRONT_R; front++) {
    oatgp_context *ctx = oatgp_context_create();
    oatgp_context_set_front(ctx, front);
    oatgp_settings settings;
    oatgp_settings_default(&settings);
    oatgp_data *data = NULL;
    oatgp_model *model = NULL;
    assert_int_equal(oatgp_data_create(ctx, 2, 1, x, NULL, &data), OATGP_OK);
    assert_int_equal(oatgp_fit(ctx, data, &settings, NULL, NULL, NULL, &model), OATGP_DATA);
    const char *found = strstr(oatgp_last_error(ctx), "name it");
    assert_non_null(found);
    assert_string_equal(found, last_words[front]);
    oatgp_data_free(data);
    oatgp_context_free(ctx);
  }
}

/* ---- every sentence of the sources ----------------------------------------------------------------------------- */

typedef struct walk {
  const char *path; /* of the file */
  size_t found;     /* options in sentences, of all files */
} walk;

static const char *find_option(const char *text) {
  const char *at = strstr(text, "--");
  while (at != NULL && !islower((unsigned char)at[2])) {
    at = strstr(at + 1, "--");
  }
  return at;
}

/* Whether the option is a setting that both languages have; those of rows in R are what its formula says. */
static bool is_keyword(const char *name, oatgp_front front) {
  const char *const not_in_r[] = {"target", "inputs", "factors", "header", "missing", "exposure", "likelihood"};
  for (size_t i = 0; front == OATGP_FRONT_R && i < sizeof not_in_r / sizeof *not_in_r; i++) {
    if (strcmp(name, not_in_r[i]) == 0) {
      return strcmp(name, "likelihood") == 0; /* the R package makes family = of it */
    }
  }
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    if (strcmp(setting->name, name) == 0 && !setting->in_command_only) {
      return true;
    }
  }
  return false;
}

/* One option: a keyword, or said otherwise. */
static void check_option(const walk *w, oatgp_front front, const char *option) {
  char name[64], shown[128];
  size_t n = 0;
  const char *after = strncmp(option, "--no-", 5) == 0 ? option + 5 : option + 2;
  for (; n + 1 < sizeof name && (islower((unsigned char)after[n]) || after[n] == '-'); n++) {
    name[n] = (char)(after[n] == '-' ? '_' : after[n]);
  }
  name[n] = '\0';
  oat_in_front(front, option, shown, sizeof shown);
  const bool said_otherwise = strncmp(shown, name, n) != 0;
  if (!said_otherwise && !is_keyword(name, front)) {
    fail_msg("%s: '--%s' is no keyword of front end %d", w->path, name, (int)front);
  }
}

static void check_sentence(walk *w, const char *sentence) {
  for (const char *at = find_option(sentence); at != NULL; at = find_option(at + 2)) {
    w->found++;
    for (oatgp_front front = OATGP_FRONT_PYTHON; front <= OATGP_FRONT_R; front++) {
      char shown[4 * OAT_SENTENCE];
      oat_in_front(front, sentence, shown, sizeof shown);
      if (find_option(shown) != NULL) {
        fail_msg("%s: front end %d shows '%s'", w->path, (int)front, shown);
      }
      if (front == OATGP_FRONT_PYTHON || strstr(w->path, "/tables/") == NULL) { /* R reads no tables */
        check_option(w, front, at);
      }
    }
  }
}

static const char *skip_comment(const char *at) {
  if (strncmp(at, "/*", 2) == 0) {
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? end + 2 : at + strlen(at);
  }
  return at;
}

/* The texts of a file; those with nothing but blanks between them are one sentence. */
static void check_texts(walk *w, const char *at) {
  char sentence[4 * OAT_SENTENCE] = "";
  size_t n = 0;
  while (*at != '\0') {
    const char *after = skip_comment(at);
    if (after != at) {
      at = after;
    } else if (*at == '\'') {
      at += at[1] == '\\' ? 4 : 3;
    } else if (*at == '"') {
      for (at++; *at != '"' && *at != '\0' && n + 2 < sizeof sentence; at++) {
        sentence[n++] = *at;
        if (*at == '\\') {
          sentence[n++] = *++at;
        }
      }
      sentence[n] = '\0';
      at++;
    } else {
      if (!isspace((unsigned char)*at)) {
        check_sentence(w, sentence);
        sentence[n = 0] = '\0';
      }
      at++;
    }
  }
}

static void check_folder(walk *w, const char *path) {
  DIR *folder = opendir(path);
  assert_non_null(folder);
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    char below[1024];
    struct stat what;
    assert_in_range(snprintf(below, sizeof below, "%s/%s", path, entry->d_name), 1, sizeof below - 1);
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, "front.c") == 0 || stat(below, &what) != 0) {
      continue;
    }
    const char *ending = strrchr(entry->d_name, '.');
    w->path = below;
    if (S_ISDIR(what.st_mode)) {
      check_folder(w, below);
    } else if (ending != NULL && (strcmp(ending, ".c") == 0 || strcmp(ending, ".h") == 0)) {
      char *text = read_text(below);
      check_texts(w, text);
      free(text);
    }
  }
  closedir(folder);
}

/* No message of the library shows an option of the command in Python or R. */
static void all_sentences_of_the_sources_speak_it(void **state) {
  (void)state;
  walk w = {NULL, 0};
  check_folder(&w, TEST_DATA_DIR "/../../src");
  assert_true(w.found > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_have_the_words_of_the_front_end),
      cmocka_unit_test(options_that_are_no_keyword_are_said_otherwise),
      cmocka_unit_test(other_texts_stay),
      cmocka_unit_test(a_sentence_that_is_too_long_is_cut),
      cmocka_unit_test(failures_speak_it),
      cmocka_unit_test(all_sentences_of_the_sources_speak_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
