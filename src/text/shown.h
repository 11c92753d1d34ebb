/* Text from a file, made safe to show in a sentence: short, on one line, without control characters. */
#ifndef OAT_SHOWN_H
#define OAT_SHOWN_H

#include <stddef.h>

#define OAT_SHOWN_SIZE 48
#define OAT_LIST_SIZE 240

typedef struct oat_shown {
  char text[OAT_SHOWN_SIZE];
} oat_shown;

/* At most 40 bytes of the text, never half a character, "..." where it was cut; text that is not UTF-8 is shown as
 * Windows-1252. */
oat_shown oat_show(const char *text, size_t length);
oat_shown oat_show_text(const char *text);

/* A list of quoted names: 'a', 'b' and 7 more. Starts as {0}. */
typedef struct oat_list {
  char text[OAT_LIST_SIZE];
  size_t length, count, left_out;
} oat_list;

void oat_list_add(oat_list *list, const char *name);
/* The same with its number behind it: 'a' (column 3). */
void oat_list_add_column(oat_list *list, const char *name, size_t number);
/* The same with a number of levels: 'a' (3 levels). */
void oat_list_add_levels(oat_list *list, const char *name, size_t levels);
/* Call it once, after all names were added. */
const char *oat_list_end(oat_list *list);

#endif
