/* A 64-bit checksum (FNV-1a) for fingerprints and damaged files; it does not protect against deliberate changes. */
#ifndef OAT_HASH_H
#define OAT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define OAT_HASH_START UINT64_C(0xcbf29ce484222325)

uint64_t oat_hash(uint64_t hash, const void *bytes, size_t count);
/* A row with a hash of its contents, and a comparison for qsort: by the hash, then by the row. */
typedef struct oat_marked {
  uint64_t mark;
  size_t row;
} oat_marked;

int oat_by_mark(const void *a, const void *b);

#endif
