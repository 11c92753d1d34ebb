/* A pass over the rows of data, chunk by chunk; what ranks must have in common. */
#include <stdlib.h>

#include "data/data.h"
#include "data/stream.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/ranks.h"

typedef struct running {
  const oatgp_data *data;
  const oat_pass *pass;
  size_t first; /* chunk of this rank */
  double *room; /* a chunk for each worker, if the data are in files */
} running;

static void look_at_chunk(void *self, size_t lane, size_t item) {
  const running *r = self;
  const size_t chunk = r->first + item;
  const oat_data_part part = oat_data_part_of(r->data, oat_chunk(r->data->n, chunk),
                                              r->room + oat_worker() * OAT_CHUNK * oat_data_width(r->data));
  (void)lane;
  r->pass->look(r->pass->self, r->data, &part, (char *)r->pass->results + chunk * r->pass->bytes);
}

size_t oat_data_chunks(const oatgp_data *data) { return oat_chunks(data->n, 0, 1).items; }

oatgp_status oat_data_pass(oatgp_context *ctx, const oatgp_data *data, const oat_pass *pass) {
  const bool in_files = oat_data_is_streamed(data);
  oat_loop loop = oat_chunks(data->n, pass->flops, pass->threads);
  const size_t chunks = loop.items;
  running r = {.data = data, .pass = pass, .first = in_files ? oat_rank_first(chunks, oat_rank()) : 0};
  oat_scratch memory = {.ctx = ctx};
  loop.items = in_files ? oat_rank_first(chunks, oat_rank() + 1) - r.first : chunks;
  loop.workers = oat_workers_for(loop.lanes, loop.threads);
  loop.ctx = ctx;
  loop.what = in_files ? "reading" : NULL;
  loop.rows = in_files ? oat_stream_bytes(data->in_files.stream) : data->n;
  loop.item = look_at_chunk;
  loop.self = &r;
  r.room = oat_take_doubles(&memory, OAT_CHUNK * oat_data_width(data), loop.workers);
  if (memory.status == OATGP_OK) {
    oat_loop_run(&loop);
  }
  oat_scratch_free(&memory);
  PASS_ON(memory.status);
  PASS_ON(oat_data_check(ctx, data));
  if (in_files) {
    oat_ranks_complete_items(pass->results, chunks, pass->bytes);
  }
  return OATGP_OK;
}

oatgp_status oat_data_check_ranks(oatgp_context *ctx, const oatgp_data *data) {
  const size_t columns = oatgp_data_columns(data), shape[] = {data->n, data->d, columns},
               chunks = oat_data_is_streamed(data) ? 1 : oat_data_chunks(data);
  uint64_t hash = oat_hash(OAT_HASH_START, shape, sizeof shape);
  double *room = NULL;
  oatgp_status status = OATGP_OK;
  if (oat_rank_count() == 1) {
    return OATGP_OK;
  }
  TRY(oat_new_matrix(ctx, OAT_CHUNK, oat_data_width(data), &room));
  for (size_t chunk = 0; chunk < chunks; chunk++) {
    const oat_data_part part = oat_data_part_of(data, oat_chunk(data->n, chunk), room);
    for (size_t i = 0; i < part.n * columns; i++) {
      const oat_column x = oat_part_column(data, &part, i / part.n);
      hash = oat_hash(hash, &x.a[i % part.n * x.step], sizeof *x.a);
    }
  }
  TRY(oat_data_check(ctx, data));
  TRY(oat_ranks_check(ctx, hash));
done:
  free(room);
  return status;
}
