/* The page while it is written, for the text about targets that are not Gaussian (page_answers.c). */
#ifndef OAT_PAGE_WRITER_H
#define OAT_PAGE_WRITER_H

#include "report/chart.h"

typedef struct oat_page {
  const oat_facts *f;
  oat_string html;
  oat_string target; /* its name, as HTML */
  const char *from;
  size_t figures;
} oat_page;

/* A row of the table of scores up to its sentence, which the caller ends. */
void oat_page_score(oat_page *page, const char *name, double value, const char *sentence);
/* The row of the share of rows inside their intervals, with a verdict. */
void oat_page_coverages(oat_page *page, const char *(*judge)(size_t n, double share, double p));
/* Whether the number of rows inside their interval is lower than chance would give; and a verdict in words, also for
 * too many. */
bool oat_page_too_few(size_t n, double share, double p);
const char *oat_page_judge(size_t n, double share, double p);

/* For a non-Gaussian target: the sentence at the top, the rows of scores, and the rows about the likelihood. */
void oat_page_answers_summary(oat_page *page);
void oat_page_answers_scores(oat_page *page);
void oat_page_answers_likelihood(oat_page *page);

#endif
