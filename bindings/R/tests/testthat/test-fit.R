test_that("the full GP agrees with its dense formula", {
  data <- wavy(40)
  fit <- oatgp(y ~ a + b, data, approx = "full", max_iter = 10, average = 0)
  p <- coef(fit)
  x <- scale(as.matrix(data[c("a", "b")]))
  l <- p[c("lengthscale.a", "lengthscale.b")]
  k <- se_kernel(x, x, p["sigma"], l) + diag(p["tau"]^2, 40)
  r <- data$y - p[["mean"]]
  root <- chol(k)
  evidence <- -sum(log(diag(root))) - sum(backsolve(root, r, transpose = TRUE)^2) / 2 - 20 * log(2 * pi)
  expect_equal(as.numeric(logLik(fit)), evidence, tolerance = 1e-9)

  new <- wavy(5, seed = 2)
  z <- scale(as.matrix(new[c("a", "b")]), attr(x, "scaled:center"), attr(x, "scaled:scale"))
  cross <- se_kernel(z, x, p["sigma"], l)
  mean <- p[["mean"]] + drop(cross %*% solve(k, r))
  cov <- se_kernel(z, z, p["sigma"], l) - cross %*% solve(k, t(cross))
  got <- predict(fit, new, se.fit = TRUE, cov = TRUE)
  expect_equal(unname(got$fit), unname(mean), tolerance = 1e-8)
  expect_equal(unname(got$cov), unname(cov), tolerance = 1e-6)
  expect_equal(unname(got$se.fit), unname(sqrt(diag(cov))), tolerance = 1e-6)
})

test_that("formula, data frame, matrix and vector are the same model", {
  settings <- list(knots = 10, max_iter = 5, seed = 3, select = "simultaneous")
  by_formula <- do.call(oatgp, c(list(medv ~ lstat + rm, data = boston), settings))
  by_frame <- do.call(oatgp, c(list(boston[c("lstat", "rm")], boston$medv), settings))
  by_matrix <- do.call(oatgp, c(list(as.matrix(boston[c("lstat", "rm")]), boston$medv), settings))
  expect_identical(coef(by_formula), coef(by_frame))
  expect_identical(unname(predict(by_formula, boston)), unname(predict(by_matrix, boston)))
  one <- do.call(oatgp, c(list(mcycle$times, mcycle$accel), settings))
  expect_identical(names(coef(one))[2], "lengthscale.x1")
  expect_length(predict(one, 1:3), 3)
})

test_that("the target has the name of its variable, if no input and no wrapper has it", {
  target <- function(fit) oatgp:::model_info(fit)$target
  wrapper <- function(...) oatgp(..., max_iter = 0)
  heights <- mcycle$accel
  expect_identical(target(oatgp(mcycle$times, heights, max_iter = 0)), "heights")
  expect_identical(target(oatgp(cbind(x = mcycle$times, y = rev(mcycle$times)), mcycle$accel, max_iter = 0)), "y.1")
  expect_identical(target(wrapper(mcycle$times, mcycle$accel)), "y")
})

test_that("the command in the model has no data", {
  fit <- do.call(oatgp, list(mcycle["times"], mcycle$accel, max_iter = 0, seed = 1))
  expect_identical(oatgp:::model_info(fit)$command, "oatgp(x = `<data.frame>`, y = `<numeric>`, max_iter = 0, seed = 1)")
  expect_output(print(fit), "oatgp(x = `<data.frame>`", fixed = TRUE)
})

test_that("transformations, subset, weights and NA are as in lm, and factors with contrasts", {
  data <- wavy(80)
  data$g <- factor(rep(c("u", "v", "w", "u"), 20))
  data$w <- rep(c(1, 4), 40)
  data$y[3] <- NA
  fit <- oatgp(y ~ exp(a) + g, data, subset = b > 0.1, weights = w, na.action = na.exclude, contrasts = list(g = "contr.treatment"),
               knots = 8, max_iter = 5)
  like <- lm(y ~ exp(a) + g, data, subset = b > 0.1, weights = w, na.action = na.exclude)
  expect_identical(model_names <- oatgp:::model_info(fit)$inputs, names(coef(like))[-1])
  expect_identical(nobs(fit), nobs(like))
  expect_identical(names(fitted(fit)), names(fitted(like)))
  expect_identical(is.na(residuals(fit)), is.na(residuals(like)))
  expect_identical(formula(fit), formula(like))
  new <- data.frame(a = c(0, NA, 1), g = c("v", "u", "w"))
  expect_identical(unname(is.na(predict(fit, new))), c(FALSE, TRUE, FALSE))
  expect_error(predict(fit, data.frame(a = 1, g = "z")), "new level")
})

grouped <- function(n = 90) {
  set.seed(4)
  x <- stats::runif(n, -2, 2)
  group <- rep(c("red", "green", "blue"), length.out = n)
  data.frame(x = x, group = group, y = sin(2 * x) + 2 * (group == "green") - x * (group == "blue") + 0.05 * stats::rnorm(n))
}

test_that("factors and texts are categories", {
  data <- grouped()
  coded <- transform(data, group = factor(group, c("red", "green", "blue")))
  new <- data.frame(group = c("green", "red", "blue"), x = 0.5)
  truth <- sin(1) + c(2, 0, -0.5)
  for (fit in list(oatgp(y ~ x + group, data, seed = 1), oatgp(y ~ x + group, coded, seed = 1), oatgp(data[c("x", "group")], data$y, seed = 1))) {
    info <- oatgp:::model_info(fit)
    expect_identical(info$inputs, c("x", "group"))
    expect_identical(info$kernel, "se() * categorical(group)")
    expect_equal(unname(predict(fit, new)), truth, tolerance = 0.05)
    expect_equal(unname(predict(fit, new[1, ])), truth[1], tolerance = 0.05)
    expect_equal(unname(fitted(fit)), unname(predict(fit, data)), tolerance = 1e-8)
    expect_warning(wide <- predict(fit, data.frame(group = c("pink", "red"), x = 0.5), se.fit = TRUE), "'pink' in 1 row")
    expect_gt(wide$se.fit[1], 2 * wide$se.fit[2])
    expect_lt(loo(fit)$scores[["rmse"]], 0.2)
    file <- tempfile(fileext = ".pdf")
    grDevices::pdf(file)
    plot(fit, which = "effects")
    grDevices::dev.off()
    unlink(file)
  }
  more <- suppressWarnings(update(oatgp(y ~ x + group, data, max_knots = 20, seed = 1), newdata = data.frame(x = 0.5, group = "pink", y = 3)))
  expect_identical(oatgp:::model_levels(more)$group, c("blue", "green", "red", "pink"))
})

test_that("a constant input is left out, and nothing else changes", {
  data <- cbind(k = 3, wavy())
  x <- as.matrix(data[c("k", "a", "b")])
  fit <- function(..., knots) oatgp(..., knots = knots, select = "fixed", max_iter = 3, seed = 1)
  without <- fit(y ~ a + b, data, knots = x[1:10, 2:3])
  same <- function(ours, theirs) expect_equal(unname(unlist(ours)), unname(unlist(theirs)))
  at <- x[1:10, ]
  for (fit in list(fit(y ~ k + a + b, data, knots = at), fit(x, data$y, knots = at), fit(unname(x), data$y, knots = at))) {
    same(predict(fit, x[1:5, ], cov = TRUE), predict(without, data[1:5, ], cov = TRUE))
    same(fitted(fit), fitted(without))
    same(residuals(fit, "loo"), residuals(without, "loo"))
    same(simulate(fit, 2, seed = 1), simulate(without, 2, seed = 1))
    same(score(fit, x[1:5, ], data$y[1:5]), score(without, data[1:5, ]))
    same(cv(fit, 2, seed = 1)$scores, cv(without, 2, seed = 1)$scores)
    same(coef(update(fit, newdata = x[1:5, ], y = data$y[1:5])), coef(update(without, newdata = data[1:5, ])))
    same(summary(fit)$residuals, summary(without)$residuals)
    same(oatgp:::middle(fit, oatgp:::model_info(fit)), c(median(data$a), median(data$b)))
  }
})

test_that("columns are found by name, and by place only where there are no names", {
  data <- wavy()
  fit <- function(...) oatgp(..., select = "simultaneous", knots = 5, max_iter = 2, seed = 1)
  by_formula <- fit(y ~ exp(a) + b, data)
  expect_identical(unname(predict(by_formula, as.matrix(data[c("b", "a")]))), unname(predict(by_formula, data)))
  expect_error(predict(by_formula, unname(as.matrix(data[1:2]))), "a matrix needs the names", class = "oatgp_data")
  file <- tempfile()
  oatgp_save(by_formula, file)
  expect_error(predict(oatgp_load(file), data), "the new rows have no column 'exp(a)'; they have a, b, y; the inputs are exp(a), b", fixed = TRUE, class = "oatgp_data")
  expect_error(oatgp(y ~ exp(a) + b, data, knots = data[1:5, 1:2]), "the knots have no column 'exp(a)'", fixed = TRUE, class = "oatgp_data")
  by_matrix <- fit(unname(as.matrix(data[1:2])), data$y)
  expect_identical(unname(predict(by_matrix, data[1:2])), unname(predict(by_matrix, as.matrix(data[1:2]))))
  expect_error(predict(by_matrix, data.frame(x1 = 1, z = 2)), "no column 'x2'", class = "oatgp_data")
  expect_error(predict(by_matrix, cbind(1:2)), "have 1 columns without the names of the 2 inputs: x1, x2", class = "oatgp_data")
})

test_that("weights are those of the noise", {
  data <- wavy(30)
  twice <- data[c(seq_len(30), seq_len(30)), ]
  settings <- list(approx = "full", max_iter = 0, sigma = 1, tau = 0.3, lengthscale = c(1, 2), mean = 0, scale = FALSE)
  expect_warning(doubled <- do.call(oatgp, c(list(y ~ a + b, twice), settings)), "60 rows have a copy")
  weighted <- do.call(oatgp, c(list(y ~ a + b, data, weights = rep(2, 30)), settings))
  expect_equal(predict(doubled, data), predict(weighted, data), tolerance = 1e-6)
  known <- do.call(oatgp, c(list(as.matrix(data[1:2]), data$y, noise_variance = rep(0.3^2, 30)), settings))
  halved <- do.call(oatgp, c(list(as.matrix(data[1:2]), data$y, weights = rep(0.5, 30)), settings))
  expect_equal(predict(known, data), predict(halved, data), tolerance = 1e-10)
})

test_that("new rows have the weights and noise variances that the call says, and none are forgotten", {
  data <- cbind(wavy(), w = rep(c(1, 4), 30), v = rep(c(0, 0.1, 0.2), 20))
  half <- 2
  at <- data[1:10, 1:2]
  by_formula <- oatgp(y ~ a + b, data[1:40, ], weights = w / half, noise_variance = v, knots = at, select = "fixed", max_iter = 0, mean = 0,
                      sigma = 1, tau = 0.5, lengthscale = 1, scale = FALSE)
  by_matrix <- with(data[1:40, ], oatgp(cbind(a, b), y, weights = w, noise_variance = v, knots = at, select = "fixed", max_iter = 0))
  all <- update(by_formula, data = data)
  expect_equal(as.numeric(logLik(update(by_formula, newdata = data[41:60, ]))), as.numeric(logLik(all)), tolerance = 1e-8)

  new <- data[41:44, ]
  given <- list(new, interval = "prediction", weights = new$w / 2, noise_variance = new$v)
  expect_identical(predict(by_formula, new, interval = "prediction"), do.call(predict, c(list(by_formula), given)))
  expect_identical(score(by_formula, new), score(by_formula, new, weights = new$w / 2, noise_variance = new$v))
  expect_identical(score(by_matrix, new), score(by_matrix, new, weights = new$w, noise_variance = new$v))
  noisy <- as.matrix(simulate(by_formula, 20000, seed = 1, newdata = new))
  clean <- as.matrix(simulate(by_formula, 20000, seed = 1, newdata = new, what = "function"))
  expect_equal(unname(apply(noisy - clean, 1, var)), 0.5^2 / (new$w / 2) + new$v, tolerance = 0.05)
  expect_identical(dim(simulate(by_formula, 1, newdata = new[1:2], weights = rep(1, 4), noise_variance = rep(0, 4))), c(4L, 1L))

  bare <- new[c("a", "b", "y")]
  expect_length(predict(by_formula, bare), 4)
  for (use in list(function(m) predict(m, bare, interval = "prediction"), function(m) score(m, bare),
                   function(m) simulate(m, newdata = bare), function(m) update(m, newdata = bare))) {
    expect_error(use(by_formula), "was fitted with weights, but the new rows have none", class = "oatgp_data")
    expect_error(use(by_matrix), "was fitted with weights, but the new rows have none", class = "oatgp_data")
  }

  new$a[2] <- NA
  given[[1]] <- new
  expect_identical(do.call(predict, c(list(by_formula, na.action = na.omit), given)), do.call(predict, c(list(by_formula), given))[-2, ])
})

test_that("a y that is given wins over that of the formula", {
  fit <- quick()
  wrong <- transform(boston, medv = 0)
  for (newdata in list(wrong, wrong[c("lstat", "rm")], as.matrix(wrong))) {
    expect_equal(score(fit, newdata, y = boston$medv), score(fit, boston), tolerance = 1e-12)
    expect_equal(loo(fit, newdata, y = boston$medv)$scores, loo(fit)$scores, tolerance = 1e-12)
  }
  expect_error(score(fit, boston[c("lstat", "rm")]), "y is missing", class = "oatgp_argument")
})

test_that("set.seed makes fits reproducible and other seeds differ", {
  fit <- function(seed) {
    set.seed(seed)
    oatgp(medv ~ lstat + rm, boston, knots = "random:5", max_iter = 2, select = "simultaneous")
  }
  expect_identical(coef(fit(1)), coef(fit(1)))
  expect_false(identical(coef(fit(1)), coef(fit(2))))
})

test_that("knots can be given", {
  places <- boston[c(1, 100, 200, 300), c("rm", "lstat")] # in another order
  fit <- oatgp(medv ~ lstat + rm, boston, knots = places, select = "fixed", max_iter = 3)
  expect_equal(unname(as.matrix(knots(fit)[c("rm", "lstat")])), unname(as.matrix(places)), tolerance = 1e-10)
  expect_identical(names(knots(fit)), c("lstat", "rm", "mean", "sd"))
})

test_that("errors are conditions with the library's sentence", {
  expect_error(oatgp(medv ~ lstat, boston, max_knotz = 3), "the nearest name is 'max_knots'", class = "oatgp_argument")
  expect_error(oatgp(medv ~ lstat, boston, batch = 0), "batch is 0 but must be from 1", class = "oatgp_error")
  expect_error(oatgp(medv ~ lstat, boston, kernel = "cubic"), "cubic", class = "oatgp_argument")
  expect_error(oatgp(medv ~ lstat, boston, weights = -medv), "weight", class = "oatgp_error")
  expect_error(oatgp(medv ~ lstat, boston, target = "rm"), "is about files", class = "oatgp_argument")
  expect_error(oatgp(boston["lstat"], boston$medv, NULL, 5), "with its name", class = "oatgp_argument")
  expect_error(oatgp(medv ~ lstat, boston, knots = 5, knots = 6), "matched by multiple|given twice")
  expect_error(oatgp(medv ~ lstat, boston, tau = NA), "and not NA", class = "oatgp_argument")
  expect_error(oatgp(medv ~ 1, boston), "no inputs", class = "oatgp_argument")
  expect_error(oatgp(~lstat, boston), "needs exactly one response", class = "oatgp_argument")
  expect_error(oatgp(boston["lstat"]), "y is missing", class = "oatgp_argument")
  expect_error(oatgp(boston["lstat"], 1:3), "y must be 490 numbers", class = "oatgp_argument")
  expect_error(oatgp(data.frame(g = as.Date("2020-01-01")), 1), "'g' \\(Date\\) holds neither numbers nor categories", class = "oatgp_argument")
  expect_error(oatgp(list(1), 1), "numeric matrix", class = "oatgp_argument")
  expect_error(oatgp(c(1, NA, 3), 1:3), "the input 'x1' of row 2 is NA", class = "oatgp_data")
  condition <- tryCatch(oatgp(medv ~ lstat, boston, batch = 0), error = identity)
  expect_identical(condition$status, "argument")
  expect_identical(as.character(conditionCall(condition)[[1]]), "oatgp")
})

test_that("warnings of the library are R's", {
  data <- data.frame(x = rep(c(1, 2, 3), 10), y = rnorm(30))
  warned <- tryCatch(oatgp(y ~ x, data, approx = "vfe", knots = data["x"], select = "fixed", jitter = 0, max_iter = 2),
                     oatgp_warning = conditionMessage)
  expect_match(warned, "jitter")
})

# Interrupts this process twice, as the impatient do; gives the file that is there afterwards.
interrupt_after <- function(seconds) {
  done <- tempfile()
  system(sprintf("(sleep %2$g; kill -INT %1$d; sleep 0.02; kill -INT %1$d; : >'%3$s') >/dev/null 2>&1 &", Sys.getpid(), seconds, done))
  done
}

# The work may be over before the second interrupt comes.
wait_for <- function(file) {
  while (!file.exists(file)) {
    Sys.sleep(0.05)
  }
}

# What the work gives when it is interrupted, twice, after a second. On a slow machine it has not begun by then, and gives nothing: later.
interrupted <- function(work) {
  for (seconds in c(1, 5, 25)) {
    both <- interrupt_after(seconds)
    found <- NULL
    tryCatch({
      found <- work()
      wait_for(both)
    }, interrupt = function(condition) NULL)
    tryCatch(wait_for(both), interrupt = function(condition) NULL)
    if (!is.null(found)) break
  }
  found
}

many_rows <- function() {
  set.seed(1)
  x <- matrix(runif(60000), ncol = 3)
  list(x = x, y = sin(5 * x[, 1]) * x[, 2] + rnorm(20000, sd = 0.1))
}

test_that("an interrupt returns the best model so far where that is wanted", {
  skip_on_cran()
  skip_on_os("windows")
  rows <- many_rows()
  fit <- interrupted(function() {
    expect_warning(fit <- endless(rows$x, rows$y, knots = 150, time_limit = 100, on_interrupt = "return"), class = "oatgp_interrupted")
    fit
  })
  expect_length(predict(fit, rows$x[1:3, ]), 3)
  expect_identical(oatgp:::model_info(fit)$stop, "user")
})

test_that("an interrupt ends a loop, errors that are caught or not, and keeps the model", {
  skip_on_cran()
  skip_on_os("windows")
  rows <- many_rows()
  checkpoint <- tempfile()
  condition <- interrupted(function() {
    runs <<- 0
    tryCatch({
      lapply(1:3, function(i) {
        runs <<- runs + 1
        try(endless(rows$x, rows$y, knots = 150, time_limit = 100, checkpoint = checkpoint))
      })
      "the loop went on"
    }, oatgp_interrupted = identity)
  })
  expect_s3_class(condition, "interrupt")
  expect_false(inherits(condition, "error"))
  expect_match(conditionMessage(condition), "interrupted: oatgp_interrupted() is the best model so far", fixed = TRUE)
  expect_identical(runs, 1)
  expect_true(file.exists(checkpoint))
  expect_identical(oatgp_interrupted(), condition$result)
  expect_identical(oatgp:::model_info(condition$result)$stop, "user")
  expect_length(predict(oatgp_interrupted(), rows$x[1:3, ]), 3)
})

test_that("whatever is long ends with what there is", {
  fit <- quick()
  ended <- function(result, on_interrupt, what) {
    oatgp:::end_interrupted(result, what, on_interrupt, quote(cv(fit)))
  }
  expect_identical(tryCatch(ended(3, "stop", "the bounds so far"), interrupt = function(c) c$result), 3)
  expect_identical(oatgp_interrupted(), 3)
  expect_warning(expect_identical(ended(4, "return", "the bounds so far"), 4), "interrupted: the result is the bounds so far",
                 class = "oatgp_interrupted")
  expect_error(quick(on_interrupt = "go"), "should be one of")
  for (use in list(function(...) cv(fit, ...), function(...) certify(fit, ...),
                   function(...) update(fit, newdata = boston[1:3, ], refit = TRUE, ...))) {
    expect_error(use(on_interrupt = "go"), "should be one of")
  }
})

test_that("sentences of the library have R's arguments", {
  expect_identical(oatgp:::in_r("use likelihood = \"poisson\" here"), "use family = poisson() here")
  expect_identical(oatgp:::in_r("the model has likelihood student-t"), paste("the model has family =", oatgp:::family_text("student-t")))
  set.seed(1)
  expect_warning(oatgp(matrix(runif(120), 60), rnorm(60)), "(guard = FALSE fits anyway)", fixed = TRUE, class = "oatgp_warning")
})

test_that("columns of one name are refused, and a column of a frame is a target", {
  data <- wavy()
  fit <- function(...) oatgp(..., select = "simultaneous", knots = 5, max_iter = 2, seed = 1)
  by_formula <- fit(y ~ a + b, data)
  by_frame <- fit(data[c("a", "b")], data["y"])
  expect_identical(coef(by_frame), coef(fit(data[c("a", "b")], data$y)))
  twice <- setNames(data[c("a", "b", "y")], c("a", "b", "a"))
  for (model in list(by_formula, by_frame)) {
    expect_error(predict(model, twice), "the new rows have 2 columns of the name 'a'; rename them", class = "oatgp_data")
    expect_length(predict(model, setNames(data[c("a", "b", "y", "y")], c("a", "b", "z", "z"))), 60)
  }
  expect_error(fit(matrix(1:6, 3, dimnames = list(NULL, c("a", NA))), 1:3), "the name of column 2 of the inputs is NA", class = "oatgp_argument")
})

test_that("a variable that new rows lack is not taken from elsewhere", {
  a <- boston$lstat
  b <- boston$rm
  y <- boston$medv
  fit <- oatgp(y ~ a + log(b), select = "simultaneous", knots = 5, max_iter = 2)
  for (use in list(function(rows) predict(fit, rows), function(rows) score(fit, rows), function(rows) update(fit, newdata = rows),
                   function(rows) loo(fit, rows), function(rows) simulate(fit, newdata = rows))) {
    expect_error(use(data.frame(b = b, y = y)), "the new rows have no column 'a'; they have b, y; give them the columns of the formula",
                 class = "oatgp_data")
  }
  half <- 2
  scaled <- oatgp(y ~ I(a / half), select = "simultaneous", knots = 5, max_iter = 2)
  expect_length(predict(scaled, data.frame(a = 1:3)), 3)
})

test_that("forked children can fit", {
  skip_on_cran()
  fit <- function(i) coef(quick(threads = i))
  expect_identical(parallel::mclapply(1:2, fit, mc.cores = 2), lapply(1:2, fit))
})

test_that("a time limit is a success", {
  fit <- endless(medv ~ ., boston, knots = 40, time_limit = 0.3)
  expect_identical(oatgp:::model_info(fit)$stop, "time")
})

test_that("bounds get what the time limit leaves", {
  fit <- endless(medv ~ ., boston, knots = 20, time_limit = 1e-9, certify = TRUE) # nothing, on the fastest machine as well
  expect_gt(oatgp:::model_info(fit)$upper, certify(fit)$upper + 1)
})

test_that("progress goes to the console", {
  said <- capture.output(fit <- endless(medv ~ ., boston, knots = 60, time_limit = 1, progress = TRUE), type = "message")
  expect_match(paste(said, collapse = ""), "60 knots")
})

test_that("other settings win over a preset", {
  fit <- oatgp(medv ~ lstat, boston, max_knots = 7, optimizer = "lbfgs", preset = "paper", jitter_absolute = 1e-6, seed = 1)
  expect_identical(oatgp:::model_info(fit)$knots, 7)
  expect_identical(oatgp:::model_info(fit)[c("optimizer", "select", "kernel")], list(optimizer = "lbfgs", select = "oat-bo", kernel = "se"))
})

test_that("settings are the library's table", {
  table <- oatgp_settings()
  expect_true(all(c("max_knots", "kernel", "approx", "seed") %in% table$name))
  expect_false(any(c("target", "output", "json") %in% table$name))
  expect_identical(table$default[table$name == "approx"], "vfe")
  expect_identical(table$default[table$name == "jitter"], "auto")
  expect_true("tol" %in% oatgp_settings("certify")$name)
  expect_error(oatgp_settings("dance"), "must be one of", class = "oatgp_argument")
})

test_that("the full GP grows", {
  full <- oatgp(medv ~ lstat + rm, boston[1:50, ], approx = "full", max_iter = 3, average = 0)
  more <- update(full, newdata = boston[51:60, ])
  whole <- update(full, newdata = boston[51:60, ], refit = TRUE, max_iter = 0)
  expect_identical(c(nobs(full), nobs(more)), c(50L, 60L))
  expect_equal(predict(more, boston, se.fit = TRUE), predict(whole, boston, se.fit = TRUE), tolerance = 1e-9)
})

test_that("few rows are averaged unless it is turned off", {
  data <- wavy(30)
  draws <- function(...) oatgp:::model_info(oatgp(y ~ a + b, data, seed = 1, ...))$average
  expect_identical(c(draws(), draws(average = "auto"), draws(average = 0), draws(average = 3)), c(8, 8, 0, 3))
  expect_output(print(oatgp(y ~ a + b, data)), "averaged over 8 draws")
  said <- capture.output(fit <- oatgp(y ~ a + b, data, progress = TRUE), type = "message")
  expect_match(paste(said, collapse = ""), "average = 0 uses the best parameters alone")
})

test_that("methods of averaged models are those of their members", {
  data <- wavy(20)
  fit <- oatgp(y ~ a + b, data, approx = "full", mean = 0, scale = FALSE, seed = 1)
  members <- oatgp:::model_members(fit)
  info <- lapply(members$model, oatgp:::model_info)
  expect_length(info, 8)
  expect_equal(sum(members$weight), 1)
  x <- as.matrix(data[c("a", "b")])
  hats <- vapply(info, function(member) {
    covariance <- se_kernel(x, x, member$sigma, member$lengthscales)
    diag(covariance %*% solve(covariance + diag(member$tau^2, 20)))
  }, numeric(20))
  expect_equal(unname(hatvalues(fit)), as.vector(hats %*% members$weight), tolerance = 1e-6)
  tau <- vapply(info, `[[`, 0, "tau")
  new <- wavy(5, seed = 2)
  both <- predict(fit, new, se.fit = TRUE)
  expect_equal(both$residual.scale, sqrt(sum(members$weight * tau^2)))
  drawn <- apply(simulate(fit, 20000, seed = 1, newdata = new), 1, sd)
  expect_equal(unname(drawn), unname(sqrt(both$se.fit^2 + both$residual.scale^2)), tolerance = 0.03)
})

test_that("averages over draws of the parameters equal the command's", {
  data <- wavy(40)
  fit <- oatgp(y ~ a + b, data, approx = "full", average = 5, seed = 3)
  expect_match(paste(capture.output(print(summary(fit))), collapse = " "), "averaged over 5 draws")
  expect_error(oatgp(y ~ a + b, wavy(2001), average = 8), "at most 2000 rows")
  prediction <- predict(fit, data, interval = "prediction", level = 0.9)
  confidence <- predict(fit, data, interval = "confidence", level = 0.9)
  skewed <- prediction[, "upr"] - 2 * prediction[, "fit"] + prediction[, "lwr"] # a mixture is not symmetric
  expect_gt(max(abs(skewed)), 1e-6)
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  utils::write.csv(format(data, digits = 17), file.path(folder, "data.csv"), row.names = FALSE, quote = FALSE)
  system2(command(), c("fit", file.path(folder, "data.csv"), "--target", "y", "--approx", "full", "--average", "5", "--seed", "3", "--quiet",
                       "-o", file.path(folder, "model")), stdout = FALSE)
  predicted <- function(...) utils::read.csv(text = system2(command(), c("predict", file.path(folder, "model"), file.path(folder, "data.csv"), ...),
                                                            stdout = TRUE))
  # the two fits end a few digits apart where the package was compiled with other options
  theirs <- predicted("--interval", "0.9")
  expect_equal(unname(prediction), unname(as.matrix(theirs[c("mean", "lower", "upper")])), tolerance = 1e-6)
  theirs <- predicted("--interval", "0.9", "--latent")
  expect_equal(unname(confidence), unname(as.matrix(theirs[c("mean", "lower", "upper")])), tolerance = 1e-6)
})
