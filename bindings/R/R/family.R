# Families: the distribution of the response around the function. In the library they are likelihoods.

# Each likelihood in R: the family as it is typed, a description of its responses, and of the function.
likelihood_words <- list(
  gaussian = c("gaussian()", "numbers with Gaussian noise", "the expected answer"),
  "bernoulli-logit" = c("binomial()", "yes or no", "the log odds of yes"),
  "bernoulli-probit" = c("binomial(\"probit\")", "yes or no", "the normal quantile of the probability of yes"),
  "binomial-logit" = c("binomial()", "successes of trials", "the log odds of a success"),
  poisson = c("poisson()", "counts, Poisson", "the log of the expected count"),
  "negative-binomial" = c("negbin()", "counts, negative binomial", "the log of the expected count"),
  gamma = c("Gamma(\"log\")", "amounts above 0, gamma", "the log of the expected amount"),
  "student-t" = c("\"student-t\"", "numbers with outliers, Student t", "the centre of the answers"),
  beta = c("\"beta\"", "shares, beta", "the log odds of the expected share"),
  ordinal = c("\"ordinal\"", "ordered classes", "the place on the scale that thresholds cut into classes")
)

family_text <- function(likelihood) likelihood_words[[likelihood]][1]

is_bernoulli <- function(likelihood) likelihood %in% c("bernoulli-logit", "bernoulli-probit")
is_binomial <- function(likelihood) is_bernoulli(likelihood) || likelihood == "binomial-logit"
is_shifted <- function(likelihood) likelihood %in% c("gaussian", "student-t") # by an offset; for others it is an exposure
takes_offset <- function(likelihood) is_shifted(likelihood) || likelihood %in% c("poisson", "negative-binomial", "gamma")

# ---- the argument family ------------------------------------------------------------------------------------------

# Further names of families that have no constructor in R, or several.
family_names <- c(gaussian = "gaussian", binomial = "bernoulli-logit", poisson = "poisson", Gamma = "gamma",
                  negbin = "negative-binomial", "negative.binomial" = "negative-binomial", nb = "negative-binomial")

# Links of R's own families, and the likelihoods that have them.
family_links <- list(gaussian = c(identity = "gaussian"), binomial = c(logit = "bernoulli-logit", probit = "bernoulli-probit"),
                     poisson = c(log = "poisson"), Gamma = c(log = "gamma"), "Negative Binomial" = c(log = "negative-binomial"))

# list(likelihood, theta): theta is the fixed shape of a negative binomial, or NULL. For binomial() this is the Bernoulli likelihood; the response
# decides whether there are trials.
as_family <- function(family, call = NULL) {
  if (is.function(family)) {
    family <- family()
  }
  if (is.character(family) && length(family) == 1 && !is.na(family)) {
    return(list(likelihood = named_likelihood(family, call)))
  }
  if (!inherits(family, "family")) {
    fail("family must be a family such as poisson(), or a name such as \"ordinal\"", call = call)
  }
  if (!is.null(family$likelihood)) {
    return(list(likelihood = family$likelihood, theta = family$theta))
  }
  name <- sub("^negative binomial.*$", "Negative Binomial", family$family, ignore.case = TRUE)
  links <- family_links[[name]]
  if (is.null(links)) {
    fail(sprintf("family %s is not one of those that oatgp() has: %s", family$family, known_families()), call = call)
  }
  if (!family$link %in% names(links)) {
    fail(sprintf("family %s has the link \"%s\", but oatgp() only has it with %s: write %s", family$family, family$link,
                 paste0("\"", names(links), "\"", collapse = " or "), sprintf("%s(link = \"%s\")", constructor(name), names(links)[1])),
         call = call)
  }
  list(likelihood = links[[family$link]], theta = if (name == "Negative Binomial") given_theta(family))
}

constructor <- function(name) if (name == "Negative Binomial") "negbin" else name

known_families <- function() {
  paste(unique(vapply(likelihood_words, function(words) words[1], "")), collapse = ", ")
}

named_likelihood <- function(name, call) {
  if (name %in% names(family_names)) {
    return(family_names[[name]])
  }
  if (!name %in% names(likelihood_words)) {
    fail(sprintf("there is no family \"%s\"; oatgp() has %s", name, known_families()), call = call)
  }
  if (name == "binomial-logit") "bernoulli-logit" else name
}

# The theta of negative.binomial() of MASS and negbin() of mgcv; nb() of mgcv has none yet.
given_theta <- function(family) {
  theta <- environment(family$variance)$.Theta
  if (is.null(theta)) {
    written <- sub("^[^(]*[(](.*)[)]$", "\\1", family$family)
    theta <- suppressWarnings(as.numeric(written))
  }
  if (length(theta) == 1 && !is.na(theta) && theta > 0) theta
}

negbin <- function(theta = NULL, link = "log") {
  call <- sys.call()
  if (!identical(link, "log")) {
    fail("negbin() only has the link \"log\"", call = call)
  }
  if (!is.null(theta) && !(is.numeric(theta) && length(theta) == 1 && isTRUE(theta > 0))) {
    fail("theta must be one positive number, or NULL for one that the fit finds", call = call)
  }
  make_family("negative-binomial", c(shape = theta))
}

# ---- the family of a model ----------------------------------------------------------------------------------------

# Inverts increasing functions: where each equals `value`, between two bounds of x.
invert <- function(increasing, value, low, high) {
  low <- rep_len(low, length(value))
  high <- rep_len(high, length(value))
  for (i in 1:60) {
    middle <- (low + high) / 2
    below <- increasing(middle) < value
    low <- ifelse(below, middle, low)
    high <- ifelse(below, high, middle)
  }
  (low + high) / 2
}

negbin_deviance <- function(y, mu, theta) {
  2 * (ifelse(y > 0, y * log(y / mu), 0) - (y + theta) * log((y + theta) / (mu + theta)))
}

# Relative to the mean that maximises the density of y, which is not y itself.
beta_deviance <- function(y, mu, shape) {
  log_density <- function(mu) stats::dbeta(y, mu * shape, (1 - mu) * shape, log = TRUE)
  slope <- function(eta) digamma(stats::plogis(-eta) * shape) - digamma(stats::plogis(eta) * shape)
  best <- stats::plogis(invert(function(eta) -slope(eta), stats::qlogis(y), -700, 700))
  pmax(2 * (log_density(best) - log_density(mu)), 0)
}

# Thresholds of an ordinal response.
thresholds <- function(parameters) cumsum(c(0, unname(parameters)))

# The expected level, from 1, given f.
expected_level <- function(f, cuts) {
  total <- 1 + 0 * f
  for (cut in cuts) {
    total <- total + stats::pnorm(f - cut)
  }
  total
}

# As for glm(): an object of class family, with the estimated parameters in its functions. likelihood: its name in the library.
make_family <- function(likelihood, parameters = numeric()) {
  shape <- if ("shape" %in% names(parameters)) parameters[["shape"]] else NA_real_
  family <- switch(likelihood,
    gaussian = stats::gaussian(),
    "bernoulli-logit" = , "binomial-logit" = stats::binomial("logit"),
    "bernoulli-probit" = stats::binomial("probit"),
    poisson = stats::poisson(),
    gamma = stats::Gamma("log"),
    "negative-binomial" = own_family(sprintf("Negative Binomial(%s)", if (is.na(shape)) "" else format(shape, digits = 4)), "log",
      function(mu) mu + mu^2 / shape, function(y, mu, wt) wt * negbin_deviance(y, mu, shape)),
    "student-t" = own_family("Student t", "identity", function(mu) rep_len(parameters[["scale"]]^2, length(mu)), function(y, mu, wt) {
      wt * (parameters[["degrees"]] + 1) * log1p((y - mu)^2 / (parameters[["degrees"]] * parameters[["scale"]]^2))
    }),
    beta = own_family("beta", "logit", function(mu) mu * (1 - mu) / (1 + shape), function(y, mu, wt) wt * beta_deviance(y, mu, shape)),
    ordinal = ordinal_family(thresholds(parameters)))
  family$likelihood <- likelihood
  if (likelihood == "negative-binomial" && !is.na(shape)) {
    family$theta <- shape
  }
  family
}

own_family <- function(name, link, variance, deviance) {
  link <- stats::make.link(link)
  structure(list(family = name, link = link$name, linkfun = link$linkfun, linkinv = link$linkinv, mu.eta = link$mu.eta,
                 valideta = link$valideta, variance = variance, dev.resids = deviance), class = "family")
}

# Its mean is the expected level. The deviance needs the probabilities of all levels, which do not follow from the mean.
ordinal_family <- function(cuts) {
  inverse <- function(eta) expected_level(eta, cuts)
  structure(list(family = "ordinal", link = "probit", linkfun = function(mu) invert(inverse, mu, -40, max(cuts) + 40), linkinv = inverse,
                 mu.eta = function(eta) rowSums(outer(eta, cuts, function(f, cut) stats::dnorm(f - cut))), valideta = function(eta) TRUE,
                 thresholds = cuts), class = "family")
}

family.oatgp <- function(object, ...) {
  info <- model_info(object)
  make_family(info$likelihood, info$likelihood_parameters)
}

# ---- the response -------------------------------------------------------------------------------------------------

# The kind of the response in R, which draws and classes also get: "pairs" of successes and failures, "share" with trials as weights, "count" with
# trials, "factor", "logical", "ordered", or "number".
response_kind <- function(likelihood, y, weights, call) {
  if (likelihood == "ordinal") {
    return("ordered")
  }
  if (!is_binomial(likelihood)) {
    return("number")
  }
  if (is.matrix(y) || is.data.frame(y)) "pairs"
  else if (is.factor(y) || is.character(y)) "factor"
  else if (is.logical(y)) "logical"
  else if (!is.numeric(y) || all(y %in% c(0, 1, NA))) "number"
  else if (is.null(weights)) {
    fail(sprintf("the response of binomial() has %s, which is neither 0 nor 1: %s", format(y[!y %in% c(0, 1, NA)][1]),
                 "shares need their numbers of trials as weights, and counts are cbind(successes, failures)"), "data", call)
  }
  else "share"
}

# The classes of a response that has some, in their order.
response_classes <- function(kind, y, call) {
  if (kind == "logical") {
    return(c("FALSE", "TRUE"))
  }
  if (kind == "ordered" && is.factor(y) && !is.ordered(y)) {
    fail("family \"ordinal\" needs an order of the classes: make the response an ordered factor by ordered()", "data", call)
  }
  if (!kind %in% c("factor", "ordered")) {
    return(NULL)
  }
  classes <- levels(droplevels(factor(y)))
  if (kind == "factor" && length(classes) != 2) {
    fail(sprintf("the response of binomial() has %d classes (%s), but needs two", length(classes),
                 paste(utils::head(classes, 5), collapse = ", ")), "data", call)
  }
  if (length(classes) < 2) {
    fail(sprintf("the response has only one class, '%s'", classes), "data", call)
  }
  classes
}

# The columns of a frame that come from the response: y, weights, trials, classes.
answer_columns <- function(kind, y, weights = NULL, trials = NULL, classes = NULL, call = NULL) {
  y <- if (is.data.frame(y)) as.matrix(y) else y
  switch(kind,
    pairs = from_pairs(y, weights, call),
    share = from_shares(y, weights, call),
    factor = , logical = , ordered = list(y = class_codes(y, classes, call), weights = weights, classes = classes),
    list(y = y, weights = weights, trials = trials))
}

from_pairs <- function(y, weights, call) {
  if (!is.matrix(y) || ncol(y) != 2 || !is.numeric(y)) {
    fail("the response must be two columns, cbind(successes, failures)", "data", call)
  }
  check_rows(rowSums(y) > 0, "has neither successes nor failures", call)
  list(y = y[, 1], weights = weights, trials = rowSums(y))
}

from_shares <- function(y, weights, call) {
  if (!is.numeric(y) || is.matrix(y)) {
    fail("the response must be shares of successes, with the numbers of trials as weights", "data", call)
  }
  if (length(weights) != length(y)) {
    fail(sprintf("weights must be %d numbers of trials, one for each row", length(y)), "data", call)
  }
  successes <- y * weights
  whole <- abs(successes - round(successes)) <= 1e-6 * pmax(1, successes)
  check_rows(y >= 0 & y <= 1, "has a share that is not between 0 and 1", call)
  check_rows(whole & weights == round(weights) & weights >= 1, paste("has a share that is no whole number of successes of its trials, which",
             "are the weights with binomial(); family = \"beta\" is for shares that count nothing"), call)
  list(y = round(successes), trials = weights)
}

check_rows <- function(good, what, call) {
  bad <- which(!good)
  if (length(bad) > 0) {
    fail(sprintf("row %d %s", bad[1], what), "data", call)
  }
}

class_codes <- function(y, classes, call) {
  codes <- match(as.character(y), classes) - 1
  strange <- which(is.na(codes) & !is.na(y))
  if (length(strange) > 0) {
    fail(sprintf("the response has '%s' in row %d, which is not one of the classes %s", as.character(y)[strange[1]], strange[1],
                 paste(classes, collapse = ", ")), "data", call)
  }
  as.double(codes)
}

# The kind of the response of a model; a model from a file does not have it.
model_kind <- function(object, info = model_info(object)) {
  if (!is.null(object$kind)) {
    return(object$kind)
  }
  if (info$likelihood == "ordinal") "ordered"
  else if (info$likelihood == "binomial-logit") "count"
  else if (identical(info$classes, c("FALSE", "TRUE"))) "logical"
  else if (!is.null(info$classes)) "factor"
  else "number"
}

# For an ordinal response without texts, its numbers.
model_classes <- function(info) {
  if (!is.null(info$classes)) {
    return(info$classes)
  }
  if (info$likelihood == "ordinal") as.character(seq(0, length(info$likelihood_parameters) + 1)) else c("0", "1")
}

# Converts codes, from 0, to the kind of the response: for draws and most likely classes.
as_response <- function(codes, kind, info) {
  switch(kind,
    logical = codes == 1,
    factor = factor(model_classes(info)[codes + 1], model_classes(info)),
    ordered = factor(model_classes(info)[codes + 1], model_classes(info), ordered = TRUE),
    codes)
}

# The responses of the rows as numbers on the scale of predictions: shares of trials, and levels from 1.
answer_values <- function(rows, likelihood) {
  if (likelihood == "ordinal") rows$y + 1 else if (is.null(rows$trials)) rows$y + offset_of(rows) else rows$y / rows$trials
}
