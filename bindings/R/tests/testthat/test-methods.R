test_that("a kernel that is an expression names its parameters", {
  kernel <- "se(lstat) + linear(rm) * matern52(lstat)"
  fit <- quick(kernel = kernel, parameters = c("se(lstat).lengthscale" = 4, tau = 3), fix = c("se(lstat).lengthscale", "tau"))
  expect_identical(oatgp:::model_info(fit)$kernel, kernel)
  expect_named(coef(fit), c("se(lstat).sigma", "se(lstat).lengthscale", "(linear(rm) * matern52(lstat)).sigma",
                            "matern52(lstat).lengthscale", "tau", "mean"))
  expect_equal(coef(fit)[["se(lstat).lengthscale"]], 4)
  expect_equal(coef(fit)[["tau"]], 3)
  expect_identical(attr(logLik(fit), "df"), 4)
  expect_identical(attr(logLik(quick(kernel = kernel, fix = "lengthscale")), "df"), 4)
  expect_identical(attr(logLik(quick(kernel = "se(lstat, rm)", fix = "se(lstat, rm).lengthscale(rm)")), "df"), 4)
  expect_output(print(fit), "Coefficients (in the data's units):", fixed = TRUE)
  expect_output(print(summary(fit)), "matern52(lstat).lengthscale", fixed = TRUE)
  expect_error(quick(kernel = "se(lstat) + linear(age)"), "there is no input 'age'", class = "oatgp_argument")
  expect_true(all(is.finite(predict(fit, boston[1:3, ]))))
})

test_that("terms are the summands of the covariance", {
  fit <- quick(kernel = "se(lstat) + linear(rm)")
  terms <- predict(fit, type = "terms", se.fit = TRUE)
  expect_identical(colnames(terms$fit), c("se(lstat)", "linear(rm)"))
  expect_equal(unname(colMeans(terms$fit)), c(0, 0), tolerance = 1e-12)
  expect_equal(rowSums(terms$fit) + attr(terms$fit, "constant"), predict(fit), tolerance = 1e-10)
  expect_true(all(terms$se.fit > 0))
  expect_equal(sum(attr(terms$fit, "share")), 1)
  # new rows have the averages of the fit taken off; a row with NA has none
  some <- boston[c(3, 1), ]
  some$rm[2] <- NA
  new <- predict(fit, some, type = "terms")
  expect_equal(unname(new[1, ]), unname(terms$fit[3, ]), tolerance = 1e-8)
  expect_true(all(is.na(new[2, ])))
  expect_error(predict(fit, type = "terms", interval = "confidence"), "neither interval nor cov")
  line <- predict(quick(kernel = "se(lstat) + se(rm)", mean = "linear"), type = "terms")
  expect_length(attr(line, "constant"), nrow(boston))
  one <- predict(quick(), type = "terms")
  expect_identical(ncol(one), 1L)
  expect_error(predict(oatgp(medv ~ lstat + rm, data = boston, kernel = "se(lstat) + se(rm)", approx = "fitc", neighbours = 5, knots = 5,
                             max_iter = 2), type = "terms"), "effects need a model without neighbours")
  # the same numbers as by the command
  oatgp <- command()
  folder <- tempfile("terms")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  oatgp_save(fit, file.path(folder, "fit.oatgp"))
  write.csv(boston, file.path(folder, "boston.csv"), row.names = FALSE)
  out <- system2(oatgp, c("predict", file.path(folder, "fit.oatgp"), file.path(folder, "boston.csv"), "--parts", "--quiet"), stdout = TRUE)
  written <- read.csv(text = out, check.names = FALSE)
  expect_equal(written[["mean_se(lstat)"]], unname(terms$fit[, 1]), tolerance = 1e-9)
  expect_equal(written[["sd_linear(rm)"]], unname(terms$se.fit[, 2]), tolerance = 1e-9)
})

test_that("terms are drawn", {
  fit <- quick(kernel = "se(lstat) + linear(rm) * se(lstat) + constant")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(fit, which = "terms"), fit)
  expect_equal(oatgp:::panels(fit, "terms"), 2)
  data <- wavy()
  data$kind <- c("low", "mid", "top")[1 + seq_len(60) %% 3]
  fit <- oatgp(y ~ a + kind, data = data, kernel = "se(a) + categorical(kind)", knots = 8, max_iter = 5)
  expect_identical(plot(fit, which = "terms"), fit)
  terms <- predict(fit, data[1:6, ], type = "terms")
  expect_equal(unname(terms), unname(predict(fit, type = "terms")[1:6, ]), tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(unname(terms[1:3, 2]), unname(terms[4:6, 2]))
})

test_that("predictions have the shapes of predict.lm", {
  fit <- quick()
  like <- lm(medv ~ lstat + rm, boston)
  new <- boston[1:4, ]
  for (interval in c("none", "confidence", "prediction")) {
    ours <- predict(fit, new, interval = interval)
    theirs <- predict(like, new, interval = interval)
    expect_identical(dimnames(ours), dimnames(theirs))
    expect_identical(names(ours), names(theirs))
  }
  both <- predict(fit, new, se.fit = TRUE)
  expect_named(both, c("fit", "se.fit", "residual.scale"))
  narrow <- predict(fit, new, interval = "confidence", level = 0.5)
  half <- unname(narrow[, "upr"] - narrow[, "fit"])
  expect_equal(half, unname(qnorm(0.75) * both$se.fit))
  wide <- predict(fit, new, interval = "prediction")
  half <- unname(wide[, "upr"] - wide[, "fit"])
  expect_equal(half, unname(qnorm(0.975) * sqrt(both$se.fit^2 + sigma(fit)^2))) # the noise, once
  heavy <- predict(fit, new, interval = "prediction", weights = rep(4, 4))
  half <- unname(heavy[, "upr"] - heavy[, "fit"])
  expect_equal(half, unname(qnorm(0.975) * sqrt(both$se.fit^2 + sigma(fit)^2 / 4)))
  expect_equal(predict(fit, new[2, ], se.fit = TRUE)[1:2], lapply(both[1:2], `[`, 2)) # with its name
  expect_error(predict(fit, new, level = 2), "level must be", class = "oatgp_argument")
  expect_error(predict(fit, new, weights = 1), "weights must be 4", class = "oatgp_argument")
  expect_error(predict(fit, new, typo = 1), "no argument 'typo'", class = "oatgp_argument")
  expect_length(predict(fit, new[0, ]), 0)
})

test_that("threads change no bit of predictions", {
  fit <- quick()
  many <- boston[rep(1:490, 5), ]
  expect_identical(predict(fit, many, se.fit = TRUE), predict(fit, many, se.fit = TRUE, threads = 2))
})

test_that("fitted values, residuals and leave-one-out", {
  fit <- quick()
  expect_identical(fitted(fit), predict(fit))
  expect_equal(unname(fitted(fit) + residuals(fit)), boston$medv)
  left <- loo(fit)
  expect_identical(unname(residuals(fit, "loo")), left$rows$residual)
  expect_equal(left$rows$residual, (left$rows$y - left$rows$mean) / left$rows$sd)
  expect_equal(left$scores[["rmse"]], sqrt(mean((left$rows$y - left$rows$mean)^2)))
  expect_output(print(left), "Leave-one-out of 490 rows")

  # a row left out by hand, at the same parameters and knots
  p <- coef(fit)
  without <- oatgp(medv ~ lstat + rm, boston[-7, ], knots = as.matrix(knots(fit)[1:2]), select = "fixed", max_iter = 0, scale = FALSE,
                   sigma = p["sigma"], tau = p["tau"], lengthscale = summary(fit)$inputs$in_units, mean = p["mean"])
  expect_equal(unname(predict(without, boston[7, ])), left$rows$mean[7], tolerance = 1e-6)
})

test_that("print and summary say what the model is", {
  fit <- quick(certify = TRUE)
  expect_output(print(fit), "vfe with 15 knots, kernel se-ard, 490 rows, 2 inputs")
  expect_output(print(summary(fit)), "exact log evidence between")
  expect_output(print(oatgp(mcycle$times, mcycle$accel, approx = "full", max_iter = 2)), "full GP, kernel se-ard, 133 rows, 1 input\n")
  near <- oatgp(mcycle$times, mcycle$accel, approx = "fitc", knots = 5, neighbours = 4, max_iter = 2)
  expect_output(print(near), "fitc with 5 knots and 4 neighbours, kernel se-ard, 133 rows")
  expect_named(coef(fit), c("sigma", "lengthscale.lstat", "lengthscale.rm", "tau", "mean"))
  expect_named(coef(quick(kernel = "rq", mean = "linear")), c("sigma", "lengthscale", "tau", "shape", "mean", "slope.lstat", "slope.rm"))
})

test_that("logLik has its bracket, and AIC works", {
  fit <- quick()
  plain <- logLik(fit)
  expect_identical(attr(plain, "df"), 5)
  expect_identical(attr(plain, "nobs"), 490L)
  expect_true(is.na(attr(plain, "lower")))
  bracket <- logLik(fit, certify = TRUE, exact = TRUE)
  exact <- certify(fit, exact = TRUE)$exact
  expect_lte(as.numeric(plain), attr(bracket, "lower") + 1e-8)
  expect_lte(attr(bracket, "lower"), exact)
  expect_gte(attr(bracket, "upper"), exact)
  expect_equal(AIC(fit), -2 * as.numeric(plain) + 2 * 5)
  expect_output(print(bracket), "exact log evidence between")
  expect_identical(attr(logLik(quick(fix = "tau,sigma")), "df"), 3)
})

test_that("certificates hold, and print", {
  fit <- quick()
  bounds <- certify(fit)
  expect_lte(bounds$elbo, bounds$lower)
  expect_lte(bounds$lower, bounds$upper)
  expect_equal(bounds$kl_at_most, bounds$upper - bounds$elbo)
  expect_output(print(bounds), "nats")
  expect_error(certify(fit, tolerance = 1), "no setting 'tolerance'", class = "oatgp_argument")
})

test_that("draws have the right moments, and seeds work as in simulate.lm", {
  fit <- quick()
  new <- boston[c(1, 50, 100), ]
  expect_identical(simulate(fit, 2, seed = 5, newdata = new), simulate(fit, 2, seed = 5, newdata = new))
  set.seed(3)
  before <- .Random.seed
  simulate(fit, 1, seed = 5, newdata = new)
  expect_identical(.Random.seed, before)
  draws <- as.matrix(simulate(fit, 20000, seed = 1, newdata = new, what = "function"))
  expected <- predict(fit, new, cov = TRUE)
  expect_lt(max(abs(rowMeans(draws) - expected$fit) / sqrt(diag(expected$cov))), 0.05)
  expect_lt(max(abs(cov(t(draws)) - expected$cov)) / max(expected$cov), 0.05)
  noisy <- as.matrix(simulate(fit, 20000, seed = 1, newdata = new))
  expect_equal(unname(apply(noisy, 1, var)), unname(diag(expected$cov) + sigma(fit)^2), tolerance = 0.05)
  expect_identical(dim(simulate(fit, 2)), c(490L, 2L))
})

test_that("update takes in rows, refits, and changes calls", {
  settings <- list(knots = as.matrix(boston[1:20, c("lstat", "rm")]), select = "fixed", max_iter = 0, scale = FALSE, sigma = 9, tau = 3,
                   lengthscale = c(15, 2), mean = 20)
  part <- do.call(oatgp, c(list(medv ~ lstat + rm, boston[1:400, ]), settings))
  all <- do.call(oatgp, c(list(medv ~ lstat + rm, boston), settings))
  updated <- update(part, newdata = boston[401:490, ])
  expect_identical(nobs(updated), 490L)
  expect_identical(nobs(part), 400L)
  expect_equal(as.numeric(logLik(updated)), as.numeric(logLik(all)), tolerance = 1e-10)
  expect_equal(predict(updated, boston), predict(all, boston), tolerance = 1e-8)
  expect_equal(loo(updated)$scores, loo(all)$scores, tolerance = 1e-8)
  expect_identical(row.names(loo(updated)$rows), row.names(boston))
  later <- boston[401:490, ]
  row.names(later) <- NULL
  same_names <- update(part, newdata = later)
  expect_equal(loo(same_names)$scores, loo(updated)$scores)
  expect_length(residuals(same_names, "loo"), 490)
  expect_identical(dim(simulate(same_names)), c(490L, 1L))
  refitted <- update(part, newdata = boston[401:490, ], refit = TRUE, max_iter = 20)
  expect_gt(as.numeric(logLik(refitted)), as.numeric(logLik(updated)))
  expect_error(update(part, newdata = boston[1:3, ], max_iter = 3), "settings are for refit", class = "oatgp_argument")
  fit <- quick()
  expect_named(coef(update(fit, . ~ . - rm, kernel = "matern32")), c("sigma", "lengthscale", "tau", "mean"))
  expect_error(update(oatgp(boston["rm"], boston$medv, max_iter = 0), newdata = boston["rm"]), "y is missing", class = "oatgp_argument")
})

test_that("cross-validation and scores", {
  fit <- quick()
  set.seed(4)
  folds <- cv(fit, folds = 3, max_iter = 3)
  expect_identical(dim(folds$rows), c(490L, 5L))
  expect_false(anyNA(folds$rows))
  expect_output(print(folds), "Cross-validation of 490 rows")
  set.seed(4)
  expect_identical(cv(fit, folds = 3, max_iter = 3), folds)
  scores <- score(fit, boston[1:50, ])
  expect_equal(scores[["rmse"]], sqrt(mean((boston$medv[1:50] - predict(fit, boston[1:50, ]))^2)))
  expect_identical(score(fit, boston[1:50, c("rm", "medv", "lstat")]), scores)
})

test_that("settings of cross-validation win over the model's, and a preset over neither", {
  places <- boston[1:4, c("lstat", "rm")]
  fit <- function(...) oatgp(medv ~ lstat + rm, boston, max_iter = 2, select = "simultaneous", seed = 1, ...)
  rows <- function(...) cv(..., folds = 2, seed = 1)$rows
  expect_identical(rows(fit(knots = places), knots = 3), rows(fit(knots = 3)))
  expect_identical(rows(fit(knots = 3), knots = places), rows(fit(knots = places)))
  expect_identical(rows(fit(knots = 3), preset = "paper", max_iter = 1), rows(fit(knots = 3, preset = "paper"), max_iter = 1))
  expect_false(identical(rows(fit(knots = 3), max_iter = 1), rows(fit(knots = 3))))
})

test_that("settings that would have no effect are refused", {
  fit <- quick()
  expect_error(update(fit, newdata = boston[1:3, ], refit = TRUE, kernel = "rq"), "'kernel' has no effect here", class = "oatgp_argument")
  expect_error(certify(fit, kernel = "rq"), "'kernel' has no effect here", class = "oatgp_argument")
  expect_error(quick(folds = 3), "'folds' has no effect here", class = "oatgp_argument")
})

test_that("plots draw", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(grDevices::dev.off())
  fit <- quick()
  expect_identical(plot(fit, which = c("effects", "residuals", "qq", "history")), fit)
  plot(oatgp(accel ~ times, mcycle, max_iter = 5))
  plot(oatgp(accel ~ times, mcycle, max_iter = 5, approx = "full", keep_data = FALSE), which = "effects", main = "title")
  plot(fit, which = oatgp:::plot_names, xlab = "x", ylab = "y", main = "title", pch = 1, col = "red", ylim = c(0, 9))
  expect_error(plot(fit, which = "pie"), "should be one of")
  exact <- oatgp(y ~ a + b, wavy(), tol_row = 0)
  expect_identical(plot(exact), exact)
  expect_error(plot(exact, which = "history"), "the model holds no history of its fit", class = "oatgp_argument")
})

test_that("rows that the fit left out are there again where lm has them", {
  data <- wavy(40)
  data$y[3] <- NA
  fit <- function(na.action) oatgp(y ~ a + b, data, na.action = na.action, knots = 5, select = "simultaneous", max_iter = 2, seed = 1)
  excluded <- fit(na.exclude)
  omitted <- fit(na.omit)
  covariance <- predict(excluded, cov = TRUE)$cov
  expect_identical(dim(covariance), c(40L, 40L))
  expect_identical(covariance[-3, -3], predict(omitted, cov = TRUE)$cov)
  expect_true(all(is.na(covariance[3, ])))
  draws <- simulate(excluded, 2, seed = 1)
  expect_identical(row.names(draws), row.names(simulate(lm(y ~ a + b, data, na.action = na.exclude), 2)))
  expect_identical(as.matrix(draws)[-3, ], as.matrix(simulate(omitted, 2, seed = 1)))
  skip_if_not_installed("generics")
  for (model in list(excluded, omitted)) {
    expect_identical(nrow(generics::augment(model)), 39L)
    rows <- generics::augment(model, data)
    expect_identical(which(is.na(rows$.fitted)), 3L)
    expect_identical(rows$.std.resid[-3], generics::augment(model, na.omit(data))$.std.resid)
    expect_identical(names(rows), c("a", "b", "y", ".fitted", ".se.fit", ".resid", ".std.resid"))
  }
})

test_that("tidy methods", {
  skip_if_not_installed("generics")
  fit <- quick()
  expect_identical(generics::tidy(fit)$term, names(coef(fit)))
  glance <- generics::glance(fit)
  expect_identical(nrow(glance), 1L)
  expect_equal(glance$AIC, AIC(fit))
  rows <- generics::augment(fit, boston, interval = "prediction")
  expect_identical(rows$.fitted, unname(fitted(fit)))
  expect_identical(names(rows), c(names(boston), ".fitted", ".lower", ".upper", ".se.fit", ".resid", ".std.resid"))
  expect_identical(names(generics::augment(fit))[1:3], c("medv", "lstat", "rm"))
  expect_identical(names(generics::augment(fit, newdata = boston[1:2, ])), c(names(boston), ".fitted", ".se.fit"))
  expect_error(generics::augment(fit, boston[1:3, ]), "data has 3 rows", class = "oatgp_data")
})

test_that("derivatives are those of the predictions", {
  fit <- quick()
  at <- boston[1:5, ]
  found <- predict(fit, at, gradient = TRUE)
  expect_identical(unname(found$fit), unname(predict(fit, at)))
  expect_identical(colnames(found$gradient), oatgp:::model_info(fit)$inputs)
  for (input in colnames(found$gradient)) {
    above <- below <- at
    above[[input]] <- at[[input]] + 1e-5
    below[[input]] <- at[[input]] - 1e-5
    up <- predict(fit, above, se.fit = TRUE)
    down <- predict(fit, below, se.fit = TRUE)
    expect_equal(unname(found$gradient[, input]), unname(up$fit - down$fit) / 2e-5, tolerance = 1e-5)
    expect_equal(unname(found$se.gradient[, input]), unname(up$se.fit - down$se.fit) / 2e-5, tolerance = 1e-4)
  }
  at$rm[2] <- NA
  expect_true(all(is.na(predict(fit, at, gradient = TRUE)$gradient[2, ])))
  expect_error(predict(fit, at, type = "terms", gradient = TRUE), "nor gradient", class = "oatgp_argument")
})

test_that("sensitivity has the indices of a sum", {
  data <- wavy(80)
  model <- oatgp(y ~ a + b, data = data, approx = "full")
  set.seed(2)
  found <- sensitivity(model)
  expect_equal(rownames(found), c("a", "b")) # sin(2 a) has the variance 0.54, b 1 / 12
  expect_equal(found["a", "total"], 0.87, tolerance = 0.05)
  expect_true(all(found$total_lower <= found$total & found$total <= found$total_upper))
  set.seed(2)
  expect_identical(sensitivity(model), found)
  half <- sensitivity(model, data.frame(a = 0, b = data$b)) # a does not vary
  expect_equal(rownames(half), c("b", "a"))
  expect_lt(abs(half["a", "total"]), 1e-9)
  expect_error(sensitivity(model, draws = 1), "at least 2")
  expect_error(sensitivity(model, level = 1), "must be a number above 0 and below 1")
})
