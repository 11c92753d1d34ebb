/* Option names in the syntax of the front end; see front.h. */
#include "util/front.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* How a front end writes an option: the text between name and value, the quotation mark around a text, and the word for
 * "no". */
typedef struct dialect {
  const char *equals, *quote, *no;
} dialect;

static const dialect dialects[] = {
    [OATGP_FRONT_COMMAND] = {" ", "", NULL},
    [OATGP_FRONT_PYTHON] = {"=", "\"", "False"},
    [OATGP_FRONT_R] = {" = ", "\"", "FALSE"},
};

/* Options that are not a keyword in a front end, and what a user writes there instead; NULL if they are a keyword. */
typedef struct saying {
  const char *option, *python, *r;
} saying;

static const saying sayings[] = {
    {"refit", "Model.refit()", "update(refit = TRUE)"},
    {"target", "target=", "the formula"},
    {"inputs", "inputs=", "the formula or the columns of x"},
    {"factors", "factors=", "factor()"},
    {"trials", "trials=", NULL},
    {"exposure", NULL, "offset"},
    {"missing", NULL, "na.omit()"},
};

typedef struct option {
  size_t length;    /* of the whole option */
  int no;           /* --no-name */
  const char *name; /* after the dashes, or after "no-" */
  size_t name_length;
  const char *value; /* or NULL */
  size_t value_length;
} option;

static size_t letters(const char *text, const char *beside) {
  size_t n = 0;
  while (text[n] != '\0' && (isalnum((unsigned char)text[n]) || strchr(beside, text[n]) != NULL)) {
    n++;
  }
  while (n > 0 && strchr(".:-", text[n - 1]) != NULL) { /* the full stop of the sentence */
    n--;
  }
  return n;
}

static int is_option(const char *sentence, const char *at) {
  return strncmp(at, "--", 2) == 0 && islower((unsigned char)at[2]) && (at == sentence || strchr(" (", at[-1]) != NULL);
}

static option read_option(const char *at) {
  option o = {.no = strncmp(at, "--no-", 5) == 0};
  o.name = at + (o.no ? 5 : 2);
  o.name_length = letters(o.name, "-");
  o.length = (size_t)(o.name - at) + o.name_length;
  if (at[o.length] == '=') {
    o.value = at + o.length + 1;
    o.value_length = letters(o.value, "-.:*_");
    o.length += 1 + o.value_length;
  }
  return o;
}

/* The replacement of the option in this front end, or NULL. */
static const char *said_instead(oatgp_front front, const option *o) {
  for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
    const saying *s = &sayings[i];
    if (strlen(s->option) == o->name_length && strncmp(s->option, o->name, o->name_length) == 0) {
      return front == OATGP_FRONT_PYTHON ? s->python : front == OATGP_FRONT_R ? s->r : NULL;
    }
  }
  return NULL;
}

static size_t written(oatgp_front front, const option *o, char *out, size_t room) {
  const dialect *d = &dialects[front];
  const char *instead = said_instead(front, o);
  if (instead != NULL) {
    return (size_t)snprintf(out, room, "%s", instead);
  }
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)o->name_length, o->name);
  if (d->no == NULL) {
    return (size_t)snprintf(out, room, "--%s%s%s%.*s", o->no ? "no-" : "", name, o->value != NULL ? d->equals : "",
                            (int)o->value_length, o->value != NULL ? o->value : "");
  }
  for (char *c = name; *c != '\0'; c++) {
    *c = *c == '-' ? '_' : *c;
  }
  if (o->no) {
    return (size_t)snprintf(out, room, "%s%s%s", name, d->equals, d->no);
  }
  if (o->value == NULL) {
    return (size_t)snprintf(out, room, "%s", name);
  }
  const char *quote = islower((unsigned char)o->value[0]) ? d->quote : "";
  return (size_t)snprintf(out, room, "%s%s%s%.*s%s", name, d->equals, quote, (int)o->value_length, o->value, quote);
}

void oat_in_front(oatgp_front front, const char *sentence, char *out, size_t room) {
  size_t used = 0;
  for (const char *at = sentence; *at != '\0' && used + 1 < room;) {
    if (is_option(sentence, at)) {
      const option o = read_option(at);
      used += written(front, &o, out + used, room - used);
      at += o.length;
    } else {
      out[used++] = *at++;
    }
  }
  out[used < room ? used : room - 1] = '\0';
}
