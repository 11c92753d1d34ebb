/* oatgp plot: one figure of a model, to a file or, as text, to the terminal. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"

enum { KIND, MODEL, DATA };
enum { WIDTH = 78, HEIGHT = 22, NARROW = 40, WIDE = 120 };

/* ---- as text --------------------------------------------------------------------------------------------------- */

/* Only the characters; the locale of numbers is not changed. */
static bool locale_has_utf8(void) {
  return setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static size_t terminal_width(void) {
  struct winsize size = {0};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return !known ? WIDTH : size.ws_col < NARROW ? NARROW : size.ws_col > WIDE ? WIDE : size.ws_col;
}

/* ---- to a file ------------------------------------------------------------------------------------------------- */

static const char *format_of(const char *path) {
  static const char *const formats[] = {"svg", "png", "pdf"};
  const char *const dot = strrchr(path, '.');
  for (size_t i = 0; dot != NULL && i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(dot + 1, formats[i]) == 0) {
      return formats[i];
    }
  }
  return strcmp(path, "-") == 0 ? "svg" : NULL;
}

/* Writes an SVG to a file without a name first. Signals are blocked until the picture is made. */
static oatgp_status draw_picture(cli *c, const oatgp_model *model, const oatgp_data *data, const char *format) {
  oatgp_status status;
  char path[32];
  FILE *svg = tmpfile();
  if (svg == NULL) {
    return cli_fail(c, OATGP_WRITE, "cannot make a temporary file: %s", strerror(errno));
  }
  snprintf(path, sizeof path, "/dev/fd/%d", fileno(svg));
  TRY(oatgp_draw(c->ctx, model, data, &(oatgp_drawing){.figure = c->positionals[KIND], .path = path}));
  cli_signals_catch(1);
  TRY(cli_write_picture(c, fileno(svg), format));
done:
  fclose(svg);
  return status;
}

static oatgp_status draw(cli *c, const oatgp_model *model, const oatgp_data *data) {
  const char *path = c->options.output, *const format = *path != '\0' ? format_of(path) : NULL;
  if (format != NULL && strcmp(format, "svg") != 0) {
    return draw_picture(c, model, data, format);
  }
  oatgp_drawing drawing = {.figure = c->positionals[KIND], .path = path};
  if (*path == '\0') {
    drawing = (oatgp_drawing){c->positionals[KIND], "-", terminal_width(), HEIGHT, locale_has_utf8()};
  }
  return oatgp_draw(c->ctx, model, data, &drawing);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static oatgp_status find_figure(cli *c, oatgp_figure *out) {
  char list[512] = "";
  for (size_t i = 0; oatgp_figure_at(i, out); i++) {
    if (strcmp(out->name, c->positionals[KIND]) == 0) {
      return OATGP_OK;
    }
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", out->name);
  }
  return cli_usage_error(c, "there is no figure '%s'; the figures are %s", c->positionals[KIND], list);
}

static oatgp_status check(cli *c, oatgp_figure *figure) {
  const char *path = c->options.output, *format = *path != '\0' ? format_of(path) : "svg";
  oatgp_status status;
  TRY(find_figure(c, figure));
  if (figure->needs_data && c->positional_count <= DATA) {
    TRY(cli_usage_error(c, "plot %s needs DATA", figure->name));
  }
  if (format == NULL) {
    TRY(cli_usage_error(c, "the name '%s' has no known format; it must end with .svg, .png or .pdf", path));
  }
  if (strcmp(format, "svg") != 0) {
    TRY(cli_check_picture(c));
  }
done:
  return status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_figure figure;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  TRY(check(c, &figure));
  TRY(oatgp_model_load(c->ctx, c->positionals[MODEL], &model));
  if (c->positional_count > DATA) {
    TRY(oatgp_data_read_for(c->ctx, c->positionals[DATA], model, &c->settings, figure.needs_data, &data));
  }
  if (*c->options.output == '\0' && isatty(STDOUT_FILENO) == 1) {
    cli_progress_hush(c);
  }
  TRY(draw(c, model, data));
done:
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_plot = {
    .name = "plot",
    .summary = "draw one figure of a model, in a file or in the terminal",
    .positionals = {"KIND", "MODEL", "[DATA]"},
    .usage = "[-o FILE.svg|FILE.png|FILE.pdf] [OPTIONS]",
    .details =
        "KIND is one of: observed (against predicted), residuals, quantiles (of the residuals, against those of the "
        "normal distribution), calibration (coverage of intervals of every probability, and the histogram of the "
        "probability integral transform), partial (the prediction as each input changes), effects (of each term of a "
        "covariance that is a sum), objective (against the number of knots, with every kept and dropped one), knots "
        "(on the fit, on a map of its uncertainty, or among the rows), relevance (of the inputs), sensitivity (to the "
        "inputs: Sobol' indices), evidence (bounds of the exact log evidence). For a target of two classes, "
        "reliability (whether the probabilities are right) and roc (how well the classes are told apart) replace "
        "observed and calibration; counts and levels have a rootogram (how many rows have each value, and how many "
        "should); classes over two inputs have a map (classes). All figures except objective, knots, relevance, "
        "sensitivity, evidence and classes need DATA with the target. Without -o the figure is drawn as text in the "
        "terminal; '-o -' prints SVG. PNG and PDF are made by rsvg-convert, if that is installed.",
    .example =
        "  oatgp plot knots model.oatgp train.csv\n"
        "  oatgp plot partial model.oatgp train.csv -o effects.svg\n"
        "  oatgp plot calibration model.oatgp test.csv -o calibration.pdf",
    .run = run,
};
