/* Config files of the command; the first byte says for which verb. */
#include "cli.h"
#include "fuzz.h"

/* The verbs that have --config; the command's own list is in main.c. */
const cli_verb *const cli_verbs[] = {&cli_fit, &cli_objective, &cli_cv, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) {
    return 0;
  }
  cli c = {.verb = cli_verbs[*data % 3], .ctx = oatgp_context_create()};
  oatgp_settings_default(&c.settings);
  const oatgp_status status = cli_read_config(&c, fuzz_file(data + 1, size - 1));
  if (status == OATGP_OK) {
    fuzz_check(c.ctx, oatgp_settings_check(c.ctx, &c.settings));
  } else if (!c.reported && *oatgp_last_error(c.ctx) == '\0') {
    abort();
  }
  free(c.config_text);
  oatgp_context_free(c.ctx);
  return 0;
}
