test_that("trials of other families are refused", {
  fit <- fit_answers(count ~ x, family = poisson())
  data <- answers()[1:3, ]
  for (call in list(quote(predict(fit, data, trials = 3)), quote(simulate(fit, newdata = data, trials = 3)),
                    quote(score(fit, data, trials = 3)), quote(update(fit, newdata = data, trials = 3)))) {
    expect_error(eval(call), "family poisson\\(\\) has no trials: leave them out", class = "oatgp_argument")
  }
})

test_that("the families of R are those of the library", {
  likelihood <- function(...) oatgp:::as_family(...)$likelihood
  expect_identical(likelihood(gaussian()), "gaussian")
  expect_identical(likelihood(binomial), "bernoulli-logit")
  expect_identical(likelihood(binomial("probit")), "bernoulli-probit")
  expect_identical(likelihood("poisson"), "poisson")
  expect_identical(likelihood(Gamma(link = "log")), "gamma")
  expect_identical(likelihood("negative.binomial"), "negative-binomial")
  expect_identical(oatgp:::as_family(negbin(2)), list(likelihood = "negative-binomial", theta = 2))
  # as negative.binomial() of MASS and nb() of mgcv are written
  theirs <- structure(list(family = "Negative Binomial(1.2346)", link = "log", variance = local({
    .Theta <- 1.23456
    function(mu) mu + mu^2 / .Theta
  })), class = "family")
  expect_identical(oatgp:::as_family(theirs)$theta, 1.23456)
  theirs$variance <- NULL
  expect_identical(oatgp:::as_family(theirs)$theta, 1.2346)
  theirs$family <- "negative binomial"
  expect_null(oatgp:::as_family(theirs)$theta)
  for (wrong in list(Gamma(), binomial("cloglog"), poisson("sqrt"), gaussian("log"))) {
    expect_error(likelihood(wrong), "oatgp() only has it with", fixed = TRUE, class = "oatgp_argument")
  }
  expect_error(likelihood(Gamma()), "write Gamma(link = \"log\")", fixed = TRUE)
  expect_error(likelihood(quasipoisson()), "quasipoisson is not one of those", class = "oatgp_argument")
  expect_error(likelihood("foo"), "no family \"foo\"", class = "oatgp_argument")
  expect_error(likelihood(3), "family must be", class = "oatgp_argument")
  expect_error(negbin(-1), "positive", class = "oatgp_argument")
  expect_error(negbin(link = "sqrt"), "only has the link \"log\"", class = "oatgp_argument")
})

test_that("counts are predicted by integrals over the function", {
  data <- answers()
  fit <- fit_answers(count ~ x + offset(log(time)), family = poisson())
  new <- data[1:8, ]
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  both <- predict(fit, new, se.fit = TRUE)
  expect_equal(both$fit, exp(link$fit + link$se.fit^2 / 2))
  expect_equal(both$se.fit, sqrt(averaged(function(f) exp(2 * f), link$fit, link$se.fit) - both$fit^2))
  expect_null(both$residual.scale)
  expect_equal(predict(fit, transform(new, time = 1)), both$fit / new$time)
  confidence <- predict(fit, new, interval = "confidence", level = 0.8)
  expect_equal(confidence[, "upr"], exp(link$fit + qnorm(0.9) * link$se.fit))
  expect_equal(predict(fit, new, type = "link", interval = "confidence")[, "lwr"], link$fit - qnorm(0.975) * link$se.fit)
  counts <- predict(fit, new, interval = "prediction", level = 0.8)
  below <- function(at) mapply(function(y, m, s) averaged(function(f) ppois(y, exp(f)), m, s), at, link$fit, link$se.fit)
  expect_true(all(below(counts[, "upr"]) >= 0.9 & below(counts[, "upr"] - 1) < 0.9))
  expect_true(all(below(counts[, "lwr"]) >= 0.1 & below(counts[, "lwr"] - 1) < 0.1))
  density <- mapply(function(y, m, s) averaged(function(f) dpois(y, exp(f)), m, s), new$count, link$fit, link$se.fit)
  expect_equal(score(fit, new)[["mean_nlp"]], -mean(log(density)), tolerance = 1e-8)
  expect_identical(predict(fit), fitted(fit))
  expect_equal(unname(fitted(fit)[1:8]), unname(both$fit), tolerance = 1e-10)
  expect_error(predict(fit, new["x"]), "no column 'time'", class = "oatgp_data")
  # the offset as an argument, and by matrix
  argument <- fit_answers(count ~ x, family = poisson(), offset = log(time))
  expect_equal(predict(argument, new), both$fit)
  matrix <- oatgp(data["x"], data$count, family = poisson(), offset = log(data$time), knots = 6, select = "simultaneous", max_iter = 10,
                  seed = 1)
  expect_equal(unname(predict(matrix, new, offset = log(new$time))), unname(both$fit))
  expect_error(predict(matrix, new), "fitted with offset", class = "oatgp_data")
  new$time[2] <- NA
  expect_identical(which(is.na(predict(fit, new))), c("2" = 2L))
})

test_that("derivatives are those of the link", {
  data <- answers()
  grows <- function(fit, new) {
    found <- predict(fit, new, type = "link", gradient = TRUE, cov = TRUE, se.fit = TRUE)
    expect_identical(names(found), c("fit", "se.fit", "cov", "gradient", "se.gradient"))
    up <- predict(fit, transform(new, x = x + 1e-5), type = "link", se.fit = TRUE)
    down <- predict(fit, transform(new, x = x - 1e-5), type = "link", se.fit = TRUE)
    expect_equal(found$gradient[, "x"], (up$fit - down$fit) / 2e-5, tolerance = 1e-5)
    expect_equal(found$se.gradient[, "x"], (up$se.fit - down$se.fit) / 2e-5, tolerance = 1e-4)
  }
  counts <- fit_answers(count ~ x + offset(log(time)), family = poisson())
  trials <- fit_answers(cbind(good, trials - good) ~ x, family = binomial())
  yes <- fit_answers(yes ~ x, family = binomial())
  grows(counts, data[1:5, ])
  grows(trials, data[1:5, ])
  expect_error(predict(counts, data[1:5, ], gradient = TRUE), "use type = \"link\"", fixed = TRUE, class = "oatgp_argument")
  for (type in c("prob", "class")) {
    expect_error(predict(yes, data[1:5, ], type = type, gradient = TRUE), "has no gradient: type = \"link\"", fixed = TRUE,
                 class = "oatgp_argument")
  }
})

test_that("residuals and the deviance are those of glm() at the fitted values", {
  data <- answers()
  like_glm <- function(fit, y, weights = 1) {
    family <- family(fit)
    mu <- unname(fitted(fit))
    expect_equal(unname(residuals(fit)), y - mu)
    expect_equal(unname(residuals(fit, "pearson")), (y - mu) * sqrt(weights / family$variance(mu)))
    expect_equal(unname(residuals(fit, "deviance")), sign(y - mu) * sqrt(family$dev.resids(y, mu, rep_len(weights, length(y)))))
    expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2))
    expect_identical(residuals(fit, "quantile"), residuals(fit, "loo"))
    expect_identical(unname(residuals(fit, "quantile")), loo(fit)$rows$residual)
  }
  like_glm(fit_answers(count ~ x + offset(log(time)), family = poisson()), data$count)
  like_glm(fit_answers(yes ~ x, family = binomial()), data$yes)
  like_glm(fit_answers(cbind(good, trials - good) ~ x, family = binomial()), data$good / data$trials, data$trials)
  like_glm(fit_answers(amount ~ x, family = Gamma("log")), data$amount)
  like_glm(fit_answers(over ~ x, family = negbin()), data$over)
  like_glm(fit_answers(wild ~ x, family = "student-t"), data$wild)
  like_glm(fit_answers(share ~ x, family = "beta"), data$share)
  # deviances by densities: twice what is lost against the best mean
  y <- c(0, 1, 7)
  mu <- c(0.4, 2, 3)
  loss <- dnbinom(y, mu = y, size = 2, log = TRUE) - dnbinom(y, mu = mu, size = 2, log = TRUE)
  expect_equal(oatgp:::negbin_deviance(y, mu, 2), 2 * loss)
  y <- c(0.1, 0.5, 0.97)
  log_density <- function(mu) dbeta(y, 4 * mu, 4 * (1 - mu), log = TRUE)
  best <- sapply(y, function(y) optimise(function(mu) dbeta(y, 4 * mu, 4 * (1 - mu), log = TRUE), 0:1, maximum = TRUE, tol = 1e-10)$objective)
  expect_equal(oatgp:::beta_deviance(y, c(0.2, 0.3, 0.9), 4), 2 * (best - log_density(c(0.2, 0.3, 0.9))), tolerance = 1e-7)
  gaussian <- quick()
  expect_equal(deviance(gaussian), sum(residuals(gaussian)^2))
  expect_identical(family(gaussian)$family, "gaussian")
})

test_that("yes and no in all their forms", {
  data <- transform(answers(), word = factor(ifelse(yes == 1, "well", "ill")), said = yes == 1)
  new <- data[1:5, ]
  number <- fit_answers(yes ~ x, data, family = binomial())
  link <- predict(number, new, type = "link", se.fit = TRUE)
  p <- predict(number, new, se.fit = TRUE)
  expect_equal(unname(p$fit), unname(averaged(plogis, link$fit, link$se.fit)), tolerance = 1e-8)
  expect_equal(unname(p$se.fit), unname(sqrt(averaged(function(f) plogis(f)^2, link$fit, link$se.fit) - p$fit^2)), tolerance = 1e-6)
  expect_equal(predict(number, new, interval = "prediction"), predict(number, new, interval = "confidence"))
  expect_identical(predict(number, new, type = "class"), setNames(as.numeric(p$fit > 0.5), names(p$fit)))
  prob <- predict(number, new, type = "prob")
  expect_identical(colnames(prob), c("0", "1"))
  expect_equal(prob[, "1"], p$fit)
  word <- fit_answers(word ~ x, data, family = binomial())
  expect_equal(predict(word, new), p$fit)
  expect_identical(unname(predict(word, new, type = "class")), factor(ifelse(unname(p$fit) > 0.5, "well", "ill")))
  expect_identical(colnames(predict(word, new, type = "prob")), c("ill", "well"))
  expect_identical(levels(simulate(word, 1, seed = 1)$sim_1), c("ill", "well"))
  expect_output(print(word), "the log odds of yes; yes is 'well'")
  said <- fit_answers(said ~ x, data, family = binomial())
  expect_identical(unname(predict(said, new, type = "class")), unname(p$fit > 0.5))
  expect_type(simulate(said)$sim_1, "logical")
  expect_equal(score(word, data), score(number, data))
  expect_equal(score(number, data)[["accuracy"]], mean((fitted(number) > 0.5) == (data$yes == 1)))
  expect_error(score(word, transform(new, word = "dead")), "'dead' in row 1, which is not one of the classes ill, well", class = "oatgp_data")
  probit <- fit_answers(word ~ x, data, family = binomial("probit"))
  link <- predict(probit, new, type = "link", se.fit = TRUE)
  expect_equal(predict(probit, new), pnorm(link$fit / sqrt(1 + link$se.fit^2)))
  expect_identical(family(probit)$link, "probit")
  expect_error(predict(number, new, type = "link", interval = "prediction"), "not of the link", class = "oatgp_argument")
  expect_error(predict(number, new, cov = TRUE), "type = \"link\"", class = "oatgp_argument")
  expect_identical(dim(predict(number, new, type = "link", cov = TRUE)$cov), c(5L, 5L))
  expect_error(predict(number, new, type = "prob", se.fit = TRUE), "no interval, no se.fit", class = "oatgp_argument")
})

test_that("trials, as pairs, as shares, and as rows of their own", {
  data <- answers()
  pairs <- fit_answers(cbind(good, trials - good) ~ x, family = binomial())
  shares <- fit_answers(good / trials ~ x, weights = trials, family = binomial())
  expect_identical(predict(pairs, interval = "prediction"), predict(shares, interval = "prediction"))
  new <- data[1:5, ]
  expect_equal(predict(pairs, new["x"]), fitted(pairs)[1:5])
  counts <- predict(pairs, new["x"], interval = "prediction", trials = new$trials)
  expect_identical(counts, predict(pairs, new, interval = "prediction"))
  expect_identical(counts, predict(shares, new, interval = "prediction"))
  expect_equal(counts[, "upr"] * new$trials, round(counts[, "upr"] * new$trials))
  expect_error(predict(pairs, new["x"], interval = "prediction"), "no numbers of trials", class = "oatgp_data")
  expect_error(predict(shares, new["x"], interval = "prediction"), "fitted with weights", class = "oatgp_data")
  drawn <- simulate(pairs, 2, seed = 3)
  expect_equal(unname(rowSums(drawn$sim_2)), data$trials)
  expect_equal(simulate(shares, 2, seed = 3)$sim_2, unname(drawn$sim_2[, 1] / data$trials))
  expect_equal(score(pairs, data), score(shares, data))
  expect_identical(colnames(predict(pairs, new, type = "prob")), c("failure", "success"))

  # at the same parameters: n trials are n rows of 0 and 1, and these are rows with weights, but for the ways to order them
  rows <- data.frame(x = rep(data$x, 2), yes = rep(1:0, each = 60), times = c(data$good, data$trials - data$good))
  rows <- rows[rows$times > 0, ]
  at <- function(...) {
    fit <- substitute(oatgp(..., knots = matrix(c(-1, 0, 1), 3, dimnames = list(NULL, "x")), select = "fixed", max_iter = 0, scale = FALSE,
                            sigma = 1, lengthscale = 1, mean = 0.2, jitter = 1e-6))
    as.numeric(logLik(eval(fit, parent.frame())))
  }
  bound <- at(cbind(good, trials - good) ~ x, data, family = binomial())
  expect_equal(at(yes ~ x, rows[rep(seq_len(nrow(rows)), rows$times), ], family = binomial()), bound - sum(lchoose(data$trials, data$good)))
  expect_equal(at(yes ~ x, rows, weights = times, family = binomial()), bound - sum(lchoose(data$trials, data$good)))
  # and two rows of a count are one row of weight 2
  twice <- data[rep(1:60, 2), ]
  expect_equal(at(count ~ x, twice, family = poisson()), at(count ~ x, data, weights = rep(2, 60), family = poisson()))

  expect_error(fit_answers(cbind(good, trials - good) ~ x, family = binomial("probit")), "one trial each", class = "oatgp_argument")
  expect_error(fit_answers(share ~ x, family = binomial()), "trials as weights", class = "oatgp_data")
  expect_error(fit_answers(share ~ x, weights = trials, family = binomial()), "row 1 has a share that is no whole number", class = "oatgp_data")
  expect_error(fit_answers(cbind(0 * good, 0 * good) ~ x, family = binomial()), "row 1 has neither", class = "oatgp_data")
  expect_error(fit_answers(grade ~ x, family = binomial()), "3 classes (low, mid, top), but needs two", fixed = TRUE, class = "oatgp_data")
})

test_that("ordered classes", {
  data <- answers()
  fit <- fit_answers(grade ~ x, family = "ordinal")
  new <- data[1:6, ]
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  cuts <- c(0, coef(fit)[["gap1"]])
  below <- sapply(cuts, function(cut) pnorm((cut - link$fit) / sqrt(1 + link$se.fit^2)))
  prob <- predict(fit, new, type = "prob")
  expect_equal(unname(prob), unname(cbind(below[, 1], below[, 2] - below[, 1], 1 - below[, 2])))
  expect_identical(colnames(prob), levels(data$grade))
  expect_equal(predict(fit, new), drop(prob %*% 1:3))
  expect_identical(unname(predict(fit, new, type = "class")), factor(levels(data$grade)[max.col(prob)], levels(data$grade), ordered = TRUE))
  expect_equal(family(fit)$linkfun(family(fit)$linkinv(c(-1, 0.3))), c(-1, 0.3))
  expect_equal(unname(predict(fit, new, interval = "confidence")[, "upr"]),
               unname(1 + pnorm(link$fit + qnorm(0.975) * link$se.fit) + pnorm(link$fit + qnorm(0.975) * link$se.fit - cuts[2])))
  all <- predict(fit, type = "prob")
  picked <- all[cbind(1:60, as.integer(data$grade))]
  expect_equal(score(fit, data)[["mean_nlp"]], -mean(log(picked)), tolerance = 1e-8)
  expect_equal(deviance(fit), -2 * sum(log(picked)))
  expect_equal(unname(residuals(fit)), as.integer(data$grade) - unname(drop(all %*% 1:3)))
  expect_s3_class(simulate(fit)$sim_1, "ordered")
  expect_identical(loo(fit)$rows$y, as.numeric(data$grade))
  expect_output(print(summary(fit)), "width of 'mid'")
  expect_output(print(fit), "low < mid < top")
  codes <- fit_answers(as.integer(grade) ~ x, family = "ordinal")
  expect_equal(unname(predict(codes, new, type = "prob")), unname(prob))
  expect_error(fit_answers(factor(grade, ordered = FALSE) ~ x, family = "ordinal"), "an ordered factor", class = "oatgp_data")
})

test_that("amounts, shares and outliers", {
  new <- answers()[1:5, ]
  gamma <- fit_answers(amount ~ x, family = Gamma("log"))
  link <- predict(gamma, new, type = "link", se.fit = TRUE)
  shape <- coef(gamma)[["likelihood_shape"]]
  bounds <- predict(gamma, new, interval = "prediction", level = 0.9)
  below <- mapply(function(y, m, s) averaged(function(f) pgamma(y, shape, shape / exp(f)), m, s), bounds[, "upr"], link$fit, link$se.fit)
  expect_equal(unname(below), rep(0.95, 5), tolerance = 1e-6)
  beta <- fit_answers(share ~ x, family = "beta")
  link <- predict(beta, new, type = "link", se.fit = TRUE)
  expect_equal(unname(predict(beta, new)), unname(averaged(plogis, link$fit, link$se.fit)), tolerance = 1e-8)
  wild <- fit_answers(wild ~ x, family = "student-t")
  expect_equal(predict(wild, new), predict(wild, new, type = "link"))
  expect_identical(sigma(wild), coef(wild)[["likelihood_scale"]])
  expect_true(is.na(sigma(gamma)))
  expect_output(print(summary(wild)), "degrees of freedom:")
  expect_error(predict(wild, new, type = "prob"), "numbers with outliers", class = "oatgp_argument")
})

test_that("quine: negative binomial with factors", {
  set.seed(1)
  fit <- oatgp(Days ~ Eth + Sex + Age + Lrn, quine, family = "negative.binomial")
  theta <- coef(fit)[["likelihood_shape"]]
  expect_gt(theta, 1.2)
  expect_lt(theta, 1.9)
  expect_match(family(fit)$family, "Negative Binomial\\(1\\.")
  expect_identical(attr(logLik(fit), "df"), 7)
  expect_output(print(summary(fit)), "shape (theta)", fixed = TRUE)
  expect_output(print(summary(fit)), "expected count")
  expect_output(print(logLik(fit)), "lower bound of the log evidence")
  same <- predict(fit, data.frame(Eth = "A", Sex = "M", Age = "F0", Lrn = "SL"))
  expect_equal(unname(same), unname(fitted(fit)[1]))
  kept <- oatgp(Days ~ Eth + Sex + Age + Lrn, quine, family = negbin(1.5), seed = 1)
  expect_identical(coef(kept)[["likelihood_shape"]], 1.5)
  expect_identical(attr(logLik(kept), "df"), 6)
  expect_identical(family(kept)$theta, 1.5)
  expect_equal(nobs(kept), 146)
})

test_that("discoveries: the same intensity as by the command", {
  years <- data.frame(year = 1860:1959, count = as.numeric(datasets::discoveries))
  fit <- oatgp(count ~ year, years, family = poisson(), seed = 1)
  expect_equal(sum(fitted(fit)), sum(years$count), tolerance = 0.03)
  expect_lt(loo(fit)$scores[["mean_nlp"]], -mean(dpois(years$count, mean(years$count), log = TRUE)) - 0.1) # better than a constant
  oatgp_command <- command()
  folder <- tempfile("discoveries")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  write.csv(years, at("years.csv"), row.names = FALSE)
  run <- function(...) expect_identical(system2(oatgp_command, c(..., "--quiet"), stdout = FALSE), 0L)
  run("fit", at("years.csv"), "--target", "count", "--likelihood", "poisson", "--seed", "1", "-o", at("model.oatgp"))
  run("predict", at("model.oatgp"), at("years.csv"), "-o", at("out.csv"))
  theirs <- read.csv(at("out.csv"))
  expect_equal(unname(fitted(fit)), theirs$mean, tolerance = 1e-8)
  expect_equal(unname(predict(fit, interval = "prediction")[, c("lwr", "upr")]), unname(as.matrix(theirs[c("lower", "upper")])))
})

test_that("draws have the moments of the predictions", {
  data <- answers()
  for (fit in list(fit_answers(count ~ x + offset(log(time)), family = poisson()), fit_answers(share ~ x, family = "beta"),
                   fit_answers(yes ~ x, family = binomial()))) {
    draws <- as.matrix(simulate(fit, 4000, seed = 1, newdata = data[1:4, ]))
    sd <- oatgp:::predict_answers(fit, oatgp:::own_rows(fit))$values[1:4, "sd"]
    expect_lt(max(abs(rowMeans(draws) - fitted(fit)[1:4]) / sd), 4.5 / sqrt(4000))
    expect_equal(unname(apply(draws, 1, stats::sd)), unname(sd), tolerance = 0.15)
  }
  fit <- fit_answers(count ~ x + offset(log(time)), family = poisson())
  draws <- as.matrix(simulate(fit, 2000, seed = 1, newdata = data[1:4, ], what = "function"))
  link <- predict(fit, data[1:4, ], type = "link", se.fit = TRUE)
  expect_lt(max(abs(rowMeans(draws) - link$fit) / link$se.fit), 4.5 / sqrt(2000))
})

test_that("models with families are kept, extended, cross-validated and drawn", {
  data <- answers()
  part <- data[1:50, ]
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  yes <- suppressWarnings(fit_answers(yes == 1 ~ x, part, family = binomial())) # that rows left out are predicted badly
  fits <- list(fit_answers(count ~ x + offset(log(time)), part, family = poisson()), fit_answers(grade ~ x, part, family = "ordinal"),
               fit_answers(cbind(good, trials - good) ~ x, part, family = binomial()), yes)
  for (fit in fits) {
    more <- update(fit, newdata = data[51:60, ])
    expect_identical(nobs(more), 60L)
    expect_identical(nobs(update(fit, newdata = data[51:60, ], refit = TRUE, max_iter = 2)), 60L)
    expect_length(fitted(more), 60)
    again <- suppressWarnings(update(fit, . ~ ., kernel = "matern52"))
    expect_identical(family(again)$family, family(fit)$family)
    folds <- cv(fit, folds = 2, max_iter = 2, seed = 1)
    expect_false(anyNA(folds$rows))
    expect_output(print(folds), "mean_nlp")
    expect_identical(plot(fit, which = c("effects", "residuals", "qq")), fit)
    expect_error(certify(fit), "Gaussian targets", class = "oatgp_error")
    kept <- unserialize(serialize(fit, NULL))
    expect_identical(predict(kept, data, type = "link"), predict(fit, data, type = "link"))
  }
  skip_if_not_installed("generics")
  expect_true(is.na(generics::glance(fits[[1]])$sigma))
  expect_s3_class(generics::augment(fits[[2]])$grade, "ordered")
})

test_that("what a family cannot have is refused in R's words", {
  expect_error(fit_answers(count ~ x, family = poisson(), noise_variance = time), "has no noise", class = "oatgp_argument")
  expect_error(fit_answers(yes ~ x + offset(log(time)), family = binomial()), "takes no offset", class = "oatgp_argument")
  expect_error(fit_answers(grade ~ x), "family = \"ordinal\" for ordered ones", class = "oatgp_data")
  expect_error(fit_answers(wild ~ x, family = poisson()), "family = poisson() needs a whole number, 0 or more", fixed = TRUE)
  expect_error(fit_answers(count ~ x, likelihood = "poisson"), "family = poisson()", fixed = TRUE, class = "oatgp_argument")
  expect_error(fit_answers(count ~ x, trials = "trials"), "'trials' is about files", class = "oatgp_argument")
  expect_error(fit_answers(count ~ x, family = poisson(), approx = "fitc"), "family = poisson() works with the models", fixed = TRUE)
  expect_warning(fit_answers(yes ~ x), "family = binomial() predicts the probability", fixed = TRUE)
})

test_that("the command has the same numbers for other families", {
  oatgp_command <- command()
  folder <- tempfile("family")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  run <- function(...) expect_identical(system2(oatgp_command, c(..., "--quiet"), stdout = FALSE), 0L)
  data <- answers()
  write.csv(data, at("data.csv"), row.names = FALSE)
  theirs <- function(model) {
    run("predict", model, at("data.csv"), "-o", at("out.csv"))
    read.csv(at("out.csv"))
  }
  compare <- function(formula, options, ...) {
    run("fit", at("data.csv"), "--inputs", "x", options, "--knots", "6", "--select", "simultaneous", "--max-iter", "10", "--seed", "1",
        "-o", at("command.oatgp"))
    fit <- fit_answers(formula, data, ...)
    loaded <- oatgp_load(at("command.oatgp"))
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(loaded)), tolerance = 1e-10)
    link <- predict(fit, data, type = "link", se.fit = TRUE)
    values <- theirs(at("command.oatgp"))
    expect_equal(unname(link$fit), values$latent_mean, tolerance = 1e-8)
    expect_equal(unname(link$se.fit), values$latent_sd, tolerance = 1e-8)
    expect_equal(unname(predict(loaded, data, type = "link")), values$latent_mean, tolerance = 1e-12)
    expect_equal(score(loaded, data)[["mean_nlp"]], score(fit, data)[["mean_nlp"]], tolerance = 1e-8)
    oatgp_save(fit, at("r.oatgp"))
    expect_equal(coef(oatgp_load(at("r.oatgp"))), coef(fit))
    bounds <- predict(fit, data, interval = "prediction")
    list(values = values, bounds = bounds, loaded = loaded)
  }
  same <- compare(count ~ x + offset(log(time)), c("--target", "count", "--likelihood", "poisson", "--exposure", "time"), family = poisson())
  expect_equal(unname(same$bounds), unname(as.matrix(same$values[c("mean", "lower", "upper")])), tolerance = 1e-8)
  same <- compare(cbind(good, trials - good) ~ x, c("--target", "good", "--likelihood", "binomial-logit", "--trials", "trials"),
                  family = binomial())
  expect_equal(unname(same$bounds) * data$trials, unname(as.matrix(same$values[c("mean", "lower", "upper")])), tolerance = 1e-8)
  expect_identical(oatgp:::model_kind(same$loaded), "count")
  same <- compare(over ~ x, c("--target", "over", "--likelihood", "negative-binomial"), family = negbin())
  expect_equal(unname(same$bounds), unname(as.matrix(same$values[c("mean", "lower", "upper")])), tolerance = 1e-6)
  same <- compare(grade ~ x, c("--target", "grade", "--likelihood", "ordinal"), family = "ordinal") # low, mid, top: also by their letters
  expect_equal(unname(same$bounds[, "upr"]), same$values$upper + 1)
  expect_identical(unname(predict(same$loaded, data[1:3, ], type = "class")), unname(predict(fit_answers(grade ~ x, family = "ordinal"),
                                                                                               data[1:3, ], type = "class")))
})
