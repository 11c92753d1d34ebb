/* Public functions for the certificate: they check their arguments and forward. */
#include "certify/certify.h"

#include "api/api.h"
#include "data/data.h"
#include "model/model.h"

oatgp_status oatgp_certify(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                           const oatgp_settings *settings, oatgp_bracket_fn monitor, void *user,
                           oatgp_certificate *out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || data == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "model, data, settings and the output pointer must not be NULL");
  REFUSE_IF(!oat_data_has_target(data), ctx, OATGP_DATA,
            "the data have no target: a certificate needs the targets of the training rows");
  REFUSE_IF(model->likelihood != NULL, ctx, OATGP_DATA,
            "bounds of the evidence exist only for Gaussian targets; this model has the likelihood %s, and its "
            "objective is already a lower bound",
            model->likelihood->name);
  PASS_ON(oatgp_settings_check(ctx, settings));
  PASS_ON(oat_take_threads(ctx, (int)settings->threads));
  const oat_certify_request request = {model, data, settings, monitor, user};
  return oat_certify(ctx, &request, out);
}

oatgp_status oatgp_model_set_certificate(oatgp_context *ctx, oatgp_model *model, const oatgp_certificate *certificate) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || certificate == NULL, ctx, OATGP_ARGUMENT,
            "the model and the certificate must not be NULL");
  model->number[OAT_NUMBER_LOWER] = certificate->lower;
  model->number[OAT_NUMBER_UPPER] = certificate->upper;
  return OATGP_OK;
}
