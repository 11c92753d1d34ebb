# The quality of the model: leave-one-out, bounds of the evidence, scores of new rows.

loo <- function(x, ...) {
  UseMethod("loo")
}

cv <- function(x, ...) {
  UseMethod("cv")
}

certify <- function(x, ...) {
  UseMethod("certify")
}

score <- function(x, ...) {
  UseMethod("score")
}

# The rows of the fit: the object's own, or given again.
rows_of_fit <- function(object, data, given, call) {
  if (is.null(data)) own_rows(object, call) else new_rows(object, data, given, call)
}

# Without the scores that have no meaning for the response.
known_scores <- function(scores) {
  scores <- unlist(scores)
  scores[!is.nan(scores) | names(scores) %in% c("rmse", "srmse", "mnlp", "mean_nlp")]
}

# Levels are numbered from 1, as R does.
held_out <- function(object, result, rows, class) {
  values <- as.data.frame(result$rows)
  names(values) <- c("mean", "sd", "nlp", "residual")
  if (model_info(object)$likelihood == "ordinal") {
    values$mean <- values$mean + 1
    rows$y <- rows$y + 1
  }
  values$mean <- values$mean + offset_of(rows)
  rows$y <- rows$y + offset_of(rows)
  names <- if (anyDuplicated(rownames(rows$x))) NULL else rownames(rows$x) # added rows may have the same names
  values <- data.frame(y = rows$y, values, row.names = names)
  structure(list(rows = values, scores = known_scores(result$scores)), class = c(class, "oatgp_held_out"))
}

print.oatgp_held_out <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(switch(class(x)[1], oatgp_loo = "Leave-one-out", "Cross-validation"), " of ", x$scores[["n"]], " rows\n", sep = "")
  shown <- c("rmse", "srmse", "mnlp", "mean_nlp", "deviance", "log_loss", "brier", "accuracy", "auc", "coverage50", "coverage95")
  print(x$scores[intersect(shown, names(x$scores))], digits = digits)
  far <- which(abs(x$rows$residual) > 4)
  if (length(far) > 0) {
    cat("\nRows to look at (standardised residual beyond 4):\n")
    print(x$rows[utils::head(far, 10), ], digits = digits)
  }
  invisible(x)
}

loo.oatgp <- function(x, data = NULL, y = NULL, weights = NULL, noise_variance = NULL, offset = NULL, trials = NULL, ...) {
  call <- sys.call()
  given <- list(y = y, weights = weights, noise_variance = noise_variance, offset = offset, trials = trials)
  rows <- rows_of_fit(x, data, given, call)
  held_out(x, receive(.Call(C_entry_loo, x$pointer, rows), call), rows, "oatgp_loo")
}

# Every fold is fitted with the model's settings; folds are drawn by R's generator.
cv.oatgp <- function(x, folds = 10, ..., progress = interactive(), on_interrupt = c("stop", "return")) {
  call <- sys.call()
  on_interrupt <- match.arg(on_interrupt)
  rows <- own_rows(x, call)
  settings <- x$settings
  settings["seed"] <- draw_seed()
  split <- split_knots(c(list(folds = folds), list(...)), rows, call)
  changed <- as_settings(split$settings, "cv", call)
  knots <- if (is.null(split$knots) && !"knots" %in% names(changed)) x$knots else split$knots
  settings[names(changed)] <- changed
  settings <- preset_first(settings[!names(settings) %in% c("checkpoint", "checkpoint_seconds", "resume")])
  result <- .Call(C_entry_cv, rows, settings, knots, progress)
  folds <- held_out(x, receive(result, call, progress), rows, "oatgp_cv")
  if (result$interrupted) end_interrupted(folds, "that of the folds that were done", on_interrupt, call) else folds
}

certify.oatgp <- function(x, data = NULL, y = NULL, weights = NULL, noise_variance = NULL, progress = interactive(),
                          on_interrupt = c("stop", "return"), ...) {
  call <- sys.call()
  on_interrupt <- match.arg(on_interrupt)
  rows <- rows_of_fit(x, data, list(y = y, weights = weights, noise_variance = noise_variance), call)
  result <- .Call(C_entry_certify, x$pointer, rows, as_settings(list(...), "certify", call), progress)
  certificate <- structure(receive(result, call, progress), class = "oatgp_certificate")
  if (result$interrupted) end_interrupted(certificate, "the bounds so far", on_interrupt, call) else certificate
}

print.oatgp_certificate <- function(x, digits = getOption("digits"), ...) {
  number <- function(value) format(value, digits = digits)
  small <- function(value) format(value, digits = 3)
  cat("Log evidence of ", x$n, " rows at the model's parameters: from ", number(x$lower), " to ", number(x$upper), "\n",
      "ELBO ", number(x$elbo), ": the sparse posterior is at most ", small(x$kl_at_most), " nats (", small(x$kl_per_row),
      " a row) from the exact one\n", sep = "")
  if (!is.na(x$exact)) {
    cat("Exact: ", number(x$exact), "\n", sep = "")
  }
  invisible(x)
}

score.oatgp <- function(x, newdata, y = NULL, weights = NULL, noise_variance = NULL, offset = NULL, trials = NULL, ...) {
  call <- sys.call()
  given <- list(y = y, weights = weights, noise_variance = noise_variance, offset = offset, trials = trials)
  known_scores(receive(.Call(C_entry_score, x$pointer, new_rows(x, newdata, given, call)), call))
}

sensitivity <- function(x, ...) {
  UseMethod("sensitivity")
}

# Sobol' indices, the largest total first; functions are drawn by R's generator.
sensitivity.oatgp <- function(x, newdata = NULL, draws = 128, level = 0.95, ...) {
  call <- sys.call()
  if (!is.numeric(draws) || length(draws) != 1 || !is.finite(draws) || draws < 2 || draws != floor(draws)) {
    fail("draws must be a whole number of at least 2", call = call)
  }
  rows <- NULL
  if (!is.null(newdata)) {
    rows <- rows_without_target(x, newdata, list(), FALSE, stats::na.omit, call)
    rows <- list(x = rows$x, levels = if (is.null(rows$levels)) model_levels(x) else rows$levels)
  }
  found <- receive(.Call(C_entry_sensitivity, x$pointer, rows, as.double(draws), as.double(draw_seed()), as.double(level)), call)
  values <- as.data.frame(found$indices)
  names(values) <- c("first", "first_lower", "first_upper", "total", "total_lower", "total_upper")
  rownames(values) <- model_info(x)$inputs
  values <- values[order(-values$total), ]
  attr(values, "sd") <- found$sd
  values
}
