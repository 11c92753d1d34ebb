/* Functions over blocks of rows, by the one loop. */
#include "util/lanes.h"
#include "rows/layout.h"

typedef struct inputs_job {
  const oat_rows *rows;
  const oat_each *each;
} inputs_job;

static void visit_inputs(void *self, size_t lane, size_t item) {
  const inputs_job *j = self;
  const oat_row_block b = oat_rows_block(j->rows, j->each->block, item);
  j->each->visit(j->each->self, lane, b.first, b.x);
}

void oat_rows_each(const oat_rows *rows, const oat_each *each) {
  inputs_job j = {rows, each};
  const size_t blocks = oat_rows_blocks(rows, each->block);
  oat_loop_run(&(oat_loop){.items = blocks,
                           .lanes = oat_lanes_for(blocks),
                           .threads = each->threads,
                           .flops = each->flops * (double)rows->n,
                           .item = visit_inputs,
                           .self = &j});
}
