/* Figures of a model and the report: what the public functions call after they have checked their arguments. */
#ifndef OAT_REPORT_H
#define OAT_REPORT_H

#include "model/model.h"

/* Draws one figure to a file. */
oatgp_status oat_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_drawing *drawing);
/* Writes the page; `from` says where the data come from. They have a target. */
oatgp_status oat_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from, const char *path);

#endif
