/* The page while it is written, for what says things of answers that are not Gaussian (page_answers.c). */
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
/* The row of a share of rows inside their intervals, with what is to be said of it. */
void oat_page_coverages(oat_page *page, const char *(*judge)(size_t n, double share, double p));
/* Whether so many rows inside their interval are fewer than chance would do; and the same in words, also of too many. */
bool oat_page_too_few(size_t n, double share, double p);
const char *oat_page_judge(size_t n, double share, double p);

/* Of answers that are not Gaussian: the sentence of the head, the rows of scores, the rows of what the likelihood is. */
void oat_page_answers_summary(oat_page *page);
void oat_page_answers_scores(oat_page *page);
void oat_page_answers_likelihood(oat_page *page);

#endif
