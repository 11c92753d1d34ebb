/* Text from a file, made safe to show in a sentence. */
#include "text/shown.h"

#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

enum { MOST_BYTES = 40, ROOM_FOR_END = 40 };

/* Length of the text up to a limit, moved back to the start of a UTF-8 character. */
static size_t cut_length(const char *text, size_t length) {
  if (length <= MOST_BYTES) {
    return length;
  }
  size_t cut = MOST_BYTES;
  while (cut > MOST_BYTES - 4 && ((unsigned char)text[cut] & 0xC0) == 0x80) {
    cut--;
  }
  return cut;
}

static char visible(char c) { return (unsigned char)c < 0x20 || c == 0x7F ? '?' : c; }

/* For text that is not UTF-8: byte by byte, as far as there is room. */
static oat_shown show_bytes(const char *text, size_t length) {
  oat_shown shown = {{0}};
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    char character[4] = {0};
    const size_t size = oat_utf8_of_byte((unsigned char)visible(text[i]), character);
    if (used + size > MOST_BYTES) {
      memcpy(shown.text + used, "...", 4);
      break;
    }
    memcpy(shown.text + used, character, size);
    used += size;
  }
  return shown;
}

oat_shown oat_show(const char *text, size_t length) {
  oat_shown shown = {{0}};
  const size_t cut = cut_length(text, length);
  if (!oat_is_utf8(text, cut)) {
    return show_bytes(text, length);
  }
  for (size_t i = 0; i < cut; i++) {
    shown.text[i] = visible(text[i]);
  }
  if (cut < length) {
    memcpy(shown.text + cut, "...", 4);
  }
  return shown;
}

oat_shown oat_show_text(const char *text) { return oat_show(text, strlen(text)); }

static void add(oat_list *list, const char *name, const char *behind) {
  const oat_shown shown = oat_show_text(name);
  const size_t needed = strlen(shown.text) + strlen(behind) + sizeof ", ''";
  if (list->left_out > 0 || list->length + needed + ROOM_FOR_END > sizeof list->text) {
    list->left_out++;
    return;
  }
  const int written = snprintf(list->text + list->length, sizeof list->text - list->length, "%s'%s'%s",
                               list->count > 0 ? ", " : "", shown.text, behind);
  list->length += (size_t)written;
  list->count++;
}

void oat_list_add(oat_list *list, const char *name) { add(list, name, ""); }

void oat_list_add_column(oat_list *list, const char *name, size_t number) {
  char behind[40];
  snprintf(behind, sizeof behind, " (column %zu)", number);
  add(list, name, behind);
}

void oat_list_add_levels(oat_list *list, const char *name, size_t levels) {
  char behind[40];
  snprintf(behind, sizeof behind, " (%zu level%s)", levels, levels == 1 ? "" : "s");
  add(list, name, behind);
}

const char *oat_list_end(oat_list *list) {
  if (list->left_out > 0) {
    snprintf(list->text + list->length, sizeof list->text - list->length, " and %zu more", list->left_out);
  }
  return list->text;
}
