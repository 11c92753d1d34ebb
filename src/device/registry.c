/* All devices, the one to prefer first. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "util/threads.h"

extern const oat_device_table oat_device_cpu;

static const oat_device_table *const devices[] = {&oat_device_cpu};

const oat_device_table *oat_device_at(size_t index) { return index < sizeof devices / sizeof *devices ? devices[index] : NULL; }

static const oat_device_table *find(const char *name) {
  for (size_t i = 0; oat_device_at(i) != NULL; i++) {
    if (strcmp(name, "auto") == 0 || strcmp(name, devices[i]->name) == 0) {
      return devices[i];
    }
  }
  return NULL;
}

static oatgp_status no_device(oatgp_context *ctx, const char *name) {
  return oat_fail(ctx, OATGP_ARGUMENT, "there is no device '%s': take auto or one that oatgp --version lists", name);
}

oatgp_status oatgp_context_set_device(oatgp_context *ctx, const char *name) {
  OAT_NEED_CONTEXT(ctx);
  if (name == NULL || find(name) == NULL) {
    return no_device(ctx, name != NULL ? name : "");
  }
  snprintf(ctx->device, sizeof ctx->device, "%s", name);
  return OATGP_OK;
}

oat_where oat_where_known(oat_where where) { return (oat_where){where.device, oat_lane_threads(where.threads)}; }

oatgp_status oat_device_open(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows, oat_device **out) {
  const char *name = config->where.device != NULL ? config->where.device : "auto";
  const oat_device_table *table = find(name);
  oat_device_config own = *config;
  own.where = oat_where_known(own.where);
  const oatgp_status status = table != NULL ? table->open(ctx, &own, out) : no_device(ctx, name);
  return status == OATGP_OK ? table->load(ctx, *out, rows) : status;
}

void oat_device_close(oat_device *device) {
  if (device != NULL) {
    device->table->close(device);
  }
}

oat_where oat_where_of(const oatgp_context *ctx) { return (oat_where){*ctx->device != '\0' ? ctx->device : NULL, ctx->threads}; }

void oat_device_tell_trouble(oatgp_context *ctx, oat_device *device, size_t count, const char *what) {
  const oat_near_trouble found = device->told ? (oat_near_trouble){0} : device->table->near_trouble(device);
  device->told = device->told || found.without > 0 || found.lifted > 0;
  if (found.without > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%zu of %zu %s are predicted from the knots alone: rounding leaves the covariance of their neighbours without a factor; more "
            "noise (--tau), fewer neighbours or fewer knots help",
            found.without, count, what);
  } else if (found.lifted > 0) {
    oat_say(
        ctx, OATGP_NOTE,
        "the noise is so small that rounding counts: up to %.1g of the prior variance was added to that of the neighbours of %zu of %zu "
        "%s",
        found.lift, found.lifted, count, what);
  }
}

static void close_kept(void *device) { oat_device_close(device); }

static bool is_kept(const oatgp_context *ctx, const char *name, const size_t *key) {
  const oat_device *device = ctx->kept.object;
  return device != NULL && memcmp(ctx->kept.key, key, sizeof ctx->kept.key) == 0 &&
         (name == NULL || strcmp(name, "auto") == 0 || strcmp(name, device->table->name) == 0);
}

oatgp_status oat_device_keep(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows, oat_device **out) {
  const size_t key[OAT_KEPT_KEY] = {config->max_knots, config->block,       (size_t)config->where.threads, config->neighbours,
                                    config->of,        config->kernel.work, config->kernel.parameters};
  if (is_kept(ctx, config->where.device, key)) {
    *out = ctx->kept.object;
    return config->of != 0 ? OATGP_OK : (*out)->table->load(ctx, *out, rows);
  }
  oat_context_drop(ctx);
  const oatgp_status status = oat_device_open(ctx, config, rows, out);
  ctx->kept = (oat_kept){*out, close_kept, {0}};
  memcpy(ctx->kept.key, key, sizeof key);
  return status;
}
