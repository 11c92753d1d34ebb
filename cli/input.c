/* Checks and reading that several verbs share. */
#include <math.h>
#include <string.h>

#include "cli.h"

#define MOST_COUNTED 1000000

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

oatgp_status cli_read_interval(cli *c, double *out) {
  return oatgp_is_number(c->options.interval, out) && *out > 0 && *out < 1
             ? OATGP_OK
             : cli_usage_error(c, "--interval is '%s' but must be a number above 0 and below 1", c->options.interval);
}

oatgp_status cli_read_count(cli *c, const char *name, const char *text, size_t least, size_t *out) {
  double number = 0;
  if (!oatgp_is_number(text, &number) || !(number >= (double)least && number <= MOST_COUNTED) ||
      floor(number) != number) {
    return cli_usage_error(c, "--%s is '%s' but must be a whole number from %zu to %d", name, text, least,
                           MOST_COUNTED);
  }
  *out = (size_t)number;
  return OATGP_OK;
}
