# Methods for the generics of broom and tidymodels; registered when the package generics is loaded.

tidy.oatgp <- function(x, ...) {
  values <- coef.oatgp(x)
  data.frame(term = names(values), estimate = unname(values))
}

glance.oatgp <- function(x, ...) {
  info <- model_info(x)
  log_lik <- logLik.oatgp(x)
  data.frame(nobs = as.integer(info$n), knots = as.integer(info$knots), logLik = as.numeric(log_lik), lower = info$lower,
             upper = info$upper, df = attr(log_lik, "df"), AIC = stats::AIC(log_lik), BIC = stats::BIC(log_lik), sigma = sigma.oatgp(x),
             loo_rmse = info$loo_rmse, loo_mean_nlp = info$loo_mean_nlp, loo_coverage95 = info$loo_coverage95, seconds = info$seconds,
             stop = info$stop)
}

augment.oatgp <- function(x, data = NULL, newdata = NULL, interval = c("none", "confidence", "prediction"), level = 0.95, ...) {
  interval <- match.arg(interval)
  if (!is.null(newdata)) {
    columns <- predicted_columns(x, newdata, interval, level, ...)
    newdata <- as.data.frame(newdata)
    newdata[names(columns)] <- columns
    return(newdata)
  }
  rows <- own_rows(x, sys.call())
  omitted <- x$na.action
  x$na.action <- NULL
  columns <- predicted_columns(x, NULL, interval, level, ...)
  columns$.resid <- unname(residuals.oatgp(x))
  columns$.std.resid <- unname(residuals.oatgp(x, "loo"))
  data <- as.data.frame(if (is.null(data)) training_columns(x, rows) else data)
  if (nrow(data) == nrow(columns) + length(omitted)) { # rows that the fit left out get NA
    place <- rep(NA, nrow(data))
    place[setdiff(seq_along(place), omitted)] <- seq_len(nrow(columns))
    columns <- columns[place, ]
  }
  if (nrow(data) != nrow(columns)) {
    fail(sprintf("data has %d rows, but the fit has %d", nrow(data), nrow(columns)), "data", sys.call())
  }
  data[names(columns)] <- columns
  data
}

predicted_columns <- function(x, newdata, interval, level, ...) {
  values <- predict.oatgp(x, newdata, TRUE, interval, level, ...)
  columns <- cbind(values$fit, values$se.fit)
  dimnames(columns) <- list(NULL, c(".fitted", if (interval != "none") c(".lower", ".upper"), ".se.fit"))
  as.data.frame(columns)
}

training_columns <- function(x, rows) {
  info <- model_info(x)
  columns <- data.frame(as_response(rows$y + offset_of(rows), model_kind(x, info), info), rows$x, check.names = FALSE)
  names(columns) <- c(rows$target, colnames(rows$x))
  for (name in names(rows$levels)) {
    columns[[name]] <- factor(rows$levels[[name]][columns[[name]] + 1], rows$levels[[name]])
  }
  columns
}
