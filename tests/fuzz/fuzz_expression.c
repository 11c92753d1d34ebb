/* Kernel expressions. What can be read is written back, and that is read as the same tree. The first byte says how many
 * inputs there are, and whether some are categories. */
#include "fuzz.h"
#include "kernel/expression.h"

static void check_again(oatgp_context *ctx, const oat_names *inputs, const oat_expression *first) {
  oat_expression *again = NULL;
  if (oat_expression_read(ctx, first->text, inputs, &again) != OATGP_OK || strcmp(again->text, first->text) != 0 ||
      again->nodes != first->nodes || again->parameters != first->parameters ||
      memcmp(again->node, first->node, first->nodes * sizeof *first->node) != 0) {
    fprintf(stderr, "%s does not come back\n", first->text);
    abort();
  }
  for (size_t i = 0; i < first->parameters; i++) {
    if (oat_expression_find(first, again->parameter[i].is.name) != i) {
      abort();
    }
  }
  oat_expression_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const columns[] = {"x", "mean temperature", "gr\303\266\303\237e", "3", "a\"b"};
  static const bool categories[] = {false, true, false, true, true};
  static oatgp_context *ctx = NULL;
  if (size == 0) {
    return 0;
  }
  if (ctx == NULL) {
    ctx = oatgp_context_create();
  }
  const oat_names inputs = {1 + (*data & 127) % (sizeof columns / sizeof *columns), columns,
                            *data & 128 ? categories : NULL};
  oat_expression *e = NULL;
  char *text = calloc(size, 1);
  memcpy(text, data + 1, size - 1);
  const oatgp_status status = oat_expression_read(ctx, text, &inputs, &e);
  fuzz_check(ctx, status);
  if (status == OATGP_OK) {
    check_again(ctx, &inputs, e);
  }
  oat_expression_free(e);
  free(text);
  return 0;
}
