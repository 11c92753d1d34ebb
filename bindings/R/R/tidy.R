# Methods for the generics of broom and tidymodels; registered when the package generics is loaded.

tidy.oatgp <- function(x, ...) {
  values <- coef.oatgp(x)
  data.frame(term = names(values), estimate = unname(values))
}

glance.oatgp <- function(x, ...) {
  info <- model_info(x)
  log_lik <- logLik.oatgp(x)
  data.frame(nobs = as.integer(info$n), knots = as.integer(info$knots), logLik = as.numeric(log_lik), lower = info$lower,
             upper = info$upper, df = attr(log_lik, "df"), AIC = stats::AIC(log_lik), BIC = stats::BIC(log_lik), sigma = info$tau,
             loo_rmse = info$loo_rmse, loo_mean_nlp = info$loo_mean_nlp, loo_coverage95 = info$loo_coverage95, seconds = info$seconds,
             stop = info$stop)
}

augment.oatgp <- function(x, data = NULL, newdata = NULL, interval = c("none", "confidence", "prediction"), level = 0.95, ...) {
  interval <- match.arg(interval)
  rows <- if (is.null(newdata)) own_rows(x, sys.call()) else NULL
  to <- if (!is.null(newdata)) newdata else if (!is.null(data)) data else training_columns(rows)
  values <- if (is.null(newdata)) predict.oatgp(x, NULL, TRUE, interval, level) else predict.oatgp(x, newdata, TRUE, interval, level)
  result <- as.data.frame(to)
  if (nrow(result) != NROW(values$fit)) {
    fail(sprintf("data has %d rows and the fit %d", nrow(result), NROW(values$fit)), "data", sys.call())
  }
  if (interval == "none") {
    result$.fitted <- unname(values$fit)
  } else {
    result$.fitted <- unname(values$fit[, "fit"])
    result$.lower <- unname(values$fit[, "lwr"])
    result$.upper <- unname(values$fit[, "upr"])
  }
  result$.se.fit <- unname(values$se.fit)
  if (is.null(newdata)) {
    result$.resid <- unname(residuals.oatgp(x))
    result$.std.resid <- unname(residuals.oatgp(x, "loo"))
  }
  result
}

training_columns <- function(rows) {
  columns <- data.frame(rows$y, rows$x, check.names = FALSE)
  names(columns) <- c(rows$target, colnames(rows$x))
  columns
}
