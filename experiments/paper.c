/* The whole paper in one command, which script/paper calls. It runs the sets and writes their results, then makes the
 * pages from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "paper.h"
#include "util/clock.h"
#include "util/context.h"

static int usage(void) {
  fprintf(stderr,
          "usage: paper --project DIR --out DIR [--data DIR] [--quick | --report | --splits] [--workers N] [--commit "
          "TEXT] [--machine TEXT]\n");
  return 2;
}

/* An option with a value, and its destination. */
static const char **text_option(options *o, const char *name) {
  const struct {
    const char *name, **where;
  } all[] = {{"--project", &o->project},
             {"--out", &o->out},
             {"--data", &o->data},
             {"--commit", &o->commit},
             {"--machine", &o->machine}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i].name, name) == 0) {
      return all[i].where;
    }
  }
  return NULL;
}

static bool *flag_option(options *o, const char *name) {
  return strcmp(name, "--quick") == 0    ? &o->quick
         : strcmp(name, "--report") == 0 ? &o->report
         : strcmp(name, "--splits") == 0 ? &o->splits
                                         : NULL;
}

static bool parse(int count, char **word, options *o) {
  for (int i = 1; i < count; i++) {
    const char **where = text_option(o, word[i]);
    bool *flag = flag_option(o, word[i]);
    if (flag != NULL) {
      *flag = true;
    } else if (i + 1 == count) {
      return false;
    } else if (where != NULL) {
      *where = word[++i];
    } else if (strcmp(word[i], "--workers") == 0) {
      o->workers = atoi(word[++i]);
    } else {
      return false;
    }
  }
  return o->workers > 0 && o->workers <= 64 && o->out != NULL && o->project != NULL &&
         o->quick + o->report + o->splits <= 1;
}

static oatgp_status run_all(const options *o, results *r) {
  const double begin = oat_seconds();
  oatgp_status status = OATGP_OK;
  snprintf(r->commit, sizeof r->commit, "%s", o->commit);
  snprintf(r->machine, sizeof r->machine, "%s", o->machine);
  TRY(measure_scaling(o, r));
  TRY(count_boston(o, r));
  TRY(run_sets(o, r));
  TRY(results_set_fact(r, "time", (double)time(NULL)));
  TRY(results_set_fact(r, "seconds", oat_seconds() - begin));
  TRY(results_write(r, o->out));
done:
  return status;
}

static oatgp_status carry_out(options *o, results *r) {
  oatgp_status status = OATGP_OK;
  if (mkdir(o->out, 0777) != 0 && errno != EEXIST) {
    return oat_fail(r->ctx, OATGP_WRITE, "cannot make the folder '%s': %s", o->out, strerror(errno));
  }
  if (o->report) {
    TRY(results_read(r, o->out));
    o->quick = results_fact(r, "quick") > 0;
  } else {
    TRY(run_all(o, r));
  }
  TRY(write_report(o, r));
  TRY(results_write(r, o->out)); /* with the facts of figures 1 and 2 */
done:
  return status;
}

int main(int count, char **word) {
  options o = {.commit = "unknown", .machine = "unknown machine", .workers = 1};
  if (!parse(count, word, &o)) {
    return usage();
  }
  oatgp_set_cores(1); /* for each worker */
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL) {
    return 1;
  }
  results r = {.ctx = ctx};
  const oatgp_status status = o.splits ? print_splits(&o, ctx) : carry_out(&o, &r);
  if (status != OATGP_OK) {
    fprintf(stderr, "script/paper: %s\n", oatgp_last_error(ctx));
  }
  results_free(&r);
  oatgp_context_free(ctx);
  return status == OATGP_OK ? 0 : 1;
}
