/* The text of the page for targets that are not Gaussian: how well they are predicted, in terms of the target, and what
 * the likelihood is. */
#include <math.h>

#include "data/data.h"
#include "report/page.h"

enum { DIGITS = 3 };

static const oatgp_scores *scores_of(const oat_page *p) { return &p->f->scores; }

static void add(oat_page *p, const char *html) { oat_string_add(&p->html, html); }

static void add_class(oat_page *p, size_t class) {
  add(p, "class ");
  oat_svg_text(&p->html, p->f->classes[class]);
}

static void add_number(oat_page *p, double value) { add(p, oat_number(value, DIGITS).text); }

static void add_percent(oat_page *p, double share) {
  oat_string_print(&p->html, "%s&nbsp;%%", oat_number(100 * share, DIGITS).text);
}

static void end(oat_page *p) { add(p, "</td></tr>\n"); }

/* ---- two classes ----------------------------------------------------------------------------------------------- */

static double share_of_ones(const oat_facts *f) {
  double ones = 0;
  for (size_t i = 0; i < f->data->n; i++) {
    ones += f->data->y[i] == 1;
  }
  return ones / (double)f->data->n;
}

/* The entropy of a class with this share: the NLP if every row gets the share as its probability. */
static double entropy(double share) {
  return share > 0 && share < 1 ? -share * log(share) - (1 - share) * log1p(-share) : 0;
}

static void add_more_frequent(oat_page *p) {
  const double ones = share_of_ones(p->f);
  add(p, "always saying ");
  add_class(p, ones > 0.5);
  add(p, " would be right for ");
  add_percent(p, fmax(ones, 1 - ones));
}

static void summarise_classes(oat_page *p) {
  const oatgp_scores *const s = scores_of(p);
  add(p, "<p>For <b>");
  add_percent(p, s->accuracy);
  add(p, "</b> of the rows the more likely class is the observed one; ");
  add_more_frequent(p);
  if (isfinite(s->auc)) {
    add(p, ". A row of ");
    add_class(p, 1);
    add(p, " has a larger probability of it than one of ");
    add_class(p, 0);
    add(p, " in <b>");
    add_percent(p, s->auc);
    add(p, "</b> of all pairs");
  }
  add(p, ".</p>\n");
}

static void add_baseline(oat_page *p, double value) {
  add(p, " Smaller is better; with the share of ");
  add_class(p, 1);
  add(p, " as the probability of every row it would be ");
  add_number(p, value);
  add(p, ".");
  end(p);
}

static void score_classes(oat_page *p) {
  const oatgp_scores *const s = scores_of(p);
  const double ones = share_of_ones(p->f);
  oat_page_score(p, "log loss", s->log_loss, "Mean of &minus;log of the probability of the observed class.");
  add_baseline(p, entropy(ones));
  oat_page_score(p, "Brier score", s->brier, "Mean of (probability &minus; answer)&sup2;, where the answer is 0 or 1.");
  add_baseline(p, ones * (1 - ones));
  oat_page_score(p, "accuracy", s->accuracy, "Share of rows whose more likely class is the observed one; ");
  add_more_frequent(p);
  add(p, ".");
  end(p);
  oat_page_score(p, "AUC", s->auc,
                 isfinite(s->auc) ? "How often a random row of " : "All rows here have the same class.");
  if (isfinite(s->auc)) {
    add_class(p, 1);
    add(p, " has a larger probability of it than one of ");
    add_class(p, 0);
    add(p, ": 0.5 by chance, 1 if the classes are always told apart.");
  }
  end(p);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static void summarise_numbers(oat_page *p) {
  const oatgp_scores *const s = scores_of(p);
  add(p, "<p>");
  if (p->f->n_classes > 0) {
    oat_string_print(&p->html, "For <b>%s&nbsp;%%</b> of the rows the most likely level is the observed one. ",
                     oat_number(100 * s->accuracy, DIGITS).text);
  }
  const double sd = s->rmse / s->srmse; /* none for one row or a target that is the same in all */
  oat_string_print(&p->html, "The observed %s is typically <b>%s</b>%s away from its expected value", p->target.text,
                   oat_number(s->rmse, DIGITS).text, p->f->n_classes > 0 ? " levels" : "");
  if (isfinite(sd)) {
    oat_string_print(&p->html, ", where its standard deviation is %s", oat_number(sd, DIGITS).text);
  }
  oat_string_print(&p->html, "; <b>%s&nbsp;%%</b> of the rows lie inside their 95&nbsp;%% interval.</p>\n",
                   oat_number(100 * s->coverage95, DIGITS).text);
}

/* Intervals of whole numbers have at least their probability. */
static const char *judge_discrete(size_t n, double share, double p) {
  return oat_page_too_few(n, share, p) ? "too few, so the model is overconfident"
         : share < p                   ? "as it should be"
                                       : "fine, because intervals of whole numbers hold at least that share";
}

static void score_distance(oat_page *p) {
  const oatgp_scores *const s = scores_of(p);
  oat_page_score(p, "RMSE", s->rmse, "The typical distance (root mean square) of the observed ");
  oat_string_print(&p->html, "%s from the expected one, in its units.", p->target.text);
  end(p);
  oat_page_score(p, "SRMSE", s->srmse, "The same, divided by the standard deviation of ");
  oat_string_print(&p->html, "%s here. At 1 the model is no better than the mean.", p->target.text);
  end(p);
}

static void score_numbers(oat_page *p) {
  const oatgp_scores *const s = scores_of(p);
  oat_page_score(p, "mean NLP", s->mean_nlp,
                 oat_facts_discrete(p->f) ? "Mean of &minus;log of the probability of the observed value."
                                          : "Mean of &minus;log of the predictive density at the observed value.");
  add(p, " Smaller is better. Compare it between models of the same rows only.");
  end(p);
  oat_page_score(p, "MNLP", s->mnlp, "The median of the same, which a few odd rows do not affect.");
  end(p);
  oat_page_score(p, "deviance", s->deviance,
                 "Mean of twice the log ratio between the largest probability a row could have and the one it has. "
                 "Smaller is better.");
  end(p);
  score_distance(p);
  if (p->f->n_classes > 0) {
    oat_page_score(p, "accuracy", s->accuracy, "Share of rows whose most likely level is the observed one.");
    end(p);
  }
  oat_page_coverages(p, oat_facts_discrete(p->f) ? judge_discrete : oat_page_judge);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

void oat_page_answers_summary(oat_page *p) { (oat_facts_two_classes(p->f) ? summarise_classes : summarise_numbers)(p); }

void oat_page_answers_scores(oat_page *p) { (oat_facts_two_classes(p->f) ? score_classes : score_numbers)(p); }

/* The meaning of the likelihood's parameter. */
static const char *meaning_of(const oat_likelihood *likelihood, const char *unit) {
  switch (likelihood->id) {
    case OAT_NEGATIVE_BINOMIAL:
      return "the variance of a count is its mean + mean&sup2; / shape";
    case OAT_GAMMA:
      return "the variance is mean&sup2; / shape";
    case OAT_BETA:
      return "the variance is mean (1 &minus; mean) / (1 + shape)";
    case OAT_STUDENT_T:
      return *unit != '\0' ? "of the Student t distribution about f"
                           : "of freedom of the Student t distribution; fewer degrees mean more outliers";
    default:
      return "between two cuts of the scale that f is on";
  }
}

void oat_page_answers_likelihood(oat_page *p) {
  const oatgp_model_info *const info = &p->f->info;
  oat_string_print(&p->html, "<tr><th scope=\"row\">likelihood</th><td>%s <span>(f is ", info->likelihood);
  oat_svg_text(&p->html, p->f->link);
  add(p, ")</span></td></tr>\n");
  for (size_t i = 0; i < info->likelihood_count; i++) {
    const oatgp_parameter *const own = &info->likelihood_parameters[i];
    oat_string_print(&p->html, "<tr><th scope=\"row\">%s</th><td>%s <span>(%s)</span></td></tr>\n", own->name,
                     oat_number(own->value, 7).text, meaning_of(p->f->model->likelihood, own->unit));
  }
}
