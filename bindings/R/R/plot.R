# Plots with R's own graphics.

plot_names <- c("effects", "terms", "residuals", "qq", "history")

plot.oatgp <- function(x, which = c("effects", "residuals"), level = 0.95, ask = NULL, ...) {
  which <- match.arg(which, plot_names, several.ok = TRUE)
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

grDevices_interactive <- function() {
  interactive() && grDevices::dev.interactive()
}

panels <- function(x, which) {
  sum(ifelse(which == "effects", model_info(x)$d, ifelse(which == "terms", sum(lengths(model_terms(x)) > 0), 1)))
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

# What is drawn of rows: the mean, the interval of the function, and that of an observation, on the scale of the answers.
drawn_bands <- function(object, rows, info, level) {
  z <- stats::qnorm((1 + level) / 2)
  if (info$likelihood == "gaussian") {
    values <- predict_rows(object, rows)
    mean <- values[, "mean"]
    half <- z * values[, c("latent", "observation")]
    return(data.frame(mean = mean, low = mean - half[, 1], high = mean + half[, 1], least = mean - half[, 2], most = mean + half[, 2]))
  }
  values <- predict_answers(object, rows, level)$values
  linkinv <- family.oatgp(object)$linkinv
  m <- values[, "latent_mean"]
  half <- z * values[, "latent_sd"]
  bands <- data.frame(mean = values[, "mean"], low = linkinv(m - half), high = linkinv(m + half), least = values[, "lower"],
                      most = values[, "upper"])
  if (is_binomial(info$likelihood)) { # a single answer is yes or no: there is no interval of it
    bands[c("least", "most")] <- bands[c("low", "high")]
  }
  bands
}

# What the vertical axis shows.
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
    grid <- seq(input_range(object, info, j)[1], input_range(object, info, j)[2], length.out = 201)
    inputs <- matrix(at, 201, info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
    inputs[, j] <- if (is_level(info)[j]) round(grid) else grid
    bands <- drawn_bands(object, list(x = inputs), info, level)
    points <- if (info$d == 1 && !is.null(object$rows)) {
      answer_values(object$rows, info$likelihood) / (if (is.null(object$rows$exposure)) 1 else object$rows$exposure)
    }
    limits <- range(bands$least, bands$most, points)
    ours <- list(type = "n", ylim = limits, xlab = info$inputs[j], ylab = answer_label(info))
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

# The posterior of each term less its average, as plot() does for gam(): along the first of its inputs, the others held at their medians. A
# category has a point and a bar for each level.
plot_terms <- function(object, level, ...) {
  info <- model_info(object)
  rows <- own_rows(object, sys.call())
  z <- stats::qnorm((1 + level) / 2)
  at <- middle(object, info)
  terms <- model_terms(object)
  for (a in which(lengths(terms) > 0)) {
    j <- terms[[a]][1]
    category <- is_level(info)[j]
    grid <- if (category) seq_along(info$levels[[j]]) - 1 else seq(min(rows$x[, j]), max(rows$x[, j]), length.out = 201)
    inputs <- matrix(at, length(grid), info$d, byrow = TRUE, dimnames = list(NULL, info$inputs))
    inputs[, j] <- grid
    found <- effect_rows(object, inputs)
    mean <- found$mean[, a]
    half <- z * found$sd[, a]
    ours <- list(type = "n", ylim = range(mean - half, mean + half), xlab = info$inputs[j], ylab = names(terms)[a])
    draw_points(plot, list(grid, mean), c(ours, if (category) list(xaxt = "n")), list(...))
    if (category) {
      graphics::axis(1, grid, info$levels[[j]])
      graphics::segments(grid, mean - half, grid, mean + half, lwd = 2, col = "grey75")
      graphics::points(grid, mean, pch = 16, col = "#0072B2")
    } else {
      band(grid, mean - half, mean + half, "grey75")
      graphics::lines(grid, mean, lwd = 2, col = "#0072B2")
      graphics::rug(rows$x[, j], col = "grey35", quiet = TRUE)
    }
    graphics::abline(h = 0, lty = 2, col = "grey35")
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
