/* Settings as a table: read, checked and written by name. The public functions on them are in settings.c, too. */
#ifndef OAT_SETTINGS_H
#define OAT_SETTINGS_H

#include "util/context.h"

/* Bytes to keep between passes, unless --memory says more: a fit stays within a gigabyte beyond its data. */
#define OAT_CACHE ((int64_t)512 << 20)

enum { OAT_LONGEST_SETTING = 32 }; /* name, with the zero at its end */

/* Whether the setting belongs to the verb and differs from its value in `base`. */
bool oat_setting_differs(const oatgp_settings *settings, const oatgp_settings *base, const char *name,
                         const char *verb);
/* The value of a setting that is a real number, or 0 if there is none of this name. */
double oat_setting_real(const oatgp_settings *settings, const char *name);
/* All settings as lines "name = value", as a config file has them. */
oatgp_status oat_settings_text(oatgp_context *ctx, const oatgp_settings *settings, char **out);
/* Bytes: the value of --memory, or by default OAT_CACHE for a sparse model and half of the machine's memory for the
 * full GP. */
int64_t oat_memory_for(const oatgp_settings *settings, bool sparse);

#endif
