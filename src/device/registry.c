/* All devices, and the choice of the device for an operation. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/opening.h"
#include "device/device.h"
#include "util/threads.h"

/* N K (K + M^2), or N^3 / 100 for the exact GP: less work ends before a GPU has answered. */
#define WORTH_A_GPU 1e9

extern const oat_device_table oat_device_cpu;

static const oat_device_table *cuda(void) {
  const char *why;
  return oat_cuda_table_of(&why);
}

const oat_device_table *oat_device_at(size_t index) {
  return index == 0 ? &oat_device_cpu : index == 1 ? cuda() : NULL;
}

const char *oat_device_names(void) {
  static char names[512];
  const char *why, *gpu = oat_cuda_gpu_name(&why);
  snprintf(names, sizeof names, "cpu; cuda: %s", gpu != NULL ? gpu : why);
  return names;
}

static bool is_name(const char *name) {
  return strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0 || strcmp(name, "cuda") == 0;
}

static oatgp_status no_device(oatgp_context *ctx, const char *name) {
  return oat_fail(ctx, OATGP_ARGUMENT, "there is no device '%s'; use auto, cpu or cuda", name);
}

oatgp_status oatgp_context_set_device(oatgp_context *ctx, const char *name) {
  OAT_NEED_CONTEXT(ctx);
  if (name == NULL || !is_name(name)) {
    return no_device(ctx, name != NULL ? name : "");
  }
  snprintf(ctx->device, sizeof ctx->device, "%s", name);
  return OATGP_OK;
}

oat_where oat_where_known(oat_where where) { return (oat_where){where.device, oat_lane_threads(where.threads)}; }

/* An estimate of the work: N K (K + M^2) with M neighbours, or the equivalent for the exact GP. */
static double work_of(const oat_device_config *config, const oat_rows *rows) {
  const double n = (double)oat_rows_total(rows), k = (double)config->max_knots, m = (double)config->neighbours;
  return config->exact ? n * n * n / 100 : n * k * (k + m * m);
}

static void tell_refusal(oatgp_context *ctx, const char *what) {
  if (!ctx->told_device) {
    oat_say(ctx, OATGP_NOTE, "using the processor instead of the GPU for %s", what);
  }
  ctx->told_device = true;
}

/* The device of that name for these rows. */
static oatgp_status choose(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                           const oat_device_table **out) {
  const char *name = config->where.device != NULL ? config->where.device : "auto", *why = NULL;
  const char *refused = oat_cuda_refuses(config, rows);
  const bool named = strcmp(name, "cuda") == 0;
  *out = &oat_device_cpu;
  if (!is_name(name)) {
    return no_device(ctx, name);
  }
  if (named && refused != NULL) {
    tell_refusal(ctx, refused);
  } else if (refused == NULL && (named || (strcmp(name, "auto") == 0 && work_of(config, rows) >= WORTH_A_GPU))) {
    const oat_device_table *found = oat_cuda_table_of(&why);
    REFUSE_IF(named && found == NULL, ctx, OATGP_ARGUMENT, "the device cuda cannot be used: %s; use auto or cpu", why);
    *out = found != NULL ? found : *out;
  }
  return OATGP_OK;
}

bool oat_device_on_gpu(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows) {
  const oat_device_table *table = NULL;
  return choose(ctx, config, rows, &table) == OATGP_OK && table != &oat_device_cpu;
}

#define MATRIX_SHARE 0.8 /* of the free memory of a GPU, for the matrix of the exact GP */

bool oat_device_exact_on_gpu(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows) {
  const double n = (double)oat_rows_total(rows);
  oat_device_config exact = *config;
  exact.exact = true;
  return oat_device_on_gpu(ctx, &exact, rows) && 8 * n * n <= MATRIX_SHARE * oat_cuda_memory();
}

/* If a GPU has no room or fails and was not requested by name, the processor is used. */
static bool may_do_without(const oat_device_config *config, const oat_device_table *table) {
  return table != &oat_device_cpu && (config->where.device == NULL || strcmp(config->where.device, "auto") == 0);
}

static oatgp_status open_with(oatgp_context *ctx, const oat_device_table *table, const oat_device_config *config,
                              const oat_rows *rows, oat_device **out) {
  const oatgp_status status = table->open(ctx, config, out);
  return status == OATGP_OK ? table->load(ctx, *out, rows) : status;
}

oatgp_status oat_device_open(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                             oat_device **out) {
  const oat_device_table *table;
  oat_device_config own = *config;
  own.where = oat_where_known(own.where);
  PASS_ON(choose(ctx, &own, rows, &table));
  const oatgp_status status = open_with(ctx, table, &own, rows, out);
  if (status == OATGP_OK || !may_do_without(config, table)) {
    return status;
  }
  oat_say(ctx, OATGP_WARNING, "using the processor instead of the GPU: %s", oatgp_last_error(ctx));
  oat_device_close(*out);
  *out = NULL;
  return open_with(ctx, &oat_device_cpu, &own, rows, out);
}

void oat_device_close(oat_device *device) {
  if (device != NULL) {
    device->table->close(device);
  }
}

oat_where oat_where_of(const oatgp_context *ctx) {
  return (oat_where){*ctx->device != '\0' ? ctx->device : NULL, ctx->threads};
}

void oat_device_tell_trouble(oatgp_context *ctx, oat_device *device, size_t count, const char *what) {
  const oat_near_trouble found = device->told ? (oat_near_trouble){0} : device->table->near_trouble(device);
  device->told = device->told || found.without > 0 || found.lifted > 0;
  if (found.without > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%zu of %zu %s are predicted from the knots alone: rounding makes the covariance of their neighbours "
            "singular; use more noise (--tau), fewer neighbours or fewer knots",
            found.without, count, what);
  } else if (found.lifted > 0) {
    oat_say(ctx, OATGP_NOTE,
            "the noise is so small that rounding matters: up to %.1g of the prior variance was added to the covariance "
            "of the neighbours of %zu of %zu %s",
            found.lift, found.lifted, count, what);
  }
}

static void close_kept(void *device) { oat_device_close(device); }

/* A GPU that was opened for other rows may not be able to work on these. */
static bool is_kept(const oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                    const size_t *key) {
  const oat_device *device = ctx->kept.object;
  const char *name = config->where.device;
  return device != NULL && memcmp(ctx->kept.key, key, sizeof ctx->kept.key) == 0 &&
         (name == NULL || strcmp(name, "auto") == 0 || strcmp(name, device->table->name) == 0) &&
         (device->table == &oat_device_cpu || oat_cuda_refuses(config, rows) == NULL);
}

oatgp_status oat_device_keep(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                             oat_device **out) {
  const size_t key[OAT_KEPT_KEY] = {config->max_knots,        config->block, (size_t)config->where.threads,
                                    config->neighbours,       config->of,    config->kernel.work,
                                    config->kernel.parameters};
  if (is_kept(ctx, config, rows, key)) {
    *out = ctx->kept.object;
    return config->of != 0 ? OATGP_OK : (*out)->table->load(ctx, *out, rows);
  }
  oat_context_drop(ctx);
  const oatgp_status status = oat_device_open(ctx, config, rows, out);
  ctx->kept = (oat_kept){*out, close_kept, {0}};
  memcpy(ctx->kept.key, key, sizeof key);
  return status;
}
