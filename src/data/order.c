/* A random order of rows that depends on their values and not on their positions: the same rows get the same order,
 * whatever their order in the file. Equal rows keep their relative order. */
#include <stdlib.h>

#include "data/data.h"
#include "util/hash.h"
#include "util/lanes.h"
#include "util/memory.h"

typedef struct drawing {
  const oatgp_data *data;
  uint64_t seed;
  oat_marked *ticket;
} drawing;

/* Spreads the last bytes of a checksum over all its bits. */
static uint64_t mixed(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
  return hash ^ (hash >> 33);
}

static uint64_t hash_column(uint64_t hash, const double *values, size_t place) {
  return values != NULL ? oat_hash(hash, values + place, sizeof *values) : hash;
}

static void draw_chunk(void *self, size_t lane, size_t item) {
  const drawing *d = self;
  const oatgp_data *data = d->data;
  const oat_span part = oat_chunk(data->n, item);
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    uint64_t hash = oat_hash(OAT_HASH_START, &d->seed, sizeof d->seed);
    for (size_t j = 0; j < data->d; j++) {
      const oat_column input = oat_data_input(data, j);
      hash = hash_column(hash, input.a, i * input.step);
    }
    hash = hash_column(hash, data->y, i);
#define HASH_EXTRA(column) hash = hash_column(hash, data->column, i);
    OAT_EXTRA_COLUMNS(HASH_EXTRA)
#undef HASH_EXTRA
    d->ticket[i] = (oat_marked){mixed(hash), i};
  }
}

oatgp_status oat_data_order(oatgp_context *ctx, const oatgp_data *data, uint64_t seed, size_t *order) {
  drawing d = {.data = data, .seed = seed};
  PASS_ON(oat_new(ctx, data->n, sizeof *d.ticket, &d.ticket));
  oat_loop loop = oat_chunks(data->n, 10 * OAT_FLOPS_OF_MEMORY * (double)(data->d + 1), ctx->at_work);
  loop.item = draw_chunk;
  loop.self = &d;
  oat_loop_run(&loop);
  qsort(d.ticket, data->n, sizeof *d.ticket, oat_by_mark);
  for (size_t i = 0; i < data->n; i++) {
    order[i] = d.ticket[i].row;
  }
  free(d.ticket);
  return OATGP_OK;
}
