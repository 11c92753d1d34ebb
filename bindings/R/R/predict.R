# Prediction and draws.

# Rows with NA are NA in the result. The rows are predicted in parts of a size for which the library guarantees the same bits, and R can be
# interrupted between them. With a level, lower and upper are the bounds of the interval of the observation, or of the function if latent.
predict_rows <- function(object, frame, threads = NULL, call = NULL, level = NA_real_, latent = FALSE) {
  x <- frame$x
  result <- matrix(NA_real_, nrow(x), 5, dimnames = list(rownames(x), c("mean", "latent", "observation", "lower", "upper")))
  complete <- which(rowSums(is.na(x)) == 0)
  settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
  levels <- if (is.null(frame$levels)) model_levels(object) else frame$levels
  for (first in seq(1, by = 65536, length.out = ceiling(length(complete) / 65536))) {
    part <- complete[first:min(first + 65535, length(complete))]
    some <- list(x = x[part, , drop = FALSE], weights = frame$weights[part], noise_variance = frame$noise_variance[part], levels = levels)
    result[part, ] <- receive(.Call(C_entry_predict, object$pointer, some, settings, level, latent), call)
  }
  shifted <- c("mean", "lower", "upper")
  result[, shifted] <- result[, shifted] + offset_of(frame)
  result
}

# The responses at the rows, for any family: list(values, with mean and sd of y, its interval, mean and sd of f on the scale of the link; levels, the
# probabilities of an ordinal response). With trials they are shares; levels are numbered from 1.
predict_answers <- function(object, frame, level = 0.95, threads = NULL, call = NULL) {
  n <- nrow(frame$x)
  info <- model_info(object)
  complete <- which(rowSums(is.na(cbind(frame$x, frame$exposure, frame$trials))) == 0)
  settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
  values <- matrix(NA_real_, n, 6, dimnames = list(rownames(frame$x), c("mean", "sd", "lower", "upper", "latent_mean", "latent_sd")))
  classes <- model_classes(info)
  levels <- if (info$likelihood == "ordinal") matrix(NA_real_, n, length(classes), dimnames = list(rownames(frame$x), classes))
  for (first in seq(1, by = 65536, length.out = ceiling(length(complete) / 65536))) {
    part <- complete[first:min(first + 65535, length(complete))]
    some <- list(x = frame$x[part, , drop = FALSE], trials = frame$trials[part], exposure = frame$exposure[part],
                 levels = if (is.null(frame$levels)) model_levels(object) else frame$levels)
    found <- receive(.Call(C_entry_answers, object$pointer, some, settings, level), call)
    values[part, ] <- found$values
    if (!is.null(levels)) {
      levels[part, ] <- found$levels
    }
  }
  scaled <- c("mean", "sd", "lower", "upper")
  if (!is.null(frame$trials)) {
    values[, scaled] <- values[, scaled] / frame$trials
  }
  if (!is.null(levels)) {
    values[, c("mean", "lower", "upper")] <- values[, c("mean", "lower", "upper")] + 1
  }
  shifted <- c("mean", "lower", "upper", "latent_mean")
  values[, shifted] <- values[, shifted] + offset_of(frame)
  list(values = values, levels = levels)
}

# The sd of the expected response, a function of f ~ N(m, s^2), by a sum over 161 points, which is exact to about 1e-10.
expected_sd <- function(family, m, s) {
  if (family$link == "log") {
    return(exp(m + s^2 / 2) * sqrt(expm1(s^2)))
  }
  z <- seq(-8, 8, by = 0.1)
  weight <- stats::dnorm(z) / sum(stats::dnorm(z))
  mean <- 0
  square <- 0
  middle <- family$linkinv(m)
  for (i in seq_along(z)) {
    off <- family$linkinv(m + s * z[i]) - middle
    mean <- mean + weight[i] * off
    square <- square + weight[i] * off^2
  }
  sqrt(pmax(square - mean^2, 0))
}

# Derivatives of the function, NA at rows with NA: list(fit, se.fit), matrices with a column for each input.
gradient_rows <- function(object, frame, threads = NULL, call = NULL) {
  x <- frame$x
  inputs <- model_info(object)$inputs
  slopes <- matrix(NA_real_, nrow(x), length(inputs), dimnames = list(rownames(x), inputs))
  result <- list(fit = slopes, se.fit = slopes)
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) > 0) {
    settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
    levels <- if (is.null(frame$levels)) model_levels(object) else frame$levels
    found <- receive(.Call(C_entry_gradient, object$pointer, list(x = x[complete, , drop = FALSE], levels = levels), settings), call)
    result$fit[complete, ] <- found$mean
    result$se.fit[complete, ] <- found$se.fit
  }
  result
}

# The effects at rows without NA: the summands of the covariance, minus their averages over the rows of the fit or, if the model does not hold them,
# over these rows.
effect_rows <- function(object, x, levels = NULL, threads = NULL, call = NULL) {
  settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
  with_levels <- function(x, levels) list(x = x, levels = if (is.null(levels)) model_levels(object) else levels)
  over <- if (is.null(object$rows)) NULL else with_levels(object$rows$x, object$rows$levels)
  found <- receive(.Call(C_entry_effects, object$pointer, with_levels(x, levels), over, settings), call)
  if (length(object$term_labels) == length(found$name)) {
    found$name <- object$term_labels
  }
  found
}

# As predict() for lm() and gam() with type = "terms": a column for each term, and the constant to add as an attribute.
predict_terms <- function(object, rows, se.fit, omitted, threads, call) {
  x <- rows$x
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) == 0) {
    fail("all rows have NA, so there are no terms", "data", call)
  }
  found <- effect_rows(object, x[complete, , drop = FALSE], rows$levels, threads, call)
  spread <- function(values) {
    all <- matrix(NA_real_, nrow(x), ncol(values), dimnames = list(rownames(x), found$name))
    all[complete, ] <- values
    stats::napredict(omitted, all)
  }
  rows$offset <- NULL # the constant is not a term, as in lm()
  level <- predict_rows(object, rows, threads, call)[complete, "mean"] - rowSums(found$mean)
  linear <- !is.null(model_info(object)$slopes)
  fit <- structure(spread(found$mean), constant = if (linear) level else mean(level), share = stats::setNames(found$share, found$name))
  if (se.fit) list(fit = fit, se.fit = spread(found$sd), residual.scale = predicted_noise(object)) else fit
}

predict.oatgp <- function(object, newdata, se.fit = FALSE, interval = c("none", "confidence", "prediction"), level = 0.95,
                          cov = FALSE, weights = NULL, noise_variance = NULL, na.action = stats::na.pass, threads = NULL,
                          type = c("response", "link", "terms", "prob", "class"), offset = NULL, trials = NULL, gradient = FALSE,
                          ...) {
  call <- sys.call()
  interval <- match.arg(interval)
  type <- match.arg(type)
  if (...length() > 0) {
    fail(sprintf("predict() has no argument '%s'", names(list(...))[1]), call = call)
  }
  if (!is.numeric(level) || length(level) != 1 || !(level > 0 && level < 1)) {
    fail("level must be a probability between 0 and 1", call = call)
  }
  likelihood <- model_info(object)$likelihood
  check_type(likelihood, list(type = type, interval = interval, se.fit = se.fit, cov = cov, gradient = gradient), call)
  if (missing(newdata) || is.null(newdata)) {
    rows <- own_rows(object, call)
    omitted <- object$na.action
  } else {
    given <- list(weights = weights, noise_variance = noise_variance, offset = offset, trials = trials)
    rows <- rows_without_target(object, newdata, given, interval == "prediction", na.action, call)
    omitted <- rows$na.action
  }
  if (type == "terms") {
    return(predict_terms(object, rows, se.fit, omitted, threads, call))
  }
  if (type %in% c("prob", "class")) {
    return(stats::napredict(omitted, predict_classes(object, rows, type, threads, call)))
  }
  made <- if (likelihood == "gaussian") {
    predict_gaussian(object, rows, interval, level, threads, call)
  } else {
    predict_family(object, rows, type, interval, level, threads, call)
  }
  pad <- function(v) stats::napredict(omitted, v)
  if (!se.fit && !cov && !gradient) {
    return(pad(made$fit))
  }
  result <- list(fit = pad(made$fit))
  if (se.fit) {
    result$se.fit <- pad(made$se.fit())
    result$residual.scale <- if (likelihood == "gaussian") predicted_noise(object)
  }
  if (cov) {
    result$cov <- pad(t(pad(joint_covariance(object, rows, call))))
  }
  if (gradient) {
    slopes <- gradient_rows(object, rows, threads, call)
    result$gradient <- pad(slopes$fit)
    result$se.gradient <- pad(slopes$se.fit)
  }
  result
}

# Refuses combinations that do not exist: asked is list(type, interval, se.fit, cov, gradient).
check_type <- function(likelihood, asked, call) {
  type <- asked$type
  intervals <- asked$interval != "none"
  if (type == "terms" && (intervals || asked$cov || asked$gradient)) {
    fail("terms have neither interval nor cov nor gradient: use se.fit", call = call)
  }
  if (type %in% c("prob", "class")) {
    has_classes <- is_bernoulli(likelihood) || likelihood == "ordinal" || (type == "prob" && is_binomial(likelihood))
    if (!has_classes) {
      fail(sprintf("type = \"%s\" needs a response of classes; this one has %s", type, likelihood_words[[likelihood]][2]), call = call)
    }
    if (intervals || asked$cov || asked$se.fit) {
      fail(sprintf("type = \"%s\" has no interval, no se.fit and no cov: type = \"response\" or \"link\" has them", type), call = call)
    }
    if (asked$gradient) {
      fail(sprintf("type = \"%s\" has no gradient: type = \"link\" has it", type), call = call)
    }
  }
  if (type == "response" && likelihood != "gaussian") {
    if (asked$cov) {
      fail("cov is the joint covariance of the function: use type = \"link\"", call = call)
    }
    if (asked$gradient) {
      fail("gradient has the derivatives of the function: use type = \"link\"", call = call)
    }
  }
  if (type == "link" && asked$interval == "prediction") {
    fail("a prediction interval is one of the response, not of the link: use type = \"response\"", call = call)
  }
}

# The sd of the noise in predictions of a row of weight 1: the root of the mean of the variances of all members, in a unit in which they do not
# overflow; the sd of the model itself if it is not averaged.
predicted_noise <- function(object) {
  members <- model_members(object)
  tau <- vapply(members$model, sigma.oatgp, 0)
  unit <- max(tau, .Machine$double.xmin)
  unit * sqrt(sum(members$weight * (tau / unit)^2))
}

# list(fit, a vector or the matrix of fit, lwr and upr; se.fit, a function)
predict_gaussian <- function(object, rows, interval, level, threads, call) {
  values <- predict_rows(object, rows, threads, call, if (interval == "none") NA_real_ else level, interval == "confidence")
  column <- function(name) stats::setNames(values[, name], rownames(values)) # also for one row
  fit <- column("mean")
  if (interval != "none") {
    fit <- cbind(fit = fit, lwr = column("lower"), upr = column("upper"))
  }
  list(fit = fit, se.fit = function() column("latent"))
}

# The same for other families. A confidence interval of the response is that of the link, transformed.
predict_family <- function(object, rows, type, interval, level, threads, call) {
  family <- family.oatgp(object)
  values <- predict_answers(object, rows, level, threads, call)$values
  column <- function(name) stats::setNames(values[, name], rownames(values))
  m <- column("latent_mean")
  s <- column("latent_sd")
  half <- stats::qnorm((1 + level) / 2) * s
  if (type == "link") {
    return(list(fit = if (interval == "none") m else cbind(fit = m, lwr = m - half, upr = m + half), se.fit = function() s))
  }
  fit <- switch(interval, none = column("mean"),
                confidence = cbind(fit = column("mean"), lwr = family$linkinv(m - half), upr = family$linkinv(m + half)),
                prediction = cbind(fit = column("mean"), lwr = column("lower"), upr = column("upper")))
  list(fit = fit, se.fit = function() expected_sd(family, m, s))
}

# A matrix of the probabilities of the classes, or the most likely class in the kind of the response.
predict_classes <- function(object, rows, type, threads, call) {
  info <- model_info(object)
  found <- predict_answers(object, rows, 0.95, threads, call)
  prob <- found$levels
  if (is.null(prob)) {
    yes <- found$values[, "mean"]
    prob <- cbind(1 - yes, yes)
    classes <- if (info$likelihood == "binomial-logit") c("failure", "success") else model_classes(info)
    dimnames(prob) <- list(rownames(rows$x), classes)
  }
  if (type == "prob") {
    return(prob)
  }
  likeliest <- apply(prob, 1, function(p) if (anyNA(p)) NA else which.max(p) - 1)
  stats::setNames(as_response(unname(likeliest), model_kind(object, info), info), rownames(rows$x))
}

joint_covariance <- function(object, rows, call) {
  x <- rows$x
  result <- matrix(NA_real_, nrow(x), nrow(x), dimnames = list(rownames(x), rownames(x)))
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) > 0) {
    some <- list(x = x[complete, , drop = FALSE], levels = rows$levels)
    result[complete, complete] <- receive(.Call(C_entry_covariance, object$pointer, some), call)
  }
  result
}

fitted.oatgp <- function(object, ...) {
  predict.oatgp(object)
}

residuals.oatgp <- function(object, type = c("response", "loo", "pearson", "deviance", "quantile"), ...) {
  type <- match.arg(type)
  rows <- own_rows(object, sys.call())
  values <- if (type %in% c("loo", "quantile")) loo(object)$rows$residual else fit_residuals(object, rows, type)
  stats::naresid(object$na.action, stats::setNames(values, rownames(rows$x)))
}

# Residuals of the fit with all rows, as for glm().
fit_residuals <- function(object, rows, type) {
  likelihood <- model_info(object)$likelihood
  if (likelihood == "gaussian") {
    off <- answer_values(rows, likelihood) - predict_rows(object, rows)[, "mean"]
    return(if (type == "response" || is.null(rows$weights)) off else off * sqrt(rows$weights))
  }
  y <- answer_values(rows, likelihood)
  found <- predict_answers(object, rows)
  off <- y - found$values[, "mean"]
  if (type == "response") {
    return(off)
  }
  weight <- rep_len(1, length(y)) * (if (is.null(rows$weights)) 1 else rows$weights) * (if (is.null(rows$trials)) 1 else rows$trials)
  if (likelihood == "ordinal") {
    level <- as.vector(found$levels %*% seq_len(ncol(found$levels)))
    variance <- as.vector(found$levels %*% seq_len(ncol(found$levels))^2) - level^2
    deviance <- -2 * weight * log(found$levels[cbind(seq_along(y), y)])
  } else {
    family <- family.oatgp(object)
    variance <- family$variance(found$values[, "mean"])
    deviance <- family$dev.resids(y, found$values[, "mean"], weight)
  }
  if (type == "pearson") off * sqrt(weight / variance) else sign(off) * sqrt(pmax(deviance, 0))
}

deviance.oatgp <- function(object, ...) {
  sum(fit_residuals(object, own_rows(object, sys.call()), "deviance")^2)
}

# As simulate() for lm(): with a seed, the generator is restored afterwards; the state that was used is an attribute of the result.
simulate.oatgp <- function(object, nsim = 1, seed = NULL, newdata = NULL, what = c("response", "function"), weights = NULL,
                           noise_variance = NULL, offset = NULL, trials = NULL, ...) {
  call <- sys.call()
  what <- match.arg(what)
  if (is.null(newdata)) {
    rows <- own_rows(object, call)
    omitted <- object$na.action
  } else {
    omitted <- NULL
    given <- list(weights = weights, noise_variance = noise_variance, offset = offset, trials = trials)
    rows <- rows_without_target(object, newdata, given, what == "response", stats::na.fail, call)
  }
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
    stats::runif(1)
  }
  before <- get(".Random.seed", envir = globalenv())
  state <- before
  if (!is.null(seed)) {
    set.seed(seed)
    state <- structure(seed, kind = as.list(RNGkind()))
    on.exit(assign(".Random.seed", before, envir = globalenv()))
  }
  info <- model_info(object)
  draws <- receive(.Call(C_entry_samples, object$pointer, rows, as.integer(nsim), as.double(draw_seed()), what == "response"), call)
  if (what == "function" && !is.null(rows$exposure)) {
    draws <- draws + log(rows$exposure)
  }
  draws <- draws + offset_of(rows)
  colnames(draws) <- paste0("sim_", seq_len(ncol(draws)))
  rownames(draws) <- rownames(rows$x)
  draws <- stats::naresid(omitted, draws)
  answers <- what == "response" && info$likelihood != "gaussian"
  table <- if (answers) drawn_answers(draws, rows, omitted, model_kind(object, info), info) else as.data.frame(draws)
  structure(table, seed = state)
}

# Draws in the kind of the response: pairs are matrices in the columns, as in simulate() for glm().
drawn_answers <- function(draws, rows, omitted, kind, info) {
  trials <- stats::naresid(omitted, if (is.null(rows$trials)) rep(1, nrow(rows$x)) else rows$trials)
  columns <- lapply(seq_len(ncol(draws)), function(i) {
    switch(kind, pairs = cbind(successes = draws[, i], failures = trials - draws[, i]), share = draws[, i] / trials,
           as_response(draws[, i], kind, info))
  })
  table <- data.frame(row.names = rownames(draws))
  table[colnames(draws)] <- columns
  table
}
