# Plots with R's own graphics.

plot_names <- c("effects", "residuals", "qq", "history")

plot.oatgp <- function(x, which = c("effects", "residuals"), level = 0.95, ask = NULL, ...) {
  which <- match.arg(which, plot_names, several.ok = TRUE)
  if (is.null(ask)) {
    ask <- grDevices_interactive() && panels(x, which) > prod(graphics::par("mfcol"))
  }
  if (ask) {
    before <- graphics::par(ask = TRUE)
    on.exit(graphics::par(before))
  }
  draw <- list(effects = plot_effects, residuals = plot_residuals, qq = plot_qq, history = plot_history)
  for (name in which) {
    draw[[name]](x, level = level, ...)
  }
  invisible(x)
}

grDevices_interactive <- function() {
  interactive() && grDevices::dev.interactive()
}

panels <- function(x, which) {
  sum(ifelse(which == "effects", model_info(x)$d, 1))
}

# Where the other inputs are held: the medians of the rows, or the centre that the model knows.
middle <- function(object, info) {
  at <- if (is.null(object$rows)) info$input_centre else apply(object$rows$x, 2, stats::median)
  ifelse(is_level(info), round(at), at)
}

# Which inputs are categories.
is_level <- function(info) !vapply(info$levels, is.null, NA)

input_range <- function(object, info, j) {
  if (is_level(info)[j]) {
    return(c(0, length(info$levels[[j]]) - 1))
  }
  if (is.null(object$rows)) info$input_centre[j] + c(-2, 2) * info$input_scale[j] else range(object$rows$x[, j])
}

band <- function(x, lower, upper, shade) {
  graphics::polygon(c(x, rev(x)), c(lower, rev(upper)), col = shade, border = NA)
}

# plot: a function of graphics. Of the other arguments those that the user gives, in `given`, win over ours.
draw_points <- function(plot, values, ours, given) {
  do.call(plot, c(values, utils::modifyList(ours, given, keep.null = TRUE)))
}

# The function along each input, the others held at their medians: dark its interval, light that of an observation.
plot_effects <- function(object, level, ...) {
  info <- model_info(object)
  at <- middle(object, info)
  z <- stats::qnorm((1 + level) / 2)
  ylab <- if (info$target == "") "y" else info$target
  for (j in seq_len(info$d)) {
    grid <- seq(input_range(object, info, j)[1], input_range(object, info, j)[2], length.out = 201)
    inputs <- matrix(at, 201, info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
    inputs[, j] <- if (is_level(info)[j]) round(grid) else grid
    values <- predict_rows(object, list(x = inputs))
    mean <- values[, "mean"]
    latent <- z * values[, "latent"]
    observation <- z * values[, "observation"]
    points <- info$d == 1 && !is.null(object$rows)
    limits <- range(mean - observation, mean + observation, if (points) object$rows$y)
    draw_points(plot, list(grid, mean), list(type = "n", ylim = limits, xlab = info$inputs[j], ylab = ylab), list(...))
    band(grid, mean - observation, mean + observation, "grey90")
    band(grid, mean - latent, mean + latent, "grey75")
    if (points) {
      graphics::points(object$rows$x, object$rows$y, pch = 16, cex = 0.6, col = "grey35")
    }
    graphics::lines(grid, mean, lwd = 2, col = "#0072B2")
    if (info$knots > 0) {
      graphics::rug(knots.oatgp(object)[[j]], col = "#D55E00", lwd = 1.5, quiet = TRUE)
    }
  }
}

plot_residuals <- function(object, level, ...) {
  rows <- loo(object)$rows
  ours <- list(xlab = "leave-one-out mean", ylab = "standardised leave-one-out residual", pch = 16, cex = 0.6, col = "grey35")
  draw_points(plot, list(rows$mean, rows$residual), ours, list(...))
  z <- stats::qnorm((1 + level) / 2)
  graphics::abline(h = c(-z, 0, z), lty = c(2, 1, 2), col = "#0072B2")
}

plot_qq <- function(object, level, ...) {
  residual <- loo(object)$rows$residual
  ours <- list(main = "", xlab = "normal quantiles", ylab = "standardised leave-one-out residual", pch = 16, cex = 0.6, col = "grey35")
  draw_points(stats::qqnorm, list(residual), ours, list(...))
  graphics::abline(0, 1, col = "#0072B2")
}

plot_history <- function(object, level, ...) {
  history <- model_info(object)$history
  if (nrow(history) == 0) {
    fail("the model holds no history of its fit", call = sys.call())
  }
  ours <- list(type = "l", xlab = "evaluations", ylab = "objective", col = "#0072B2", lwd = 2)
  draw_points(plot, list(history[, 1], history[, 2]), ours, list(...))
}
