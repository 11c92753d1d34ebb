/* The models of the paper. */
#include "objective/objective.h"

#include <string.h>

static const oat_approx models[] = {
    /* name  sparse power  alpha  penalty  K** - Q** in prediction */
    {"full", false, false, 0, OAT_PENALISE_NOTHING, OAT_RESIDUAL_FULL},
    {"dic", true, false, 0, OAT_PENALISE_NOTHING, OAT_RESIDUAL_NONE},
    {"dtc", true, false, 0, OAT_PENALISE_NOTHING, OAT_RESIDUAL_FULL},
    {"vfe", true, false, 0, OAT_PENALISE_TRACE, OAT_RESIDUAL_FULL},
    {"tvfe", true, false, 0, OAT_PENALISE_LOG, OAT_RESIDUAL_FULL},
    {"fic", true, false, 1, OAT_PENALISE_NOTHING, OAT_RESIDUAL_DIAGONAL},
    {"fitc", true, false, 1, OAT_PENALISE_NOTHING, OAT_RESIDUAL_FULL, true},
    {"pep", true, true, 0, OAT_PENALISE_NOTHING, OAT_RESIDUAL_FULL},
};

const oat_approx *oat_approx_at(size_t index) { return index < sizeof models / sizeof *models ? &models[index] : NULL; }

const oat_approx *oat_approx_find(const char *name) {
  for (size_t i = 0; oat_approx_at(i) != NULL; i++) {
    if (strcmp(models[i].name, name) == 0) {
      return &models[i];
    }
  }
  return NULL;
}
