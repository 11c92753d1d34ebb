/* A monitor of fits for the tests: it counts events, checks the order of proposals and their results, and stops a fit
 * at a given event. */
#ifndef TEST_WATCH_H
#define TEST_WATCH_H

#include "fits.h"

typedef struct watch {
  size_t stop_after; /* asks to stop from that call on; 0: never */
  bool stops_at_kind;
  oatgp_event_kind stop_at; /* where stops_at_kind: asks to stop at every event of this kind */

  size_t calls, seen[OATGP_EVENT_END + 1]; /* all events; of each kind */
  size_t max_knots;                        /* of the latest event */
  size_t smallest;                         /* fewest rows of a subset; 0: there was none */
  size_t knots_kept;                       /* all that proposals added */
  double last_kept;                        /* objective with them */
  bool pending;                            /* a proposal waits to be kept or dropped */
  bool disorder, fell;                     /* a proposal came or ended out of order; one was kept without a gain */
} watch;

static inline void observe_proposal(watch *w, const oatgp_event *event) {
  const bool proposal = event->kind == OATGP_EVENT_PROPOSAL, kept = event->kind == OATGP_EVENT_KEPT;
  if (proposal || kept || event->kind == OATGP_EVENT_DROPPED) {
    w->disorder = w->disorder || w->pending == proposal;
    w->pending = proposal;
  }
  if (kept) {
    w->fell = w->fell || !(event->gain > 0) || (w->knots_kept > 0 && !(event->objective > w->last_kept));
    w->last_kept = event->objective;
    w->knots_kept += event->added;
  }
}

static inline int observe(void *user, const oatgp_event *event) {
  watch *w = user;
  w->calls++;
  w->max_knots = event->max_knots;
  w->seen[event->kind]++;
  if (event->kind == OATGP_EVENT_SUBSET) {
    w->smallest = w->smallest == 0 || event->rows < w->smallest ? event->rows : w->smallest;
  }
  observe_proposal(w, event);
  return (w->stops_at_kind && event->kind == w->stop_at) || (w->stop_after > 0 && w->calls >= w->stop_after);
}

/* A fit with the settings of the scratch, watched from the first event on. Its predictions make sense. */
static inline oatgp_model *fit_watched(scratch *s, const oatgp_data *data, watch *w) {
  oatgp_model *model = NULL;
  *w = (watch){.stop_after = w->stop_after, .stops_at_kind = w->stops_at_kind, .stop_at = w->stop_at};
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, observe, w, &model));
  double *all = must_predict(s, model, data);
  expect_sane_predictions(all, oatgp_data_rows(data));
  free(all);
  return model;
}

#endif
