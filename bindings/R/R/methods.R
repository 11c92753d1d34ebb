# What a model says about itself.

coef.oatgp <- function(object, ...) {
  info <- model_info(object)
  if (length(info$parameters) > 0) {
    values <- c(info$parameters, tau = info$tau)
  } else {
    lengthscales <- info$lengthscales
    names(lengthscales) <- if (endsWith(info$kernel, "-ard")) paste0("lengthscale.", info$inputs) else "lengthscale"
    values <- c(sigma = info$sigma, lengthscales, tau = info$tau)
  }
  if (info$has_shape) {
    values <- c(values, shape = info$shape)
  }
  values <- c(values, mean = info$mean)
  if (!is.null(info$slopes)) {
    values <- c(values, stats::setNames(info$slopes, paste0("slope.", info$inputs)))
  }
  values
}

sigma.oatgp <- function(object, ...) {
  model_info(object)$tau
}

nobs.oatgp <- function(object, ...) {
  as.integer(model_info(object)$n)
}

formula.oatgp <- function(x, ...) {
  if (is.null(x$terms)) fail("this model was not made by a formula", call = sys.call()) else stats::formula(x$terms)
}

# Names with commas between them, without blanks; a comma in parentheses belongs to a name.
split_names <- function(text) {
  letters <- strsplit(gsub(" ", "", text, fixed = TRUE), "")[[1]]
  depth <- cumsum((letters == "(") - (letters == ")"))
  letters[letters == "," & depth == 0] <- "\n"
  strsplit(paste(letters, collapse = ""), "\n", fixed = TRUE)[[1]]
}

# Parameters that the fit has chosen; knots are no parameters of the model, they only approximate it.
parameter_count <- function(info) {
  fixed <- sub("^fix = ", "", grep("^fix = ", strsplit(info$settings, "\n", fixed = TRUE)[[1]], value = TRUE))
  fixed <- split_names(fixed)
  free <- c(sigma = 1, lengthscale = length(info$lengthscales), tau = 1, shape = info$has_shape)
  if (length(info$parameters) > 0) {
    # a parameter is fixed by its name or by the word for what it is, such as the lengthscale of se(x).lengthscale
    names <- names(info$parameters)
    kinds <- sub("^.*[.]([a-z]+)([(].*)?$", "\\1", names)
    free <- c(tau = 1, stats::setNames(as.numeric(!kinds %in% fixed), gsub(" ", "", names, fixed = TRUE)))
  }
  mean <- if (info$mean_kind == "linear") 1 + info$d else if (info$mean_kind %in% c("fit", "mean")) 1 else 0
  sum(free[!names(free) %in% fixed]) + mean
}

logLik.oatgp <- function(object, certify = FALSE, ...) {
  info <- model_info(object)
  bounds <- c(info$lower, info$upper)
  if (certify) {
    certificate <- certify.oatgp(object, ...)
    bounds <- c(certificate$lower, certificate$upper)
  }
  structure(info$objective, df = parameter_count(info), nobs = as.integer(info$n), lower = bounds[1], upper = bounds[2],
            approx = info$approx, class = c("logLik.oatgp", "logLik"))
}

print.logLik.oatgp <- function(x, digits = getOption("digits"), ...) {
  what <- switch(attr(x, "approx"), vfe = , tvfe = "lower bound of the log evidence", full = "log evidence", "approximate log evidence")
  cat("'log Lik.' ", format(c(x), digits = digits), " (df=", format(attr(x, "df")), "): ", what, "\n", sep = "")
  if (!is.na(attr(x, "lower"))) {
    cat("exact log evidence between ", format(attr(x, "lower"), digits = digits), " and ", format(attr(x, "upper"), digits = digits), "\n",
        sep = "")
  }
  invisible(x)
}

# Knots in the data's units, with the posterior mean and sd of the function there.
knots.oatgp <- function(Fn, ...) {
  values <- receive(.Call(C_entry_knots, Fn$model), sys.call())
  colnames(values) <- c(model_info(Fn)$inputs, "mean", "sd")
  as.data.frame(values)
}

model_words <- function(info) {
  approx <- if (info$approx == "full") "full GP" else sprintf("%s with %d knots", info$approx, as.integer(info$knots))
  if (info$neighbours > 0) {
    approx <- sprintf("%s and %d neighbours", approx, as.integer(info$neighbours))
  }
  sprintf("%s, kernel %s, %d rows, %d input%s", approx, info$kernel, as.integer(info$n), as.integer(info$d), if (info$d == 1) "" else "s")
}

print_call <- function(call) {
  cat("\nCall:\n", paste(deparse(short_call(call)), collapse = "\n"), "\n\n", sep = "")
}

print.oatgp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  info <- model_info(x)
  print_call(x$call)
  units <- if (length(info$parameters) > 0) "in the data's units" else "lengthscales of standardised inputs"
  cat("Gaussian process: ", model_words(info), "\n\nCoefficients (", units, "):\n", sep = "")
  print(format(coef.oatgp(x), digits = digits), quote = FALSE)
  cat("\nObjective:", format(info$objective, digits = digits + 3L), "\n\n")
  invisible(x)
}

summary.oatgp <- function(object, ...) {
  info <- model_info(object)
  inputs <- NULL
  if (length(info$parameters) == 0) {
    lengthscales <- rep_len(info$lengthscales, info$d)
    inputs <- data.frame(lengthscale = lengthscales, in_units = lengthscales * info$input_scale, row.names = info$inputs)
  }
  residuals <- if (is.null(object$rows)) NULL else residuals.oatgp(object)
  structure(list(call = object$call, info = info, coefficients = coef.oatgp(object), inputs = inputs, residuals = residuals,
                 logLik = logLik.oatgp(object), sigma = info$tau), class = "summary.oatgp")
}

print.summary.oatgp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  info <- x$info
  print_call(x$call)
  cat("Gaussian process: ", model_words(info), "\n", sep = "")
  if (!is.null(x$residuals)) {
    cat("\nResiduals:\n")
    quantiles <- stats::quantile(x$residuals, na.rm = TRUE)
    names(quantiles) <- c("Min", "1Q", "Median", "3Q", "Max")
    print(zapsmall(quantiles, digits + 1L), digits = digits)
  }
  number <- function(value) format(value, digits = digits)
  if (is.null(x$inputs)) {
    cat("\nParameters of the kernel, in the data's units:\n")
    print(data.frame(value = info$parameters), digits = digits)
  } else {
    cat("\nInputs, the smaller the lengthscale the stronger the effect:\n")
    inputs <- x$inputs
    names(inputs) <- c("lengthscale", "in its units")
    print(inputs, digits = digits)
    cat("\nsd of the function (sigma): ", number(info$sigma), sep = "")
  }
  cat("\nsd of the noise (tau):      ", number(info$tau),
      "\nprior mean:                 ", number(info$mean), " (", info$mean_kind, ")\n", sep = "")
  if (!is.na(info$loo_rmse)) {
    cat("Leave-one-out: RMSE ", number(info$loo_rmse), ", mean NLP ", number(info$loo_mean_nlp), ", ",
        number(100 * info$loo_coverage95), " % of rows in their 95 % interval\n", sep = "")
  }
  print(x$logLik, digits = digits + 3L)
  cat(as.integer(info$evaluations), " evaluations in ", format(info$seconds, digits = 3), " s; stopped: ", info$stop_sentence, "\n\n",
      sep = "")
  invisible(x)
}
