/* Maps over the two inputs of a model: cells of one level each. */
#ifndef OAT_MAP_H
#define OAT_MAP_H

#include "plot/plot.h"
#include "report/facts.h"

enum { OAT_CELLS = 44 }; /* along each input */

/* The middles of the cells as rows, row by row of the map from below. Free it before the memory. */
oatgp_status oat_map_rows(const oat_facts *f, oat_scratch *memory, oatgp_data **out);
/* The cells of a level; nothing if there are none. */
oatgp_status oat_map_draw(const oat_facts *f, const unsigned char *of_cell, size_t level, const oat_style *style,
                          oat_panel *out);

#endif
