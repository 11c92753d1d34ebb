/* Progress reports of the library: every kind of long work reports its progress, from beginning to end and never
 * beyond. */
#include "fits.h"

#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#define MOST_KINDS 12

/* The reports of each kind of work. */
typedef struct heard {
  scratch *s;
  size_t kinds;
  struct {
    const char *what;
    size_t times, last, total;
  } of[MOST_KINDS];
} heard;

/* Gets every report, not only a few per second. */
static void listen(void *user, const char *what, size_t done, size_t total) {
  heard *h = user;
  size_t k = 0;
  while (k < h->kinds && strcmp(h->of[k].what, what) != 0) {
    k++;
  }
  assert_true(k < MOST_KINDS);
  assert_true(done <= total);
  h->kinds = k == h->kinds ? k + 1 : h->kinds;
  h->of[k].what = what;
  h->of[k].times++;
  h->of[k].last = done;
  h->of[k].total = total;
  h->s->ctx->told = 0;
}

static void begin(scratch *s, heard *h) {
  *h = (heard){.s = s};
  oatgp_context_set_progress(s->ctx, listen, h);
  s->ctx->told = 0; /* long ago */
}

static void expect(heard *h, const char *what, size_t total) {
  oatgp_context_set_progress(h->s->ctx, NULL, NULL);
  for (size_t k = 0; k < h->kinds; k++) {
    if (strcmp(h->of[k].what, what) == 0) {
      assert_int_equal(h->of[k].total, total);
      assert_true(h->of[k].times > 0);
      assert_true(h->of[k].last == total || strcmp(what, "k-means") == 0);
      return;
    }
  }
  fail_msg("nothing was heard of %s", what);
}

static size_t size_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (size_t)info.st_size;
}

static char *many_lines(void) {
  enum { ROWS = 60000, WIDTH = 24 };
  char *text = calloc(ROWS + 1, WIDTH);
  size_t used = (size_t)snprintf(text, WIDTH, "x1,y\n");
  for (int i = 0; i < ROWS; i++) {
    used += (size_t)snprintf(text + used, WIDTH, "%d.%04d,%d\n", i % 7, i % 9973, i % 5);
  }
  return text;
}

/* Packed or not, in bytes of the file as it is stored. */
static void reading_is_told_in_bytes(void **state) {
  scratch *s = *state;
  char *text = many_lines();
  s->settings.target = "y";
  for (int packed = 0; packed <= 1; packed++) {
    heard h;
    oatgp_data *data = NULL;
    gzFile file = gzopen(s->path, packed ? "wb" : "wbT");
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    gzclose(file);
    begin(s, &h);
    must(s, oatgp_data_read(s->ctx, s->path, &s->settings, &data));
    expect(&h, "reading", size_of(s->path));
    oatgp_data_free(data);
  }
  free(text);
}

static void shares_of_a_stream(void **state) {
  scratch *s = *state;
  oatgp_stream *stream = NULL;
  oatgp_data *train = wavy_data(s, 40, 1, 0.1, 1), *part = NULL;
  char *text = many_lines();
  s->settings.knots = "3";
  s->settings.max_iter = 0;
  oatgp_model *model = must_fit(s, train, NULL);
  assert_true(isnan(oatgp_stream_share(NULL)));
  write_text(s, text);
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 0, &stream));
  double before = 0;
  do {
    oatgp_data_free(part);
    part = NULL;
    must(s, oatgp_stream_next(s->ctx, stream, 512, &part));
    const double share = oatgp_stream_share(stream);
    assert_true(share > 0 && share >= before && share <= 1);
    before = share;
  } while (part != NULL);
  assert_true(before == 1);
  oatgp_stream_free(stream);
  oatgp_model_free(model);
  oatgp_data_free(train);
  free(text);
}

static void fits_are_told(void **state) {
  scratch *s = *state;
  static const struct {
    const char *approx, *select, *knots, *what;
    size_t total;
  } cases[] = {
      {"vfe", "fixed", "kmeans:9", "k-means", 300}, {"vfe", "variance", "9", "greedy variance", 9},
      {"vfe", "simultaneous", "9", "value", 700},   {"vfe", "simultaneous", "9", "gradient", 700},
      {"vfe", "oat-gain", "5", "gains", 700},       {"full", "fixed", "", "evaluation", 700},
      {"vfe", "fixed", "9", "leave-one-out", 700},
  };
  oatgp_data *data = wavy_data(s, 700, 2, 0.2, 5);
  s->settings.max_iter = 2;
  s->settings.max_knots = 6;
  for (size_t i = 0; i < LENGTH(cases); i++) {
    heard h;
    s->settings.approx = cases[i].approx;
    s->settings.select = cases[i].select;
    s->settings.knots = cases[i].knots;
    begin(s, &h);
    oatgp_model *model = must_fit(s, data, NULL);
    expect(&h, cases[i].what, cases[i].total);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void predictions_are_told(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 3000, 1, 0.2, 6);
  double *mean = calloc(3000, sizeof *mean);
  s->settings.max_iter = 0;
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  for (int threads = 1; threads <= 2; threads++) {
    heard h;
    oatgp_context_set_threads(s->ctx, threads);
    begin(s, &h);
    must(s, oatgp_predict_mean(s->ctx, model, data, mean));
    oatgp_context_set_progress(s->ctx, NULL, NULL);
    assert_true(h.kinds == 1 && h.of[0].times > 0 && h.of[0].total == 3000);
    begin(s, &h);
    must(s, oatgp_predict(s->ctx, model, data, &(oatgp_prediction){mean, NULL, NULL}));
    oatgp_context_set_progress(s->ctx, NULL, NULL);
    assert_true(h.kinds == 1 && h.of[0].times > 0 && h.of[0].total == 3000);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  free(mean);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reading_is_told_in_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(shares_of_a_stream, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fits_are_told, set_up, tear_down),
      cmocka_unit_test_setup_teardown(predictions_are_told, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
