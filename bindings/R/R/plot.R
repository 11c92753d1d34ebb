# Plots with R's own graphics.

plot_names <- c("effects", "terms", "residuals", "qq", "history")

plot.oatgp <- function(x, which = c("effects", "residuals"), level = 0.95, ask = NULL, ...) {
  if (missing(which) && !is.null(x$term_labels)) {
    which <- c("terms", "residuals")
  }
  which <- if (is.numeric(which)) plot_numbers(which, sys.call()) else match.arg(which, plot_names, several.ok = TRUE)
  if (is.null(ask)) {
    ask <- grDevices_interactive() && panels(x, which) > prod(graphics::par("mfcol"))
  }
  if (ask) {
    before <- graphics::par(ask = TRUE)
    on.exit(graphics::par(before))
  }
  draw <- list(effects = plot_effects, terms = plot_terms, residuals = plot_residuals, qq = plot_qq, history = plot_history)
  for (name in which) {
    draw[[name]](x, level = level, ...)
  }
  invisible(x)
}

# Plots by their numbers, as plot() takes them for lm().
plot_numbers <- function(which, call) {
  if (!all(which %in% seq_along(plot_names))) {
    fail(sprintf("which is %s; plots are %s", format(setdiff(which, seq_along(plot_names))[1]),
                 paste(seq_along(plot_names), plot_names, collapse = ", ")), call = call)
  }
  plot_names[which]
}

grDevices_interactive <- function() {
  interactive() && grDevices::dev.interactive()
}

panels <- function(x, which) {
  sum(ifelse(which == "effects", model_info(x)$d, ifelse(which == "terms", sum(lengths(model_terms(x)) > 0), 1)))
}

# The values of the other inputs: the medians of the rows, or the model's centres.
middle <- function(object, info) {
  at <- if (is.null(object$rows)) info$input_centre else apply(object$rows$x, 2, stats::median)
  ifelse(is_level(info), round(at), at)
}

# Which inputs are categories.
is_level <- function(info) !vapply(info$levels, is.null, NA)

# The values at which a curve along an input is drawn; for a category, its levels.
input_grid <- function(object, info, j) {
  if (is_level(info)[j]) {
    return(seq_along(info$levels[[j]]) - 1)
  }
  ends <- if (is.null(object$rows)) info$input_centre[j] + c(-2, 2) * info$input_scale[j] else range(object$rows$x[, j])
  seq(ends[1], ends[2], length.out = 201)
}

# Each level of a category as a point with bars: a light one for an observation, if there is one, and a dark one for the function.
draw_levels <- function(levels, bands, ours, given, x = NULL, points = NULL) {
  at <- seq_along(levels) - 1
  draw_points(plot, list(at, bands$mean), c(ours, list(xaxt = "n", xlim = range(at) + c(-0.5, 0.5))), given)
  graphics::axis(1, at, levels)
  if (!is.null(bands$least)) {
    graphics::segments(at, bands$least, at, bands$most, lwd = 12, lend = 1, col = "grey90")
  }
  graphics::segments(at, bands$low, at, bands$high, lwd = 6, lend = 1, col = "grey75")
  if (!is.null(points)) {
    graphics::points(spread_levels(x), points, pch = 16, cex = 0.6, col = "grey35")
  }
  graphics::points(at, bands$mean, pch = 16, col = "#0072B2")
}

# Rows of each level side by side around its position, so that equal rows are visible.
spread_levels <- function(x) {
  x + stats::ave(as.numeric(x), x, FUN = function(same) 0.3 * (stats::ppoints(length(same)) - 0.5))
}

band <- function(x, lower, upper, shade) {
  graphics::polygon(c(x, rev(x)), c(lower, rev(upper)), col = shade, border = NA)
}

# plot: a function of graphics. Arguments of the user, in `given`, override the others.
draw_points <- function(plot, values, ours, given) {
  do.call(plot, c(values, utils::modifyList(ours, given, keep.null = TRUE)))
}

# The curves to draw: the mean, the interval of the function, and that of an observation, on the scale of the response.
drawn_bands <- function(object, rows, info, level) {
  if (info$likelihood == "gaussian") {
    of_f <- predict_rows(object, rows, level = level, latent = TRUE)
    of_y <- predict_rows(object, rows, level = level)
    return(data.frame(mean = of_y[, "mean"], low = of_f[, "lower"], high = of_f[, "upper"], least = of_y[, "lower"], most = of_y[, "upper"]))
  }
  z <- stats::qnorm((1 + level) / 2)
  values <- predict_answers(object, rows, level)$values
  linkinv <- family.oatgp(object)$linkinv
  m <- values[, "latent_mean"]
  half <- z * values[, "latent_sd"]
  bands <- data.frame(mean = values[, "mean"], low = linkinv(m - half), high = linkinv(m + half), least = values[, "lower"],
                      most = values[, "upper"])
  if (is_binomial(info$likelihood)) { # a response of yes or no has no interval
    bands[c("least", "most")] <- bands[c("low", "high")]
  }
  bands
}

# The label of the vertical axis.
answer_label <- function(info) {
  target <- if (info$target == "") "y" else info$target
  if (is_bernoulli(info$likelihood)) {
    return(sprintf("probability of %s = %s", target, model_classes(info)[2]))
  }
  switch(info$likelihood, "binomial-logit" = "probability of a success", ordinal = paste("expected class of", target), target)
}

# The function along each input, the others held at their medians: dark its interval, light that of an observation. Counts and amounts are
# those of exposure 1.
plot_effects <- function(object, level, ...) {
  info <- model_info(object)
  at <- middle(object, info)
  for (j in seq_len(info$d)) {
    grid <- input_grid(object, info, j)
    inputs <- matrix(at, length(grid), info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
    inputs[, j] <- grid
    bands <- drawn_bands(object, list(x = inputs), info, level)
    points <- if (info$d == 1 && !is.null(object$rows)) {
      rows <- object$rows
      (answer_values(rows, info$likelihood) - offset_of(rows)) / (if (is.null(rows$exposure)) 1 else rows$exposure)
    }
    limits <- range(bands$least, bands$most, points)
    ours <- list(type = "n", ylim = limits, xlab = info$inputs[j], ylab = answer_label(info))
    if (is_level(info)[j]) {
      draw_levels(info$levels[[j]], bands, ours, list(...), object$rows$x, points)
      next
    }
    draw_points(plot, list(grid, bands$mean), ours, list(...))
    band(grid, bands$least, bands$most, "grey90")
    band(grid, bands$low, bands$high, "grey75")
    if (!is.null(points)) {
      graphics::points(object$rows$x, points, pch = 16, cex = 0.6, col = "grey35")
    }
    graphics::lines(grid, bands$mean, lwd = 2, col = "#0072B2")
    if (info$knots > 0) {
      graphics::rug(knots.oatgp(object)[[j]], col = "#D55E00", lwd = 1.5, quiet = TRUE)
    }
  }
}

# The inputs of each term, by its name.
model_terms <- function(object) {
  rows <- own_rows(object)
  found <- effect_rows(object, rows$x[1, , drop = FALSE], rows$levels)
  stats::setNames(found$inputs, found$name)
}

# The posterior of each term minus its average, as plot() does for gam(): along the first of its inputs, with the others at their medians. A category
# has a point and a bar for each level, a number and a category a curve for each level, and two numbers have contour lines.
plot_terms <- function(object, level, ...) {
  info <- model_info(object)
  rows <- own_rows(object, sys.call())
  terms <- model_terms(object)
  for (a in which(lengths(terms) > 0)) {
    j <- terms[[a]][1]
    if (length(terms[[a]]) == 2 && !any(is_level(info)[terms[[a]]])) {
      draw_surface(object, info, a, terms[[a]], names(terms)[a], list(...))
      next
    }
    by <- if (!is_level(info)[j]) Filter(function(other) is_level(info)[other], terms[[a]])
    curves <- term_curves(object, info, a, j, by, stats::qnorm((1 + level) / 2))
    limits <- range(unlist(lapply(curves, function(curve) curve[c("low", "high")])))
    ours <- list(type = "n", ylim = limits, xlab = info$inputs[j], ylab = names(terms)[a])
    if (is_level(info)[j]) {
      draw_levels(info$levels[[j]], curves[[1]], ours, list(...))
    } else {
      draw_curves(curves, ours, list(...))
      graphics::rug(rows$x[, j], col = "grey35", quiet = TRUE)
    }
    graphics::abline(h = 0, lty = 2, col = "grey35")
  }
}

# Term `a` along input j: one curve, or one for each level of the first category in `by`.
term_curves <- function(object, info, a, j, by, z) {
  grid <- input_grid(object, info, j)
  codes <- if (length(by) > 0) seq_along(info$levels[[by[1]]]) - 1 else NA
  curves <- lapply(codes, function(code) {
    inputs <- matrix(middle(object, info), length(grid), info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
    inputs[, j] <- grid
    if (!is.na(code)) {
      inputs[, by[1]] <- code
    }
    found <- effect_rows(object, inputs)
    half <- z * found$sd[, a]
    data.frame(at = grid, mean = found$mean[, a], low = found$mean[, a] - half, high = found$mean[, a] + half)
  })
  if (length(by) > 0) stats::setNames(curves, info$levels[[by[1]]]) else curves
}

# Term `a` over two inputs: the mean as contour lines over shades, and the rows.
draw_surface <- function(object, info, a, inputs, label, given) {
  axes <- lapply(inputs, function(j) input_grid(object, info, j)[seq(1, 201, by = 5)])
  grid <- as.matrix(expand.grid(axes))
  x <- matrix(middle(object, info), nrow(grid), info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
  x[, inputs] <- grid
  mean <- matrix(effect_rows(object, x)$mean[, a], length(axes[[1]]))
  ours <- list(xlab = info$inputs[inputs[1]], ylab = info$inputs[inputs[2]], main = label, col = grDevices::hcl.colors(40, "Blues", rev = TRUE)[1:24])
  draw_points(graphics::image, list(axes[[1]], axes[[2]], mean), ours, given)
  graphics::contour(axes[[1]], axes[[2]], mean, add = TRUE)
  graphics::points(object$rows$x[, inputs], pch = 16, cex = 0.4, col = "grey35")
}

draw_curves <- function(curves, ours, given) {
  colours <- if (length(curves) == 1) "#0072B2" else grDevices::hcl.colors(length(curves), "Dark 3")
  draw_points(plot, list(curves[[1]]$at, curves[[1]]$mean), ours, given)
  for (curve in curves) {
    band(curve$at, curve$low, curve$high, grDevices::adjustcolor("grey50", 0.4))
  }
  for (i in seq_along(curves)) {
    graphics::lines(curves[[i]]$at, curves[[i]]$mean, lwd = 2, col = colours[i])
  }
  if (length(curves) > 1) {
    graphics::legend("topright", names(curves), col = colours, lwd = 2, bty = "n")
  }
}

residual_label <- function(object) {
  if (model_info(object)$likelihood == "gaussian") "standardised leave-one-out residual" else "leave-one-out quantile residual"
}

plot_residuals <- function(object, level, ...) {
  rows <- loo(object)$rows
  ours <- list(xlab = "leave-one-out mean", ylab = residual_label(object), pch = 16, cex = 0.6, col = "grey35")
  draw_points(plot, list(rows$mean, rows$residual), ours, list(...))
  z <- stats::qnorm((1 + level) / 2)
  graphics::abline(h = c(-z, 0, z), lty = c(2, 1, 2), col = "#0072B2")
}

plot_qq <- function(object, level, ...) {
  residual <- loo(object)$rows$residual
  ours <- list(main = "", xlab = "normal quantiles", ylab = residual_label(object), pch = 16, cex = 0.6, col = "grey35")
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
