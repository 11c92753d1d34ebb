/* Text as UTF-8. */
#include "util/utf8.h"

#include <string.h>

#include "util/memory.h"

/* The length of the character at the beginning, 0 if it is none: cut off, longer than need be, half of a pair, or past
 * the last one. */
static size_t decode(const unsigned char *at, size_t left, uint32_t *code) {
  static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  *code = at[0];
  if (at[0] < 0x80) {
    return 1;
  }
  const size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
  if (at[0] < 0xC2 || at[0] > 0xF4 || length > left) {
    return 0;
  }
  *code = at[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) {
      return 0;
    }
    *code = *code << 6 | (at[i] & 0x3Fu);
  }
  return *code < lowest[length] || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF) ? 0 : length;
}

uint32_t oat_next_character(const unsigned char **cursor) {
  uint32_t code;
  const size_t length = decode(*cursor, strnlen((const char *)*cursor, 4), &code);
  *cursor += length > 0 ? length : 1;
  return length > 0 ? code : 0xFFFD;
}

bool oat_is_utf8(const char *text, size_t length) {
  const unsigned char *at = (const unsigned char *)text;
  uint32_t code;
  for (size_t i = 0, step; i < length; i += step) {
    step = decode(at + i, length - i, &code);
    if (step == 0) {
      return false;
    }
  }
  return true;
}

size_t oat_utf8_of_byte(unsigned char byte, char *out) {
  /* 0x80 .. 0x9F; the five without a meaning stay control characters, as in browsers. All others are Latin-1. */
  static const uint16_t windows[32] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                       0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  const unsigned code = byte >= 0x80 && byte < 0xA0 ? windows[byte - 0x80] : byte;
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
  }
  out[0] = (char)(0xE0 | code >> 12);
  out[1] = (char)(0x80 | (code >> 6 & 0x3F));
  out[2] = (char)(0x80 | (code & 0x3F));
  return 3;
}

oatgp_status oat_copy_utf8(oatgp_context *ctx, const char *text, size_t length, char **out) {
  const bool plain = oat_is_utf8(text, length);
  PASS_ON(oat_new(ctx, (plain ? 1 : 3) * length + 1, 1, out));
  size_t used = 0;
  for (size_t i = 0; i < length && !plain; i++) {
    used += oat_utf8_of_byte((unsigned char)text[i], *out + used);
  }
  if (plain) {
    memcpy(*out, text, length);
  }
  return OATGP_OK;
}

oatgp_status oat_copy_text_utf8(oatgp_context *ctx, const char *text, char **out) {
  *out = NULL;
  return text != NULL ? oat_copy_utf8(ctx, text, strlen(text), out) : OATGP_OK;
}

size_t oatgp_to_utf8(const char *text, char *out, size_t room) {
  const size_t length = text != NULL ? strlen(text) : 0;
  const bool plain = oat_is_utf8(text, length);
  size_t used = 0, needed = 0;
  for (size_t i = 0; i < length;) {
    char character[4];
    uint32_t code;
    const size_t step = plain ? decode((const unsigned char *)text + i, length - i, &code) : 1;
    const size_t size = plain ? step : oat_utf8_of_byte((unsigned char)text[i], character);
    if (needed == used && needed + size < room) {
      memcpy(out + used, plain ? text + i : character, size);
      used += size;
    }
    needed += size;
    i += step;
  }
  if (room > 0) {
    out[used] = '\0';
  }
  return needed;
}
