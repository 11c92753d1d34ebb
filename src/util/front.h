/* Option names in the syntax of the front end in use. */
#ifndef OAT_FRONT_H
#define OAT_FRONT_H

#include "oatgp.h"

/* Copies a sentence into `room` bytes and writes its options in the syntax of the front end. The library writes an
 * option as --name, --name=value or --no-name:
 *
 *             --max-knots    --mean=linear      --batch=5      --no-guard
 *   command   --max-knots    --mean linear      --batch 5      --no-guard
 *   Python    max_knots      mean="linear"      batch=5        guard=False
 *   R         max_knots      mean = "linear"    batch = 5      guard = FALSE
 *
 * An option that a front end does not have is replaced by what a user writes there: --refit is Model.refit() in Python
 * and update(refit = TRUE) in R.
 *
 * An option follows a blank or a bracket, so values in quotation marks stay as they are. Values that begin with a digit
 * or a capital (a number, or a placeholder such as K) have no quotation marks. */
void oat_in_front(oatgp_front front, const char *sentence, char *out, size_t room);

#endif
