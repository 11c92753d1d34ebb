/* Colours for light and dark backgrounds, and the style sheet that has them. */
#include "plot/figure.h"

/* The dark ones are the same hues, lighter, in the same order of lightness as far as it goes. */
static const struct {
  const char *light, *dark;
} colours[OAT_COLOURS] = {
    [OAT_INK] = {"#1b1b1b", "#e8e8e8"},       [OAT_BLUE] = {"#0072b2", "#3d97e6"},
    [OAT_VERMILION] = {"#d55e00", "#ff7733"}, [OAT_GREEN] = {"#009e73", "#22c493"},
    [OAT_PURPLE] = {"#cc79a7", "#e59bc5"},    [OAT_ORANGE] = {"#e69f00", "#f5b62e"},
    [OAT_SKY] = {"#56b4e9", "#90d4ff"},       [OAT_GREY] = {"#7a7a7a", "#9a9fa6"},
};

/* The parts that are not data: the class, the property, its two colours. */
static const struct {
  const char *selector, *property, *light, *dark;
} surroundings[] = {
    {".bg", "fill", "#ffffff", "#15171b"},
    {".grid", "stroke", "#e4e4e4", "#32363d"},
    {".frame", "stroke", "#8c8c8c", "#767c86"},
    {"text", "fill", "#1b1b1b", "#e8e8e8"},
};

oat_style oat_series_style(size_t i, const char *label) {
  static const oat_colour order[] = {OAT_BLUE, OAT_VERMILION, OAT_GREEN, OAT_PURPLE, OAT_ORANGE, OAT_SKY};
  const size_t n = sizeof order / sizeof *order, shapes = OAT_SHAPES - 1;
  return (oat_style){.colour = order[i % n], .shape = (oat_shape)(1 + (i + i / n) % shapes), .label = label};
}

static void add_rules(oat_string *svg, const char *prefix, bool dark) {
  for (size_t i = 0; i < sizeof surroundings / sizeof *surroundings; i++) {
    oat_string_print(svg, "#%s %s{%s:%s}\n", prefix, surroundings[i].selector, surroundings[i].property,
                     dark ? surroundings[i].dark : surroundings[i].light);
  }
  for (size_t i = 0; i < OAT_COLOURS; i++) {
    const char *const colour = dark ? colours[i].dark : colours[i].light;
    oat_string_print(svg, "#%s .s%zu{stroke:%s}\n#%s .f%zu{fill:%s}\n", prefix, i, colour, prefix, i, colour);
  }
}

/* Plain rules and a media query, no variables: many programs that draw SVG support only those, and then show the light
 * style. */
void oat_figure_style(const char *prefix, oat_string *svg) {
  oat_string_print(svg, "#%s text{font:%dpx Helvetica,Arial,'Liberation Sans',sans-serif}\n", prefix, OAT_LABEL_SIZE);
  oat_string_print(svg, "#%s .tick{font-size:%dpx}\n#%s .title{font-weight:bold}\n", prefix, OAT_TICK_SIZE, prefix);
  oat_string_print(svg, "#%s .grid,#%s .frame{fill:none;stroke-width:.6}\n", prefix, prefix);
  oat_string_print(svg, "#%s .line{fill:none;stroke-linecap:round;stroke-linejoin:round}\n", prefix);
  add_rules(svg, prefix, false);
  oat_string_add(svg, "@media screen and (prefers-color-scheme:dark){\n");
  add_rules(svg, prefix, true);
  oat_string_add(svg, "}\n");
}

void oat_style_sheet(oat_string *svg, const char *prefix) {
  oat_string_add(svg, "<style>\n");
  oat_figure_style(prefix, svg);
  oat_string_add(svg, "</style>\n");
}
