/* Reads a kernel expression:
 *   sum     = product { '+' product }
 *   product = power { '*' power }
 *   power   = atom [ '^' 1..9 ]
 *   atom    = '(' sum ')' | leaf [ '(' [ name { ',' name } ] ')' ]     polynomial: the degree is its last argument
 *   name    = characters other than blanks and ( ) , + * ^ ", or any in quotes, where "" stands for "
 * While they are read, sums and products are lists, so that redundant parentheses disappear from the tree. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/expression.h"
#include "text/shown.h"
#include "util/utf8.h"

enum { OATGP_ANY = 1 << 30, NONE = OAT_MOST_NODES };

static const size_t most_inputs[] = {
#define OATGP_LEAF(name, most, formula) [OAT_LEAF_##name] = most,
#include "oatgp_leaves.def"
};

#define LEAF_NAMES "se, matern12, matern32, matern52, rq, periodic, linear, polynomial, constant, cosine, categorical"

/* A node while the text is read: its children are a linked list. */
typedef struct branch {
  oat_node_kind kind;
  unsigned power;
  size_t leaf, first, last, next; /* next: the sibling, or NONE */
} branch;

typedef struct reader {
  oatgp_context *ctx;
  const char *text, *at;
  const oat_names *inputs;
  oat_expression *e;
  size_t depth, branches;
  branch branch[OAT_MOST_NODES];
} reader;

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* Columns that a character takes on a terminal. */
static size_t columns_of(uint32_t c) {
  static const struct {
    uint32_t first, last;
    size_t columns;
  } ranges[] = {{0x300, 0x36F, 0},     {0x200B, 0x200F, 0},   {0x20D0, 0x20FF, 0},  {0xFE00, 0xFE0F, 0},
                {0xFE20, 0xFE2F, 0},   {0x1100, 0x115F, 2},   {0x2E80, 0xA4CF, 2},  {0xAC00, 0xD7A3, 2},
                {0xF900, 0xFAFF, 2},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},  {0xFFE0, 0xFFE6, 2},
                {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (c >= ranges[i].first && c <= ranges[i].last) {
      return ranges[i].columns;
    }
  }
  return 1;
}

/* Columns between two places of the text. */
static size_t columns_between(const char *from, const char *to) {
  size_t columns = 0;
  for (const unsigned char *c = (const unsigned char *)from; (const char *)c < to;) {
    columns += columns_of(oat_next_character(&c));
  }
  return columns;
}

/* The text around a place as one line, and the column of the place in it. */
typedef struct excerpt {
  char line[420];
  size_t column;
} excerpt;

static excerpt excerpt_at(const char *text, const char *place) {
  enum { BEFORE = 60, AFTER = 40, ROOM = 400 };
  excerpt out = {.column = columns_between(text, place)};
  const unsigned char *c = (const unsigned char *)text, *begin;
  size_t length = 0, left = out.column;
  while (left > BEFORE) {
    left -= columns_of(oat_next_character(&c));
  }
  if ((const char *)c > text) {
    length = (size_t)snprintf(out.line, sizeof out.line, "...");
    out.column = left + length;
  }
  const size_t most = left + AFTER;
  for (size_t columns = 0; *c != '\0'; length += (size_t)(c - begin)) {
    begin = c;
    columns += columns_of(oat_next_character(&c));
    if (columns > most || length + (size_t)(c - begin) > ROOM) {
      snprintf(out.line + length, sizeof out.line - length, "...");
      break;
    }
    memcpy(out.line + length, begin, (size_t)(c - begin));
    if (*begin < 0x20 || *begin == 0x7F) {
      out.line[length] = ' ';
    }
  }
  return out;
}

/* The sentence, and below it the text with a caret under the place. */
static oatgp_status fail_at(const reader *r, const char *place, const char *format, ...) OAT_PRINTF(3, 4);

static oatgp_status fail_at(const reader *r, const char *place, const char *format, ...) {
  char sentence[480];
  const excerpt shown = excerpt_at(r->text, place);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return oat_fail(r->ctx, OATGP_ARGUMENT, "kernel: %s\n  %s\n  %*s^", sentence, shown.line, (int)shown.column, "");
}

#define REFUSE_AT(wrong, r, ...)      \
  do {                                \
    if (wrong) {                      \
      return fail_at(r, __VA_ARGS__); \
    }                                 \
  } while (0)

/* ---- characters and words -------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_blanks(reader *r) {
  while (is_blank(*r->at)) {
    r->at++;
  }
}

/* Skips blanks, and c if it is next. */
static bool accept(reader *r, char c) {
  skip_blanks(r);
  const bool is = *r->at == c;
  r->at += is;
  return is;
}

static size_t word_length(const reader *r) {
  size_t length = 0;
  while (r->at[length] != '\0' && !is_blank(r->at[length]) && strchr("(),+*^\"", r->at[length]) == NULL) {
    length++;
  }
  return length;
}

/* The whole number from 1 to OAT_MOST_POWER that is the next word, or 0. */
static unsigned next_digit(const reader *r) {
  return word_length(r) == 1 && *r->at >= '1' && *r->at <= '0' + OAT_MOST_POWER ? (unsigned)(*r->at - '0') : 0;
}

static bool next_is_number(const reader *r) {
  const size_t length = word_length(r);
  return length > 0 && strspn(r->at, "0123456789") == length;
}

/* ---- branches -------------------------------------------------------------------------------------------------- */

/* There is always room: every leaf, and every pair of parentheses with a leaf in it, has at most one operator before it
 * and one power behind it. */
static size_t new_branch(reader *r, oat_node_kind kind, size_t child) {
  const size_t at = r->branches++;
  r->branch[at] = (branch){.kind = kind, .first = child, .last = child, .next = NONE};
  return at;
}

/* a + b or a * b, where either may be a list of that kind. */
static size_t join(reader *r, oat_node_kind kind, size_t a, size_t b) {
  const size_t list = r->branch[a].kind == kind ? a : new_branch(r, kind, a);
  const bool spliced = r->branch[b].kind == kind;
  r->branch[r->branch[list].last].next = spliced ? r->branch[b].first : b;
  r->branch[list].last = spliced ? r->branch[b].last : b;
  return list;
}

/* ---- grammar --------------------------------------------------------------------------------------------------- */

static oatgp_status read_sum(reader *r, size_t *out);

static oatgp_status find_kind(reader *r, oat_leaf_kind *kind) {
  const size_t length = word_length(r);
  const oat_shown shown = oat_show(r->at, length);
  REFUSE_AT(length == 0, r, r->at, "expected a leaf (" LEAF_NAMES ") or '('");
  for (size_t i = 0; i < OAT_LEAVES; i++) {
    const char *name = oat_leaf_name((oat_leaf_kind)i);
    const bool is = strncmp(name, r->at, strlen(name)) == 0;
    REFUSE_AT(is && length == strlen(name) + 4 && strncmp(r->at + strlen(name), "-ard", 4) == 0, r, r->at,
              "'%s' is a whole kernel; inside an expression write %s()", shown.text, name);
    if (is && strlen(name) == length) {
      *kind = (oat_leaf_kind)i;
      r->at += length;
      return OATGP_OK;
    }
  }
  return fail_at(r, r->at, "there is no leaf '%s'; expected " LEAF_NAMES, shown.text);
}

/* Without its quotes, in *out, which the caller frees. */
static oatgp_status read_quoted(reader *r, char **out) {
  const char *begin = r->at++;
  size_t length = 0;
  PASS_ON(oat_new(r->ctx, strlen(begin), 1, out));
  for (; *r->at != '"' || r->at[1] == '"'; r->at++) {
    REFUSE_AT(*r->at == '\0', r, begin, "expected a '\"' at the end of the name that begins here");
    r->at += *r->at == '"';
    (*out)[length++] = *r->at;
  }
  r->at++;
  (*out)[length] = '\0';
  return OATGP_OK;
}

static oatgp_status read_word(reader *r, char **out) {
  const size_t length = word_length(r);
  REFUSE_AT(length == 0, r, r->at, "expected the name of an input");
  PASS_ON(oat_new(r->ctx, length + 1, 1, out));
  memcpy(*out, r->at, length);
  r->at += length;
  return OATGP_OK;
}

static oatgp_status no_such_input(const reader *r, const char *place, const char *name) {
  oat_list list = {0};
  for (size_t i = 0; i < r->inputs->count; i++) {
    oat_list_add(&list, r->inputs->name[i]);
  }
  const oat_shown shown = oat_show_text(name);
  return fail_at(r, place, "there is no input '%s'; expected %s%s", shown.text, r->inputs->count > 1 ? "one of " : "",
                 oat_list_end(&list));
}

/* Whether the leaf can use an input: categorical uses categories, the others numbers. */
static bool suits(const reader *r, const oat_leaf *leaf, size_t input) {
  const bool *category = r->inputs->category;
  return category == NULL || category[input] == (leaf->kind == OAT_LEAF_categorical);
}

static oatgp_status add_input(reader *r, oat_leaf *leaf, const char *place, const char *name) {
  size_t input = 0;
  while (input < r->inputs->count && strcmp(r->inputs->name[input], name) != 0) {
    input++;
  }
  if (input == r->inputs->count) {
    return no_such_input(r, place, name);
  }
  const oat_shown shown = oat_show_text(name);
  for (size_t i = 0; i < leaf->inputs; i++) {
    REFUSE_AT(leaf->input[i] == input, r, place, "the input '%s' appears twice", shown.text);
  }
  REFUSE_AT(leaf->inputs == most_inputs[leaf->kind], r, place, "%s has %s; expected ')'", oat_leaf_name(leaf->kind),
            most_inputs[leaf->kind] == 0 ? "no inputs" : "one input");
  REFUSE_AT(!suits(r, leaf, input) && leaf->kind == OAT_LEAF_categorical, r, place,
            "the input '%s' holds numbers; expected a category (--factors makes it one)", shown.text);
  REFUSE_AT(!suits(r, leaf, input), r, place,
            "the input '%s' is a category; expected an input that holds numbers, or categorical", shown.text);
  leaf->input[leaf->inputs++] = input;
  return OATGP_OK;
}

static oatgp_status read_input(reader *r, oat_leaf *leaf) {
  char *name = NULL;
  const char *place = r->at;
  oatgp_status status;
  TRY(*r->at == '"' ? read_quoted(r, &name) : read_word(r, &name));
  TRY(add_input(r, leaf, place, name));
done:
  free(name);
  return status;
}

/* polynomial's last argument. */
static oatgp_status read_degree(reader *r, oat_leaf *leaf) {
  leaf->degree = next_digit(r);
  REFUSE_AT(leaf->degree == 0, r, r->at, "expected a degree from 1 to %d", OAT_MOST_POWER);
  r->at++;
  REFUSE_AT(!accept(r, ')'), r, r->at, "expected ')' after the degree");
  return OATGP_OK;
}

/* After the parenthesis, to the one that ends it. */
static oatgp_status read_arguments(reader *r, oat_leaf *leaf) {
  if (leaf->kind != OAT_LEAF_polynomial && accept(r, ')')) {
    return OATGP_OK;
  }
  for (;;) {
    skip_blanks(r);
    if (leaf->kind == OAT_LEAF_polynomial && next_is_number(r)) {
      return read_degree(r, leaf);
    }
    PASS_ON(read_input(r, leaf));
    const bool more = accept(r, ',');
    REFUSE_AT(!more && leaf->kind == OAT_LEAF_polynomial, r, r->at,
              "expected ',' and a degree, as in polynomial(x, 3)");
    if (!more) {
      REFUSE_AT(!accept(r, ')'), r, r->at, "expected ',' or ')' after the name of an input");
      return OATGP_OK;
    }
  }
}

/* A leaf without named inputs uses all inputs that it can use. */
static oatgp_status take_all_inputs(reader *r, oat_leaf *leaf, const char *place) {
  leaf->all = true;
  for (size_t input = 0; input < r->inputs->count; input++) {
    leaf->input[leaf->inputs] = input;
    leaf->inputs += suits(r, leaf, input);
  }
  REFUSE_AT(leaf->inputs == 0, r, place, "there is no input for %s: %s", oat_leaf_name(leaf->kind),
            leaf->kind == OAT_LEAF_categorical ? "none is a category" : "all are categories");
  REFUSE_AT(leaf->inputs > most_inputs[leaf->kind], r, place, "%s has one input; expected its name in parentheses",
            oat_leaf_name(leaf->kind));
  return OATGP_OK;
}

static oatgp_status read_leaf(reader *r, size_t *out) {
  oat_leaf_kind kind = OAT_LEAF_se;
  const char *place = r->at;
  PASS_ON(find_kind(r, &kind));
  REFUSE_AT(r->e->leaves == OAT_MOST_LEAVES, r, place, "too many leaves; expected at most %d", OAT_MOST_LEAVES);
  oat_leaf *leaf = &r->e->leaf[r->e->leaves];
  *leaf = (oat_leaf){.kind = kind, .input = oat_take(&r->e->memory, r->inputs->count, sizeof *leaf->input)};
  PASS_ON(r->e->memory.status);
  if (accept(r, '(')) {
    PASS_ON(read_arguments(r, leaf));
  } else {
    REFUSE_AT(kind == OAT_LEAF_polynomial, r, r->at, "expected '(' and a degree, as in polynomial(x, 3)");
  }
  if (leaf->inputs == 0 && kind != OAT_LEAF_constant) {
    PASS_ON(take_all_inputs(r, leaf, place));
  }
  *out = new_branch(r, OAT_NODE_LEAF, NONE);
  r->branch[*out].leaf = r->e->leaves++;
  return OATGP_OK;
}

static oatgp_status read_atom(reader *r, size_t *out) {
  const char *place;
  skip_blanks(r);
  place = r->at;
  if (*place != '(') {
    return read_leaf(r, out);
  }
  REFUSE_AT(r->depth == OAT_MOST_DEPTH, r, place, "expected at most %d nested parentheses", OAT_MOST_DEPTH);
  r->at++;
  r->depth++;
  PASS_ON(read_sum(r, out));
  REFUSE_AT(!accept(r, ')'), r, r->at, "expected '+', '*', '^' or the ')' of the parenthesis at column %zu",
            columns_between(r->text, place) + 1);
  r->depth--;
  return OATGP_OK;
}

static oatgp_status read_power(reader *r, size_t *out) {
  PASS_ON(read_atom(r, out));
  if (!accept(r, '^')) {
    return OATGP_OK;
  }
  skip_blanks(r);
  const unsigned exponent = next_digit(r);
  REFUSE_AT(exponent == 0, r, r->at, "expected a whole number from 1 to %d", OAT_MOST_POWER);
  branch *base = &r->branch[*out];
  if (base->kind == OAT_NODE_POWER) {
    REFUSE_AT(base->power * exponent > OAT_MOST_POWER, r, r->at, "expected powers up to %d in all; this is %u",
              OAT_MOST_POWER, base->power * exponent);
    base->power *= exponent;
  } else if (exponent > 1) {
    *out = new_branch(r, OAT_NODE_POWER, *out);
    r->branch[*out].power = exponent;
  }
  r->at++;
  skip_blanks(r);
  REFUSE_AT(*r->at == '^', r, r->at, "expected parentheses around the inner power, as in (linear(x)^2)^2");
  return OATGP_OK;
}

static oatgp_status read_product(reader *r, size_t *out) {
  PASS_ON(read_power(r, out));
  while (accept(r, '*')) {
    size_t right = NONE;
    PASS_ON(read_power(r, &right));
    *out = join(r, OAT_NODE_PRODUCT, *out, right);
  }
  return OATGP_OK;
}

static oatgp_status read_sum(reader *r, size_t *out) {
  PASS_ON(read_product(r, out));
  while (accept(r, '+')) {
    size_t right = NONE;
    PASS_ON(read_product(r, &right));
    *out = join(r, OAT_NODE_SUM, *out, right);
  }
  return OATGP_OK;
}

static oatgp_status read_whole(reader *r, size_t *out) {
  PASS_ON(read_sum(r, out));
  skip_blanks(r);
  REFUSE_AT(*r->at != '\0', r, r->at, "expected '+', '*', '^' or the end");
  return OATGP_OK;
}

/* ---- the tree -------------------------------------------------------------------------------------------------- */

static size_t put(oat_expression *e, oat_node node) {
  e->node[e->nodes] = node;
  return e->nodes++;
}

/* Writes the branch in post-order, lists as chains to the left; returns its node. */
static size_t put_branch(reader *r, size_t at) {
  const branch *b = &r->branch[at];
  if (b->kind == OAT_NODE_LEAF) {
    return put(r->e, (oat_node){.kind = OAT_NODE_LEAF, .leaf = b->leaf});
  }
  size_t left = put_branch(r, b->first);
  if (b->kind == OAT_NODE_POWER) {
    return put(r->e, (oat_node){.kind = OAT_NODE_POWER, .left = left, .power = b->power});
  }
  for (size_t child = r->branch[b->first].next; child != NONE; child = r->branch[child].next) {
    const size_t right = put_branch(r, child);
    left = put(r->e, (oat_node){.kind = b->kind, .left = left, .right = right});
  }
  return left;
}

static oatgp_status read_into(oatgp_context *ctx, const char *text, const oat_names *inputs, oat_expression *e) {
  reader r = {.ctx = ctx, .text = text, .at = text, .inputs = inputs, .e = e};
  size_t root = NONE;
  e->memory.ctx = ctx;
  e->leaf = oat_take(&e->memory, OAT_MOST_LEAVES, sizeof *e->leaf);
  e->node = oat_take(&e->memory, OAT_MOST_NODES, sizeof *e->node);
  PASS_ON(e->memory.status);
  PASS_ON(read_whole(&r, &root));
  put_branch(&r, root);
  return oat_expression_name(e, inputs);
}

oatgp_status oat_expression_read(oatgp_context *ctx, const char *text, const oat_names *inputs, oat_expression **out) {
  oat_expression *e = NULL;
  char *utf8 = NULL;
  oatgp_status status;
  *out = NULL;
  TRY(oat_copy_text_utf8(ctx, text, &utf8));
  TRY(oat_new(ctx, 1, sizeof *e, &e));
  TRY(read_into(ctx, utf8, inputs, e));
  *out = e;
  e = NULL;
done:
  oat_expression_free(e);
  free(utf8);
  return status;
}
