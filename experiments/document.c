/* See document.h. */
#include "document.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/file.h"

enum { TEXT_LENGTH = 4096 };

static const char style[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<style>\n"
    ":root{color-scheme:light "
    "dark;--ink:#1b1b1b;--paper:#fff;--line:#d5d5d5;--shade:#f5f5f5;--good:#00694c;--bad:#a83f00}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#15171b;--line:#3a3f47;--shade:#1d2026;--good:#22c493;--"
    "bad:#ff8f59}}\n"
    "body{margin:0 auto;padding:1rem;max-width:72rem;font:1rem/1.5 "
    "system-ui,Helvetica,Arial,sans-serif;color:var(--ink);"
    "background:var(--paper)}\n"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}\n"
    "p,figcaption{max-width:46rem}code{font-size:.92em}figure{margin:1.5rem 0}figure "
    "svg{display:block;width:100%;height:auto;max-width:52rem}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .55rem;border-bottom:1px solid "
    "var(--line);text-align:left;vertical-align:top}th{background:var(--shade)}\n"
    ".numbers td{white-space:nowrap}.yes{color:var(--good);font-weight:600}.no{color:var(--bad);font-weight:600}\n"
    "@media (max-width:52rem){.prose thead{display:none}.prose tr,.prose td{display:block}.prose "
    "td{border:0;padding:.1rem 0}"
    ".prose tr{border-bottom:1px solid var(--line);padding:.8rem 0}.prose td::before{content:attr(data-head) \": "
    "\";font-weight:600}}\n"
    "</style>\n";

/* Text with `code` as an element. */
static void add_html(oat_string *html, const char *text) {
  char piece[TEXT_LENGTH];
  for (bool code = false; *text != '\0'; code = !code) {
    const size_t length = strcspn(text, "`");
    snprintf(piece, sizeof piece, "%.*s", (int)length, text);
    oat_string_add(html, code ? "<code>" : "");
    oat_svg_text(html, piece);
    oat_string_add(html, code ? "</code>" : "");
    text += length + (text[length] == '`');
  }
}

/* A bar would end the cell. */
static void add_markdown_cell(oat_string *markdown, const char *text) {
  for (; *text != '\0'; text++) {
    oat_string_add(markdown, (char[]){*text, '\0'});
    if (text[1] == '|') {
      oat_string_add(markdown, "\\");
    }
  }
}

void document_open(document *d, oatgp_context *ctx, const char *folder, const char *title) {
  *d = (document){.ctx = ctx, .folder = folder, .markdown = {.ctx = ctx}, .html = {.ctx = ctx}};
  oat_string_add(&d->markdown, "# ");
  oat_string_add(&d->markdown, title);
  oat_string_add(&d->markdown, "\n");
  oat_string_add(&d->html, style);
  oat_string_add(&d->html, "<title>");
  oat_svg_text(&d->html, title);
  oat_string_add(&d->html, "</title>\n</head>\n<body>\n<h1>");
  oat_svg_text(&d->html, title);
  oat_string_add(&d->html, "</h1>\n");
}

void document_heading(document *d, const char *text) {
  oat_string_add(&d->markdown, "\n## ");
  oat_string_add(&d->markdown, text);
  oat_string_add(&d->markdown, "\n");
  oat_string_add(&d->html, "<h2>");
  add_html(&d->html, text);
  oat_string_add(&d->html, "</h2>\n");
}

void document_text(document *d, const char *format, ...) {
  char text[TEXT_LENGTH];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  oat_string_add(&d->markdown, "\n");
  oat_string_add(&d->markdown, text);
  oat_string_add(&d->markdown, "\n");
  oat_string_add(&d->html, "<p>");
  add_html(&d->html, text);
  oat_string_add(&d->html, "</p>\n");
}

void document_table(document *d, size_t columns, const char *const *heads, bool prose) {
  d->columns = columns;
  d->column = 0;
  d->heads = heads;
  oat_string_add(&d->markdown, "\n|");
  oat_string_add(&d->html, "<div class=\"wide\"><table class=\"");
  oat_string_add(&d->html, prose ? "prose\">\n<thead><tr>" : "numbers\">\n<thead><tr>");
  for (size_t i = 0; i < columns; i++) {
    oat_string_print(&d->markdown, " %s |", heads[i]);
    oat_string_add(&d->html, "<th>");
    add_html(&d->html, heads[i]);
    oat_string_add(&d->html, "</th>");
  }
  oat_string_add(&d->markdown, "\n|");
  for (size_t i = 0; i < columns; i++) {
    oat_string_add(&d->markdown, "---|");
  }
  oat_string_add(&d->markdown, "\n");
  oat_string_add(&d->html, "</tr></thead>\n<tbody>\n");
}

/* Verdicts and answers stand out. */
static const char *class_of(const char *text) {
  if (strncmp(text, "YES", 3) == 0 || strncmp(text, "holds", 5) == 0) {
    return " class=\"yes\"";
  }
  return strncmp(text, "NO", 2) == 0 || strncmp(text, "does not hold", 13) == 0 ? " class=\"no\"" : "";
}

void document_cell(document *d, const char *format, ...) {
  char text[TEXT_LENGTH];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  oat_string_add(&d->markdown, d->column == 0 ? "| " : " ");
  add_markdown_cell(&d->markdown, text);
  oat_string_add(&d->markdown, " |");
  oat_string_add(&d->html, d->column == 0 ? "<tr>" : "");
  oat_string_print(&d->html, "<td%s data-head=\"", class_of(text));
  oat_svg_text(&d->html, d->heads[d->column]);
  oat_string_add(&d->html, "\">");
  add_html(&d->html, text);
  oat_string_add(&d->html, "</td>");
  if (++d->column == d->columns) {
    d->column = 0;
    oat_string_add(&d->markdown, "\n");
    oat_string_add(&d->html, "</tr>\n");
  }
}

void document_number(document *d, int digits, double value) {
  if (isnan(value)) {
    document_cell(d, "–");
  } else {
    document_cell(d, "%.*f", digits, value);
  }
}

void document_table_end(document *d) { oat_string_add(&d->html, "</tbody>\n</table></div>\n"); }

oatgp_status document_figure(document *d, oat_figure *figure, const char *name, const char *caption) {
  char path[TEXT_LENGTH];
  snprintf(path, sizeof path, "%s/%s.svg", d->folder, name);
  oat_string_print(&d->markdown, "\n![%s](%s.svg)\n\n%s\n", name, name, caption);
  oat_string_add(&d->html, "<figure>\n");
  oatgp_status status = oat_figure_write(figure, path);
  if (status == OATGP_OK) {
    status = oat_figure_svg(figure, name, &d->html);
  }
  oat_string_add(&d->html, "<figcaption>");
  add_html(&d->html, caption);
  oat_string_add(&d->html, "</figcaption>\n</figure>\n");
  return status;
}

static oatgp_status write_file(const document *d, const oat_string *text, const char *name) {
  char path[TEXT_LENGTH];
  oat_file file = {0};
  snprintf(path, sizeof path, "%s/%s", d->folder, name);
  oatgp_status status = text->status;
  if (status == OATGP_OK) {
    status = oat_file_open(d->ctx, path, &file);
  }
  if (status != OATGP_OK) {
    return status;
  }
  fputs(text->text, file.stream);
  return oat_file_close(d->ctx, &file, OATGP_OK);
}

oatgp_status document_write(document *d) {
  oat_string_add(&d->html, "</body>\n</html>\n");
  const oatgp_status status = write_file(d, &d->markdown, "tables.md");
  return status == OATGP_OK ? write_file(d, &d->html, "index.html") : status;
}

void document_free(document *d) {
  oat_string_free(&d->markdown);
  oat_string_free(&d->html);
}
