/* Shared by the writing and reading of tensor files.
 *
 * The header always begins with the checksum, {"__metadata__":{"checksum":"0123456789abcdef", so that its digits have a
 * fixed position, and an oatgp model file is recognised by this beginning. The checksum is FNV-1a over the whole file,
 * in which its own digits count as '0'; any single altered byte changes it. */
#ifndef OAT_TENSORS_LAYOUT_H
#define OAT_TENSORS_LAYOUT_H

#include <cjson/cJSON.h>

#include "util/context.h"

#define OAT_LAYOUT_METADATA "__metadata__"
#define OAT_LAYOUT_CHECKSUM "checksum"
#define OAT_LAYOUT_DTYPE "F64"
#define OAT_LAYOUT_BEGINNING "{\"" OAT_LAYOUT_METADATA "\":{\"" OAT_LAYOUT_CHECKSUM "\":\""
#define OAT_LAYOUT_ZERO_DIGITS "0000000000000000"
#define OAT_LAYOUT_MEMORY "(in memory)" /* in sentences, for a path */

enum {
  OAT_LAYOUT_LENGTH_BYTES = 8,
  OAT_LAYOUT_BEGINNING_BYTES = sizeof OAT_LAYOUT_BEGINNING - 1,
  OAT_LAYOUT_DIGITS = sizeof OAT_LAYOUT_ZERO_DIGITS - 1,
  OAT_LAYOUT_SHORTEST_BYTES = OAT_LAYOUT_BEGINNING_BYTES + OAT_LAYOUT_DIGITS + sizeof "\"}}" - 1,
  OAT_LAYOUT_LONGEST_BYTES = 100000000, /* of a header: the limit of the safetensors package */
  OAT_LAYOUT_BLOCK = 512                /* values converted at a time */
};

_Static_assert(sizeof(double) == 8 && sizeof(size_t) == 8, "the file has 8-byte doubles and 64-bit sizes");

/* The two places where the byte order matters; right on any host. */
void oat_layout_put(uint64_t number, unsigned char *byte);
uint64_t oat_layout_take(const unsigned char *byte);

void oat_layout_write_digits(uint64_t hash, char digits[OAT_LAYOUT_DIGITS + 1]);

/* Sets *twice to a name that occurs more than once in the object, or to NULL. O(n log n) for n names. */
oatgp_status oat_layout_find_twice(oatgp_context *ctx, const cJSON *object, const char **twice);

#endif
