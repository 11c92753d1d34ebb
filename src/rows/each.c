/* Applies functions to blocks of rows, through the one loop. */
#include <stdlib.h>

#include "util/lanes.h"
#include "util/memory.h"
#include "rows/layout.h"

typedef struct inputs_job {
  const oat_rows *rows;
  const oat_each *each;
  double *room; /* for each worker, if they are not in memory */
  size_t stride;
} inputs_job;

static void visit_inputs(void *self, size_t lane, size_t item) {
  const inputs_job *j = self;
  const oat_row_block b = oat_rows_block_in(j->rows, j->each->block, item, j->room + oat_worker() * j->stride);
  j->each->visit(j->each->self, lane, b.first, b.x);
}

oatgp_status oat_rows_each(oatgp_context *ctx, const oat_rows *rows, const oat_each *each) {
  const size_t blocks = oat_rows_blocks(rows, each->block), lanes = oat_lanes_for(blocks),
               workers = oat_workers_for(lanes, each->threads);
  inputs_job j = {rows, each, NULL, oat_rows_room(rows, each->block)};
  PASS_ON(oat_new_matrix(ctx, j.stride, workers, &j.room));
  oat_loop_run(&(oat_loop){.items = blocks,
                           .lanes = lanes,
                           .workers = workers,
                           .threads = each->threads,
                           .flops = each->flops * (double)rows->n,
                           .item = visit_inputs,
                           .self = &j});
  free(j.room);
  return oat_rows_check(ctx, rows);
}
