# How good the model is: rows left out, bounds of the evidence, scores of new rows.

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
rows_of_fit <- function(object, data, y, weights, noise_variance, call) {
  if (is.null(data)) own_rows(object, call) else new_rows(object, data, y, weights, noise_variance, call)
}

held_out <- function(result, rows, class) {
  values <- as.data.frame(result$rows)
  names(values) <- c("mean", "sd", "nlp", "residual")
  names <- if (anyDuplicated(rownames(rows$x))) NULL else rownames(rows$x) # rows that came later can have the same names
  values <- data.frame(y = rows$y, values, row.names = names)
  structure(list(rows = values, scores = unlist(result$scores)), class = c(class, "oatgp_held_out"))
}

print.oatgp_held_out <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(switch(class(x)[1], oatgp_loo = "Leave-one-out", "Cross-validation"), " of ", x$scores[["n"]], " rows\n", sep = "")
  print(x$scores[c("rmse", "srmse", "mnlp", "mean_nlp", "coverage50", "coverage95")], digits = digits)
  far <- which(abs(x$rows$residual) > 4)
  if (length(far) > 0) {
    cat("\nRows to look at (standardised residual beyond 4):\n")
    print(x$rows[utils::head(far, 10), ], digits = digits)
  }
  invisible(x)
}

loo.oatgp <- function(x, data = NULL, y = NULL, weights = NULL, noise_variance = NULL, ...) {
  call <- sys.call()
  rows <- rows_of_fit(x, data, y, weights, noise_variance, call)
  held_out(receive(.Call(C_entry_loo, x$model, rows), call), rows, "oatgp_loo")
}

# Every fold is fitted as the model was; folds are drawn by R's generator.
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
  folds <- held_out(receive(result, call, progress), rows, "oatgp_cv")
  if (result$interrupted) end_interrupted(folds, "that of the folds that were done", on_interrupt, call) else folds
}

certify.oatgp <- function(x, data = NULL, y = NULL, weights = NULL, noise_variance = NULL, progress = interactive(),
                          on_interrupt = c("stop", "return"), ...) {
  call <- sys.call()
  on_interrupt <- match.arg(on_interrupt)
  rows <- rows_of_fit(x, data, y, weights, noise_variance, call)
  result <- .Call(C_entry_certify, x$model, rows, as_settings(list(...), "certify", call), progress)
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

score.oatgp <- function(x, newdata, y = NULL, weights = NULL, noise_variance = NULL, ...) {
  call <- sys.call()
  rows <- new_rows(x, newdata, y, weights, noise_variance, call)
  unlist(receive(.Call(C_entry_score, x$model, rows), call))
}
