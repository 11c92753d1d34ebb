/* What several verbs check and read before they work. */
#include <string.h>

#include "cli.h"

oatgp_status cli_need(cli *c, const char *value, const char *option) {
  return *value != '\0' ? OATGP_OK : cli_usage_error(c, "%s needs %s", c->verb->name, option);
}

oatgp_status cli_read_knots(cli *c, const oatgp_data *data, oatgp_data **out) {
  const char *text = c->settings.knots;
  *out = NULL;
  if (strpbrk(text, "./") == NULL || strcmp(c->settings.approx, "full") == 0) {
    return OATGP_OK;
  }
  return oatgp_data_read_like(c->ctx, text, data, &c->settings, out);
}
