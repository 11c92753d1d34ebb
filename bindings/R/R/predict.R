# Prediction and draws.

# Rows with NA in them are NA in the result. Parts of a size for which the library promises the same bits; between them R can be interrupted.
predict_rows <- function(object, frame, threads = NULL, call = NULL) {
  x <- frame$x
  result <- matrix(NA_real_, nrow(x), 3, dimnames = list(rownames(x), c("mean", "latent", "observation")))
  complete <- which(rowSums(is.na(x)) == 0)
  settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
  levels <- if (is.null(frame$levels)) model_levels(object) else frame$levels
  for (first in seq(1, by = 65536, length.out = ceiling(length(complete) / 65536))) {
    part <- complete[first:min(first + 65535, length(complete))]
    some <- list(x = x[part, , drop = FALSE], weights = frame$weights[part], noise_variance = frame$noise_variance[part], levels = levels)
    result[part, ] <- receive(.Call(C_entry_predict, object$model, some, settings), call)
  }
  result
}

# Derivatives at rows without NA, as an array: rows, inputs, and those of the mean and of the standard error.
gradient_rows <- function(object, frame, threads = NULL, call = NULL) {
  x <- frame$x
  inputs <- model_info(object)$inputs
  result <- array(NA_real_, c(nrow(x), length(inputs), 2), dimnames = list(rownames(x), inputs, c("fit", "se.fit")))
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) > 0) {
    settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
    levels <- if (is.null(frame$levels)) model_levels(object) else frame$levels
    found <- receive(.Call(C_entry_gradient, object$model, list(x = x[complete, , drop = FALSE], levels = levels), settings), call)
    result[complete, , "fit"] <- found$mean
    result[complete, , "se.fit"] <- found$se.fit
  }
  result
}

# The effects at rows without NA: the summands of the covariance, less their averages over the rows of the fit or, where the model does not hold
# them, over these.
effect_rows <- function(object, x, levels = NULL, threads = NULL, call = NULL) {
  settings <- as_settings(if (is.null(threads)) list() else list(threads = threads), "predict", call)
  with_levels <- function(x, levels) list(x = x, levels = if (is.null(levels)) model_levels(object) else levels)
  over <- if (is.null(object$rows)) NULL else with_levels(object$rows$x, object$rows$levels)
  receive(.Call(C_entry_effects, object$model, with_levels(x, levels), over, settings), call)
}

# As predict() does for lm() and gam() with type = "terms": a column for each term, and what they are to be added to as an attribute.
predict_terms <- function(object, rows, se.fit, omitted, threads, call) {
  x <- rows$x
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) == 0) {
    fail("there is no row without NA, and so no term", "data", call)
  }
  found <- effect_rows(object, x[complete, , drop = FALSE], rows$levels, threads, call)
  spread <- function(values) {
    all <- matrix(NA_real_, nrow(x), ncol(values), dimnames = list(rownames(x), found$name))
    all[complete, ] <- values
    stats::napredict(omitted, all)
  }
  level <- predict_rows(object, rows, threads, call)[complete, "mean"] - rowSums(found$mean)
  linear <- !is.null(model_info(object)$slopes)
  fit <- structure(spread(found$mean), constant = if (linear) level else mean(level), share = stats::setNames(found$share, found$name))
  if (se.fit) list(fit = fit, se.fit = spread(found$sd), residual.scale = sigma.oatgp(object)) else fit
}

predict.oatgp <- function(object, newdata, se.fit = FALSE, interval = c("none", "confidence", "prediction"), level = 0.95,
                          cov = FALSE, weights = NULL, noise_variance = NULL, na.action = stats::na.pass, threads = NULL, type = c("response", "terms"),
                          gradient = FALSE, ...) {
  call <- sys.call()
  interval <- match.arg(interval)
  type <- match.arg(type)
  if (...length() > 0) {
    fail(sprintf("predict() has no argument '%s'", names(list(...))[1]), call = call)
  }
  if (!is.numeric(level) || length(level) != 1 || !(level > 0 && level < 1)) {
    fail("level must be a probability between 0 and 1", call = call)
  }
  if (missing(newdata) || is.null(newdata)) {
    rows <- own_rows(object, call)
    omitted <- object$na.action
  } else {
    new <- new_inputs(object, newdata, na.action, call)
    omitted <- new$na.action
    noise <- new_noise(object, newdata, weights, noise_variance, interval == "prediction", call)
    kept <- setdiff(seq_len(NROW(newdata)), omitted)
    noise <- lapply(noise, function(values) if (length(values) == NROW(newdata)) values[kept] else values)
    rows <- make_frame(new$x, NULL, noise$weights, noise$noise_variance, call = call, levels = new$levels)
  }
  if (type == "terms") {
    if (interval != "none" || cov || gradient) {
      fail("terms have neither interval nor cov nor gradient: use se.fit", call = call)
    }
    return(predict_terms(object, rows, se.fit, omitted, threads, call))
  }
  values <- predict_rows(object, rows, threads, call)
  pad <- function(v) stats::napredict(omitted, v)
  column <- function(name) stats::setNames(values[, name], rownames(values)) # that of one row, too
  fit <- column("mean")
  if (interval != "none") {
    half <- stats::qnorm((1 + level) / 2) * column(if (interval == "confidence") "latent" else "observation")
    fit <- cbind(fit = fit, lwr = fit - half, upr = fit + half)
  }
  if (!se.fit && !cov && !gradient) {
    return(pad(fit))
  }
  result <- list(fit = pad(fit))
  if (gradient) {
    slopes <- gradient_rows(object, rows, threads, call)
    part <- function(name) {
      pad(matrix(slopes[, , name], nrow(slopes), ncol(slopes), dimnames = dimnames(slopes)[1:2]))
    }
    result$gradient <- part("fit")
    result$se.gradient <- part("se.fit")
  }
  if (se.fit) {
    result$se.fit <- pad(column("latent"))
    result$residual.scale <- sigma.oatgp(object)
  }
  if (cov) {
    result$cov <- pad(t(pad(joint_covariance(object, rows, call))))
  }
  result
}

joint_covariance <- function(object, rows, call) {
  x <- rows$x
  result <- matrix(NA_real_, nrow(x), nrow(x), dimnames = list(rownames(x), rownames(x)))
  complete <- which(rowSums(is.na(x)) == 0)
  if (length(complete) > 0) {
    some <- list(x = x[complete, , drop = FALSE], levels = rows$levels)
    result[complete, complete] <- receive(.Call(C_entry_covariance, object$model, some), call)
  }
  result
}

fitted.oatgp <- function(object, ...) {
  predict.oatgp(object)
}

residuals.oatgp <- function(object, type = c("response", "loo"), ...) {
  type <- match.arg(type)
  rows <- own_rows(object, sys.call())
  values <- if (type == "loo") {
    loo(object)$rows$residual
  } else {
    rows$y - predict_rows(object, rows)[, "mean"]
  }
  stats::naresid(object$na.action, stats::setNames(values, rownames(rows$x)))
}

# As simulate() does for lm(): with a seed, the generator is put back afterwards; the state that was used comes with the result.
simulate.oatgp <- function(object, nsim = 1, seed = NULL, newdata = NULL, what = c("response", "function"), weights = NULL,
                           noise_variance = NULL, ...) {
  call <- sys.call()
  what <- match.arg(what)
  if (is.null(newdata)) {
    rows <- own_rows(object, call)
    omitted <- object$na.action
  } else {
    omitted <- NULL
    noise <- new_noise(object, newdata, weights, noise_variance, what == "response", call)
    new <- new_inputs(object, newdata, stats::na.fail, call)
    rows <- make_frame(new$x, NULL, noise$weights, noise$noise_variance, call = call, levels = new$levels)
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
  draws <- receive(.Call(C_entry_samples, object$model, rows, as.integer(nsim), as.double(draw_seed())), call)
  if (what == "response") {
    noise <- sigma.oatgp(object) / sqrt(if (is.null(rows$weights)) 1 else rows$weights)
    known <- sqrt(if (is.null(rows$noise_variance)) 0 else rows$noise_variance)
    unit <- max(noise, known, .Machine$double.xmin) # squares are formed in this unit, where they are in the range of numbers
    sd <- unit * sqrt((noise / unit)^2 + (known / unit)^2)
    draws <- draws + stats::rnorm(length(draws), 0, rep_len(sd, nrow(draws)))
  }
  colnames(draws) <- paste0("sim_", seq_len(ncol(draws)))
  rownames(draws) <- rownames(rows$x)
  structure(as.data.frame(stats::naresid(omitted, draws)), seed = state)
}
