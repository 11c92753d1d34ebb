/* One text, written at the same time as Markdown (tables.md) and as a self-contained page (index.html). Texts may
 * contain `code`; all other characters are plain. */
#ifndef EXPERIMENTS_DOCUMENT_H
#define EXPERIMENTS_DOCUMENT_H

#include "plot/plot.h"

typedef struct document {
  oatgp_context *ctx;
  const char *folder;
  oat_string markdown, html;
  size_t columns, column; /* of the table that is open */
  const char *const *heads;
} document;

void document_open(document *d, oatgp_context *ctx, const char *folder, const char *title);
void document_heading(document *d, const char *text);
void document_text(document *d, const char *format, ...) OAT_PRINTF(2, 3);

/* A table: its heads, its cells row after row, its end. With `prose`, rows become blocks on a narrow screen. */
void document_table(document *d, size_t columns, const char *const *heads, bool prose);
void document_cell(document *d, const char *format, ...) OAT_PRINTF(2, 3);
void document_number(document *d, int digits, double value); /* a dash for NaN */
void document_table_end(document *d);

/* Writes NAME.svg and shows it. */
oatgp_status document_figure(document *d, oat_figure *figure, const char *name, const char *caption);
/* Writes both files. */
oatgp_status document_write(document *d);
void document_free(document *d);

#endif
