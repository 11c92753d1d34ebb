# Descriptions of a model.

coef.oatgp <- function(object, ...) {
  info <- model_info(object)
  noise <- if (info$likelihood == "gaussian") c(tau = info$tau) else own_parameters(info)
  if (length(info$parameters) > 0) {
    values <- c(info$parameters, noise)
  } else {
    lengthscales <- info$lengthscales
    names(lengthscales) <- if (endsWith(info$kernel, "-ard")) paste0("lengthscale.", info$inputs) else "lengthscale"
    values <- c(sigma = info$sigma, lengthscales, noise)
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

# Parameters of the family, by the names that the settings have for them.
own_parameters <- function(info) {
  values <- info$likelihood_parameters
  names(values) <- sub("^(shape|scale)$", "likelihood_\\1", names(values))
  values
}

# The sd of Gaussian noise, or the scale of Student's t; other families have neither.
sigma.oatgp <- function(object, ...) {
  info <- model_info(object)
  switch(info$likelihood, gaussian = info$tau, "student-t" = info$likelihood_parameters[["scale"]], NA_real_)
}

nobs.oatgp <- function(object, ...) {
  as.integer(model_info(object)$n)
}

formula.oatgp <- function(x, ...) {
  if (is.null(x$formula)) fail("this model was not made by a formula", call = sys.call()) else stats::formula(x$formula)
}

terms.oatgp <- function(x, ...) {
  if (is.null(x$terms)) {
    fail("this model was not made by a formula, so it has no terms", call = sys.call())
  }
  if (is.null(x$term_labels)) x$terms else written_terms(formula.oatgp(x))
}

# The terms of a formula with s() or (1 | f) as they are written, so that drop1() and step() remove them.
written_terms <- function(formula) {
  terms <- stats::terms(formula)
  bar <- vapply(attr(terms, "term.labels"), function(label) identical(as.list(str2lang(label))[[1]], quote(`|`)), NA)
  attr(terms, "term.labels")[bar] <- sprintf("(%s)", attr(terms, "term.labels")[bar])
  colnames(attr(terms, "factors")) <- attr(terms, "term.labels")
  terms
}

# The last term stays: there is no model without inputs. Its AIC is NA, so that step() ends there.
drop1.oatgp <- function(object, ...) {
  last <- attr(terms.oatgp(object), "term.labels")
  if (length(last) > 1) {
    return(NextMethod())
  }
  k <- if (is.null(list(...)$k)) 2 else list(...)$k
  table <- data.frame(Df = c(NA_real_, NA_real_), AIC = c(extractAIC.oatgp(object, k = k)[2], NA), row.names = c("<none>", last))
  heading <- c("Single term deletions", "\nModel:", deparse1(formula.oatgp(object)), "", "The last term cannot be dropped: a model needs an input.")
  structure(table, heading = heading, class = c("anova", "data.frame"))
}

# The model frame of the fit; for a model without a formula, or with added rows, response and inputs.
model.frame.oatgp <- function(formula, ...) {
  if (...length() > 0 && !is.null(formula$terms)) {
    return(stats::model.frame(formula$terms, ...))
  }
  if (is.null(formula$model)) training_columns(formula, own_rows(formula, sys.call())) else formula$model
}

# As for lm(); for a model without a formula, the inputs.
model.matrix.oatgp <- function(object, ...) {
  if (is.null(object$terms)) {
    return(own_rows(object, sys.call())$x)
  }
  stats::model.matrix(stats::delete.response(object$terms), model.frame.oatgp(object), contrasts.arg = object$contrasts, ...)
}

# The given weights; for shares with binomial(), the numbers of trials.
weights.oatgp <- function(object, ...) {
  rows <- own_rows(object, sys.call())
  values <- if (model_kind(object) == "share") rows$trials else rows$weights
  if (!is.null(values)) stats::naresid(object$na.action, stats::setNames(values, rownames(rows$x)))
}

# The derivative of each fitted value with respect to its own response. Fitted values of an averaged model are weighted means of those of its
# members, and so are their derivatives.
hatvalues.oatgp <- function(model, ...) {
  call <- sys.call()
  rows <- own_rows(model, call)
  info <- model_info(model)
  if (info$likelihood != "gaussian" || info$neighbours > 0) {
    fail("hatvalues() needs a Gaussian model without neighbours; residuals(fit, \"loo\") shows how far each row is from the others", call = call)
  }
  members <- model_members(model, info)
  hat <- Reduce(`+`, Map(function(weight, member) weight * own_hatvalues(member, rows), members$weight, members$model))
  stats::naresid(model$na.action, stats::setNames(hat, rownames(rows$x)))
}

# At given parameters, y - fitted = (1 - h) (y - fitted without the row).
own_hatvalues <- function(model, rows) {
  left_out <- loo.oatgp(model)$rows
  1 - fit_residuals(model, rows, "response") / (left_out$y - left_out$mean)
}

# Leave-one-out residuals in units of their standard deviation.
rstudent.oatgp <- function(model, ...) {
  residuals.oatgp(model, "loo")
}

# The labels of the formula as written.
labels.oatgp <- function(object, ...) {
  if (is.null(object$term_labels)) labels(terms.oatgp(object)) else object$term_labels
}

extractAIC.oatgp <- function(fit, scale, k = 2, ...) {
  found <- logLik.oatgp(fit)
  c(attr(found, "df"), -2 * as.numeric(found) + k * attr(found, "df"))
}

vcov.oatgp <- function(object, ...) {
  fail(paste("the covariance of the parameters is not computed: predictions hold them at their estimates, or average over draws of them;",
             "loo() and cv() say how good predictions are"), call = sys.call())
}

anova.oatgp <- function(object, ...) {
  fail("there is no analysis of variance of a Gaussian process: compare models by AIC(), cv() or loo(), and terms by predict(fit, type = \"terms\")",
       call = sys.call())
}

# Names with commas between them, without blanks; a comma in parentheses belongs to a name.
split_names <- function(text) {
  letters <- strsplit(gsub(" ", "", text, fixed = TRUE), "")[[1]]
  depth <- cumsum((letters == "(") - (letters == ")"))
  letters[letters == "," & depth == 0] <- "\n"
  strsplit(paste(letters, collapse = ""), "\n", fixed = TRUE)[[1]]
}

# The number of estimated parameters. Knots do not count, because they only approximate the model.
parameter_count <- function(info) {
  fixed <- sub("^fix = ", "", grep("^fix = ", strsplit(info$settings, "\n", fixed = TRUE)[[1]], value = TRUE))
  fixed <- split_names(fixed)
  noise <- if (info$likelihood == "gaussian") c(tau = 1) else own_parameters(info)
  noise[] <- rep(1, length(noise))
  free <- c(sigma = 1, lengthscale = length(info$lengthscales), noise, shape = info$has_shape)
  if (length(info$parameters) > 0) {
    # a parameter is fixed by its name or by its kind, such as lengthscale for se(x).lengthscale
    names <- names(info$parameters)
    kinds <- sub("^.*[.]([a-z]+)([(].*)?$", "\\1", names)
    free <- c(noise, stats::setNames(as.numeric(!kinds %in% fixed), gsub(" ", "", names, fixed = TRUE)))
  }
  mean <- if (info$mean_kind == "linear") 1 + info$d else if (info$mean_kind %in% c("fit", "mean")) 1 else 0
  sum(free[!names(free) %in% fixed]) + mean
}

# With families other than the Gaussian, the objective of the full model is also a lower bound.
objective_words <- function(info) {
  bound <- "lower bound of the log evidence"
  if (info$likelihood != "gaussian") bound else switch(info$approx, vfe = , tvfe = bound, full = "log evidence", "approximate log evidence")
}

logLik.oatgp <- function(object, certify = FALSE, ...) {
  info <- model_info(object)
  bounds <- c(info$lower, info$upper)
  if (certify) {
    certificate <- certify.oatgp(object, ...)
    bounds <- c(certificate$lower, certificate$upper)
  }
  structure(info$objective - info$log_prior, df = parameter_count(info), nobs = as.integer(info$n), lower = bounds[1], upper = bounds[2],
            meaning = objective_words(info), class = c("logLik.oatgp", "logLik"))
}

print.logLik.oatgp <- function(x, digits = getOption("digits"), ...) {
  cat("'log Lik.' ", format(c(x), digits = digits), " (df=", format(attr(x, "df")), "): ", attr(x, "meaning"), "\n", sep = "")
  if (!is.na(attr(x, "lower"))) {
    cat("exact log evidence between ", format(attr(x, "lower"), digits = digits), " and ", format(attr(x, "upper"), digits = digits), "\n",
        sep = "")
  }
  invisible(x)
}

# Knots in the data's units, with the posterior mean and sd of the function there.
knots.oatgp <- function(Fn, ...) {
  values <- receive(.Call(C_entry_knots, Fn$pointer), sys.call())
  colnames(values) <- c(model_info(Fn)$inputs, "mean", "sd")
  as.data.frame(values)
}

model_words <- function(info) {
  approx <- if (info$approx == "full") "full GP" else sprintf("%s with %d knots", info$approx, as.integer(info$knots))
  if (info$neighbours > 0) {
    approx <- sprintf("%s and %d neighbours", approx, as.integer(info$neighbours))
  }
  if (info$average > 0) {
    approx <- sprintf("%s, averaged over %d draws", approx, as.integer(info$average))
  }
  sprintf("%s, kernel %s, %d rows, %d input%s", approx, info$kernel, as.integer(info$n), as.integer(info$d), if (info$d == 1) "" else "s")
}

# Describes the responses and the function; nothing for Gaussian ones.
answer_words <- function(object, info) {
  if (info$likelihood == "gaussian") {
    return("")
  }
  words <- likelihood_words[[info$likelihood]]
  classes <- if (is_bernoulli(info$likelihood) && !is.null(info$classes)) sprintf("; yes is '%s'", info$classes[2])
  levels <- if (info$likelihood == "ordinal") sprintf(": %s", paste(model_classes(info), collapse = " < "))
  sprintf("Answers: %s%s; the function is %s%s\n", words[2], paste0(levels, collapse = ""), words[3], paste0(classes, collapse = ""))
}

print_call <- function(call) {
  cat("\nCall:\n", paste(deparse(short_call(call)), collapse = "\n"), "\n\n", sep = "")
}

print.oatgp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  info <- model_info(x)
  print_call(x$call)
  units <- if (length(info$parameters) > 0) "in the data's units" else "lengthscales of standardised inputs"
  cat("Gaussian process: ", model_words(info), "\n", answer_words(x, info), "\nCoefficients (", units, "):\n", sep = "")
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
  type <- if (info$likelihood == "gaussian") "response" else "deviance"
  residuals <- if (is.null(object$rows)) NULL else residuals.oatgp(object, type)
  structure(list(call = object$call, info = info, coefficients = coef.oatgp(object), inputs = inputs, residuals = residuals,
                 logLik = logLik.oatgp(object), sigma = sigma.oatgp(object), family = family.oatgp(object),
                 answers = answer_words(object, info)), class = "summary.oatgp")
}

# gap1 is the width of the second class: the first and the last have none.
parameter_words <- function(name, info) {
  switch(name, shape = if (info$likelihood == "negative-binomial") "shape (theta)" else "shape", scale = "scale",
         degrees = "degrees of freedom", sprintf("width of '%s'", model_classes(info)[as.integer(sub("^gap", "", name)) + 1]))
}

# Describes the prior mean in terms of the response.
mean_words <- function(x, number) {
  value <- number(x$family$linkinv(x$info$mean))
  switch(x$info$likelihood, gaussian = , "student-t" = "", "bernoulli-logit" = , "bernoulli-probit" = , "binomial-logit" = paste(": probability", value),
         poisson = , "negative-binomial" = paste(": expected count", value), gamma = paste(": expected amount", value),
         beta = paste(": expected share", value), ordinal = paste(": expected class", value))
}

# Replaces names of settings such as tol-row by those in R.
with_underscores <- function(sentence) gsub("\\b(tol|max)-([a-z]+)", "\\1_\\2", sentence)

print.summary.oatgp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  info <- x$info
  print_call(x$call)
  cat("Gaussian process: ", model_words(info), "\n", x$answers, sep = "")
  if (!is.null(x$residuals)) {
    cat(if (info$likelihood == "gaussian") "\nResiduals:\n" else "\nDeviance residuals:\n")
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
  if (info$likelihood == "gaussian") {
    cat("\nsd of the noise (tau):      ", number(info$tau), sep = "")
  }
  for (name in names(info$likelihood_parameters)) {
    cat("\n", formatC(paste0(parameter_words(name, info), ":"), width = -28), number(info$likelihood_parameters[[name]]), sep = "")
  }
  cat("\nprior mean:                 ", number(info$mean), " (", info$mean_kind, ")", mean_words(x, number), "\n", sep = "")
  if (!is.na(info$loo_mean_nlp)) {
    coverage <- if (!is.na(info$loo_coverage95)) sprintf(", %s %% of rows in their 95 %% interval", number(100 * info$loo_coverage95))
    cat("Leave-one-out: RMSE ", number(info$loo_rmse), ", mean NLP ", number(info$loo_mean_nlp), coverage, "\n", sep = "")
  }
  print(x$logLik, digits = digits + 3L)
  cat(as.integer(info$evaluations), " evaluations in ", format(info$seconds, digits = 3), " s; stopped: ", with_underscores(info$stop_sentence), "\n\n",
      sep = "")
  invisible(x)
}
