/* Text as UTF-8. Names come from files and command lines in any encoding; stored text and JSON must be UTF-8. */
#ifndef OAT_UTF8_H
#define OAT_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "util/context.h"

/* Reads one character of a text that ends with a 0 and advances. An invalid byte gives 0xFFFD. Overlong forms,
 * surrogates and values over 0x10FFFF are invalid. */
uint32_t oat_next_character(const unsigned char **cursor);
bool oat_is_utf8(const char *text, size_t length);
/* The character that Windows-1252 (of which Latin-1 is a part) has for the byte, as UTF-8; returns its length, at most
 * 3. */
size_t oat_utf8_of_byte(unsigned char byte, char *out);
/* A copy as UTF-8, ended by a 0: unchanged if it is UTF-8, else read as Windows-1252. NULL gives NULL. */
oatgp_status oat_copy_utf8(oatgp_context *ctx, const char *text, size_t length, char **out);
oatgp_status oat_copy_text_utf8(oatgp_context *ctx, const char *text, char **out);

#endif
