#include "util/hash.h"

uint64_t oat_hash(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < count; i++) {
    hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

int oat_by_mark(const void *a, const void *b) {
  const oat_marked *x = a, *y = b;
  return x->mark != y->mark ? (x->mark > y->mark) - (x->mark < y->mark) : (x->row > y->row) - (x->row < y->row);
}
