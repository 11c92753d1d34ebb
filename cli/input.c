/* What several verbs check and read before they work. */
#include <string.h>

#include "cli.h"

oatgp_status cli_need(cli *c, const char *value, const char *option) {
  return *value != '\0' ? OATGP_OK : cli_usage_error(c, "%s needs %s", c->verb->name, option);
}

const char *cli_knots_file(const cli *c) {
  const char *text = c->settings.knots, *colon = strchr(text, ':');
  const bool is_number = oatgp_is_number(colon != NULL ? colon + 1 : text, NULL) != 0;
  return strpbrk(text, "./") == NULL || is_number || strcmp(c->settings.approx, "full") == 0 ? "" : text;
}

oatgp_status cli_read_knots(cli *c, const oatgp_data *data, oatgp_data **out) {
  const char *path = cli_knots_file(c);
  *out = NULL;
  return *path == '\0' ? OATGP_OK : oatgp_data_read_like(c->ctx, path, data, &c->settings, out);
}
