/* Watching a fit, and stopping it: monitor, progress, notes, errors.
 *
 * usage: 03_watch data/mcycle.csv */
#include <oatgp.h>
#include <stdio.h>

/* The data of the monitor; they are passed on as `user`. */
typedef struct watch {
  size_t kept, most;
} watch;

/* Called for every event of a fit. A result other than 0 stops it, and the model is the best so far. */
static int monitor(void *user, const oatgp_event *event) {
  watch *w = user;
  if (event->kind == OATGP_EVENT_KEPT) {
    w->kept += event->added;
    printf("kept a knot: %zu knots\n", event->knots);
  }
  return w->kept >= w->most;
}

/* Called a few times a second during long work; this example has none. */
static void progress(void *user, const char *what, size_t done, size_t total) {
  (void)user;
  fprintf(stderr, "%s: %zu of %zu\n", what, done, total);
}

/* Notes and warnings: rows that were dropped, a jitter that had to be raised ... */
static void message(void *user, oatgp_level level, const char *sentence) {
  (void)user;
  fprintf(stderr, "%s: %s\n", level == OATGP_WARNING ? "warning" : "note", sentence);
}

/* Settings can be set as fields or, checked at once, from text. */
static oatgp_status choose(oatgp_context *ctx, oatgp_settings *settings) {
  oatgp_settings_default(settings);
  settings->target = "accel";
  oatgp_status status = oatgp_settings_set(ctx, settings, "select", "oat-gain");
  if (status == OATGP_OK) {
    status = oatgp_settings_set(ctx, settings, "knots", "kmeans:4");
  }
  return status;
}

/* A refused setting changes nothing. The error message says what is wrong and what would be right. */
static void be_refused(oatgp_context *ctx, oatgp_settings *settings) {
  if (oatgp_settings_set(ctx, settings, "alpha", "7") != OATGP_OK) {
    printf("refused: %s\n", oatgp_last_error(ctx));
  }
}

static oatgp_status run(oatgp_context *ctx, const char *path) {
  oatgp_settings settings;
  oatgp_data *data = NULL;
  oatgp_model *model = NULL;
  watch w = {.kept = 0, .most = 3};
  oatgp_context_set_message(ctx, message, NULL);
  oatgp_status status = choose(ctx, &settings);
  be_refused(ctx, &settings);
  if (status == OATGP_OK) {
    status = oatgp_data_read(ctx, path, &settings, &data);
  }
  if (status == OATGP_OK) {
    oatgp_context_set_progress(ctx, progress, NULL);
    status = oatgp_fit(ctx, data, &settings, NULL, monitor, &w, &model);
  }
  if (status == OATGP_OK) {
    oatgp_model_info info;
    oatgp_model_get_info(model, &info);
    printf("%zu knots; %s\n", info.knots, oatgp_stop_sentence(info.stop));
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  return status;
}

int main(int argc, char **argv) {
  oatgp_context *ctx = oatgp_context_create();
  const oatgp_status status = ctx != NULL && argc > 1 ? run(ctx, argv[1]) : OATGP_ARGUMENT;
  if (status != OATGP_OK) {
    fprintf(stderr, "%s\n", ctx != NULL && argc > 1 ? oatgp_last_error(ctx) : "usage: 03_watch DATA.csv");
  }
  oatgp_context_free(ctx);
  return status == OATGP_OK ? 0 : 1;
}
