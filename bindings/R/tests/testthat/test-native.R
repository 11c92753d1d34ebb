# What people who come from lm(), glm() and gam() expect.

groups <- function(n = 90, seed = 1) {
  data <- wavy(n, seed)
  data$kind <- factor(rep_len(c("low", "mid", "top"), n))
  data$code <- rep_len(c(10, 20, 30), n)
  data$y <- data$y + c(0, 1, 2)[data$kind]
  data
}

# A fit that is made soon; the first two arguments are those of oatgp(), by formula or by matrix.
soon <- function(x, data = groups(), ...) {
  eval(substitute(oatgp(x, data, knots = 20, select = "simultaneous", max_iter = 20, seed = 1, ...)), parent.frame())
}

test_that("s() and (1 | f) are summands of the covariance", {
  data <- groups()
  kernel <- function(formula) oatgp:::model_info(soon(formula, data))$kernel
  expect_identical(kernel(y ~ s(a) + s(b)), "se(a) + se(b)")
  expect_identical(kernel(y ~ s(a, b)), "se(a, b)")
  expect_identical(kernel(y ~ s(a) + (1 | kind)), "se(a) + categorical(kind)")
  expect_identical(kernel(y ~ s(a) + (1 | code)), "se(a) + categorical(code)")
  expect_identical(kernel(y ~ s(a, by = kind) + b), "se(a) * categorical(kind) + se(b)")
  expect_identical(kernel(y ~ s(a, kernel = "matern52") + b + kind), "matern52(a) + se(b) * categorical(kind)")
  expect_identical(kernel(y ~ s(exp(a)) + s(I(b^2))), "se(\"exp(a)\") + se(\"I(b^2)\")")
  fit <- soon(y ~ s(a) + (1 | kind), data)
  same <- soon(y ~ a + kind, data, kernel = "se(a) + categorical(kind)")
  expect_equal(predict(fit, data[1:5, ]), predict(same, data[1:5, ]))
  expect_identical(formula(fit), y ~ s(a) + (1 | kind), ignore_formula_env = TRUE)
  terms <- predict(fit, type = "terms")
  expect_identical(colnames(terms), c("s(a)", "(1 | kind)"))
  expect_equal(rowSums(terms) + attr(terms, "constant"), predict(fit))
  expect_identical(formula(update(fit, . ~ . + s(b))), y ~ s(a) + (1 | kind) + s(b), ignore_formula_env = TRUE)
})

test_that("numbers are categories in (1 | f), in new rows too", {
  data <- groups()
  fit <- soon(y ~ s(a) + (1 | code), data)
  expect_identical(oatgp:::model_levels(fit), list(code = c("10", "20", "30")))
  expect_equal(predict(fit, data), predict(fit), tolerance = 1e-8)
  swapped <- predict(fit, transform(data[1:3, ], a = 0, code = c(30, 10, 20)))
  expect_true(swapped[1] > swapped[3] && swapped[3] > swapped[2])
  names(data)[1] <- "the input"
  spaced <- soon(y ~ s(`the input`) + (1 | kind), data)
  expect_equal(predict(spaced, data[1:3, ]), predict(soon(y ~ s(a) + (1 | kind)), groups()[1:3, ]))
})

test_that("formulas that say nothing are refused", {
  expect_error(soon(y ~ s(a, k = 3)), "it has no argument 'k'", class = "oatgp_argument")
  expect_error(soon(y ~ s()), "s\\(\\) takes inputs", class = "oatgp_argument")
  expect_error(soon(y ~ s(a, kernel = matern52)), "kernel must be a name in quotes", class = "oatgp_argument")
  expect_error(soon(y ~ s(a) + (a | kind)), "only \\(1 \\| f\\) is possible", class = "oatgp_argument")
  expect_error(soon(y ~ s(a) * kind), "s\\(a\\) \\* kind: s\\(\\) and .* can only be joined with other terms by \\+", class = "oatgp_argument")
  expect_error(soon(y ~ s(a) + 1 | kind), "joined with other terms by \\+", class = "oatgp_argument")
  expect_error(soon(y ~ s(a) + .), "names all its inputs", class = "oatgp_argument")
  expect_error(soon(y ~ s(a^2)), "write I\\(a\\^2\\)", class = "oatgp_argument")
  expect_error(soon(y ~ s(a), kernel = "se"), "leave kernel out", class = "oatgp_argument")
})

test_that("terms of a sum are dropped as they are written", {
  data <- groups()
  fit <- soon(y ~ s(a) + (1 | kind) + b, data)
  expect_setequal(attr(terms(fit), "term.labels"), c("s(a)", "(1 | kind)", "b"))
  dropped <- drop1(fit)
  expect_setequal(rownames(dropped), c("<none>", "s(a)", "(1 | kind)", "b"))
  for (label in c("s(a)", "(1 | kind)", "b")) {
    without <- update(fit, as.formula(paste(". ~ . -", label)))
    expect_equal(dropped[label, "AIC"], AIC(without))
    expect_false(label %in% labels(without))
  }
  expect_true(all(dropped$Df[-1] > 0))
  data$noise <- rep_len(c(1, 5, 2, 4, 3, 7, 6), nrow(data))
  stepped <- step(soon(y ~ s(a) + s(noise), data), trace = 0)
  expect_identical(formula(stepped), y ~ s(a), ignore_formula_env = TRUE)
  expect_identical(names(coef(stepped))[1], "se(a).sigma")
})

test_that("the last term stays, and a dot is written out", {
  data <- groups()[c("a", "b", "y")]
  fit <- soon(y ~ ., data)
  expect_identical(formula(fit), y ~ a + b, ignore_formula_env = TRUE)
  fewer <- update(fit, . ~ . - b)
  expect_identical(formula(fewer), y ~ a, ignore_formula_env = TRUE)
  expect_identical(drop1(fit)["b", "AIC"], AIC(fewer))
  last <- drop1(fewer)
  expect_identical(rownames(last), c("<none>", "a"))
  expect_equal(last$AIC, c(AIC(fewer), NA))
  expect_output(print(last), "The last term cannot be dropped: a model needs an input.")
  data$y <- rep_len(c(1, -1, 2, 0, -2), nrow(data))
  expect_identical(length(labels(step(soon(y ~ a + b, data), trace = 0))), 1L)
})

test_that("values that are not finite are named by column and row", {
  data <- groups()
  rownames(data) <- paste0("r", seq_len(nrow(data)))
  data$a[3] <- NA
  data$b[7] <- Inf
  expect_error(soon(y ~ a + b, data), "the input 'b' of row r7 is Inf; it must be finite", class = "oatgp_data")
  expect_error(soon(y ~ a, data, na.action = na.pass), "the input 'a' of row r3 is NA: .* na.action = na.omit", class = "oatgp_data")
  fit <- soon(y ~ b, data, subset = is.finite(b))
  expect_error(predict(fit, data), "the input 'b' of row r7 is Inf; it must be finite", class = "oatgp_data")
  expect_error(update(fit, newdata = data), "the input 'b' of row r7 is Inf", class = "oatgp_data")
  data$y[9] <- NaN
  expect_error(soon(data["a"][-3, , drop = FALSE], data$y[-3]), "the response of row r9 is NaN: leave such rows out", class = "oatgp_data")
})

test_that("by = takes a factor, and formulas are no texts", {
  data <- groups()
  expect_error(soon(y ~ s(a, by = b), data), "s\\(a, by = b\\): by = takes a factor, and b holds numbers: factor\\(b\\) makes", class = "oatgp_argument")
  expect_error(soon(y ~ s(.), data), "name the inputs in the place of the dot", class = "oatgp_argument")
  expect_error(soon(y ~ s(kind, bs = "re"), data), "a level for each category is \\(1 \\| f\\)", class = "oatgp_argument")
  expect_error(oatgp("y ~ a", data = data), "if x is a formula, write it without quotes, or use as.formula", class = "oatgp_argument")
})

test_that("the model frame, terms, matrix and weights are those of lm()", {
  data <- groups()
  data$w <- rep_len(1:3, 90)
  data$a[4] <- NA
  fit <- soon(y ~ log(b) + kind, data, weights = w)
  line <- lm(y ~ log(b) + kind, data, weights = w)
  expect_equal(model.frame(fit), model.frame(line))
  expect_identical(fit$model, model.frame(fit))
  expect_equal(model.matrix(fit), model.matrix(line), ignore_attr = TRUE)
  expect_identical(weights(fit), as.double(data$w), ignore_attr = TRUE)
  expect_identical(attr(terms(fit), "term.labels"), c("log(b)", "kind"))
  expect_identical(formula(fit), formula(line), ignore_formula_env = TRUE)
  excluded <- soon(y ~ a, data, weights = w, na.action = na.exclude)
  expect_equal(which(is.na(weights(excluded))), c("4" = 4L))
  expect_null(soon(y ~ b, data, keep_data = FALSE)$model)
  expect_error(model.frame(soon(y ~ b, data, keep_data = FALSE)), "does not hold the rows", class = "oatgp_data")
  more <- update(fit, newdata = data[1:5, ])
  expect_identical(dim(model.frame(more)), c(95L, 3L))
  matrix <- soon(data[c("b", "kind")], data$y)
  expect_identical(names(model.frame(matrix)), c("y", "b", "kind"))
  expect_identical(colnames(model.matrix(matrix)), c("b", "kind"))
  expect_error(terms(matrix), "not made by a formula", class = "oatgp_argument")
  expect_null(weights(matrix))
})

test_that("hat values are those of the dense formula, and sum to the trace", {
  data <- wavy()
  for (settings in list(list(approx = "full"), list(approx = "vfe", knots = 12, select = "simultaneous"))) {
    fit <- do.call(oatgp, c(list(y ~ a + b, data, mean = 0, seed = 1, average = 0), settings))
    moved <- function(i) { # the derivative of the fitted value, which is linear in y
      more <- data
      more$y[i] <- more$y[i] + 1
      values <- coef(fit)
      again <- c(list(y ~ a + b, more, mean = 0, sigma = values[["sigma"]], tau = values[["tau"]], lengthscale = values[2:3],
                      fix = "sigma,tau,lengthscale", approx = settings$approx, jitter = oatgp:::model_info(fit)$jitter),
                 if (settings$approx == "vfe") list(knots = knots(fit)[c("a", "b")], select = "fixed"))
      predict(do.call(oatgp, again))[[i]] - predict(fit)[[i]]
    }
    hat <- hatvalues(fit)
    expect_equal(unname(hat[c(1, 7, 30)]), vapply(c(1, 7, 30), moved, 0), tolerance = 1e-4)
    expect_true(all(hat > 0 & hat < 1))
  }
  expect_error(hatvalues(fit_answers(count ~ x, family = poisson())), "Gaussian model without neighbours", class = "oatgp_argument")
})

test_that("AIC is extracted, and what has no meaning is refused by a sentence", {
  fit <- quick()
  expect_equal(extractAIC(fit), c(attr(logLik(fit), "df"), AIC(fit)))
  expect_equal(extractAIC(fit, k = log(490))[2], BIC(fit))
  expect_error(vcov(fit), "the covariance of the parameters is not computed", class = "oatgp_argument")
  expect_error(confint(fit), "the covariance of the parameters is not computed", class = "oatgp_argument")
  expect_error(anova(fit), "compare models by AIC", class = "oatgp_argument")
  expect_error(anova(fit, fit), "compare models by AIC", class = "oatgp_argument")
})

test_that("an offset is added to the function", {
  data <- groups()
  data$base <- 10 * data$b
  new <- data[3:6, ]
  for (family in list(gaussian(), "student-t")) {
    with <- soon(y + base ~ a + offset(base), data, family = family)
    without <- soon(y ~ a, data, family = family)
    argument <- soon(y + base ~ a, data, family = family, offset = base)
    expect_equal(predict(with), predict(without) + data$base, ignore_attr = TRUE)
    expect_equal(predict(argument, new), predict(with, new))
    for (interval in c("none", "confidence", "prediction")) {
      expect_equal(predict(with, new, interval = interval), predict(without, new, interval = interval) + new$base)
    }
    for (type in c("response", "pearson", "deviance", "loo")) {
      expect_equal(residuals(with, type), residuals(without, type))
    }
    expect_equal(loo(with)$rows$y, data$y + data$base)
    expect_equal(loo(with)$rows$mean, loo(without)$rows$mean + data$base)
    expect_equal(score(with, new), score(without, new))
    expect_equal(predict(update(with, newdata = new)), predict(update(without, newdata = new)) + c(data$base, new$base), ignore_attr = TRUE)
    expect_equal(simulate(with, 2, 1, new), simulate(without, 2, 1, new) + new$base, tolerance = 1e-6, ignore_attr = "seed")
    # the covariance of 90 rows is singular but for rounding, which its factor and so the draws have amplified
    expect_equal(simulate(with, 2, seed = 1)$sim_2, simulate(without, 2, seed = 1)$sim_2 + data$base, tolerance = 1e-3)
    expect_equal(predict(with, type = "terms"), predict(without, type = "terms"))
  }
  matrix <- soon(data["a"], data$y + data$base, offset = data$base)
  expect_error(predict(matrix, new["a"]), "fitted with offset", class = "oatgp_data")
  expect_equal(unname(predict(matrix, new["a"], offset = new$base)), unname(predict(soon(y ~ a, data), new) + new$base))
  expect_error(fit_answers(yes ~ x + offset(x), family = binomial()), "link \"identity\" or \"log\"", class = "oatgp_argument")
})

# The names of the graphics that a plot is made of.
drawn <- function(...) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  graphics::par(mfrow = c(1, 3)) # on one page, which is what is recorded
  plot(...)
  vapply(grDevices::recordPlot()[[1]], function(step) step[[2]][[1]]$name, "")
}

test_that("factors are drawn as factors, and terms of additive formulas by themselves", {
  effects <- drawn(soon(y ~ kind), which = "effects")
  expect_true("C_segments" %in% effects && !"C_polygon" %in% effects)
  expect_identical(sum(drawn(soon(y ~ s(a, by = kind)), which = 2) == "C_polygon"), 3L) # a curve for each level
  sum <- drawn(soon(y ~ s(a) + (1 | kind))) # two terms, then residuals
  expect_identical(c(sum(sum == "C_plot_new"), sum(sum == "C_polygon"), sum(sum == "C_segments")), c(3L, 1L, 1L))
  expect_error(plot(quick(), which = 9), "which is 9; plots are 1 effects, 2 terms, 3 residuals, 4 qq, 5 history", class = "oatgp_argument")
})

test_that("a term of two numbers is drawn as a surface", {
  surface <- drawn(soon(y ~ s(a, b)), which = "terms")
  expect_true(all(c("C_image", "C_contour") %in% surface) && !"C_polygon" %in% surface)
})

test_that("the rows of a level lie about its own place", {
  x <- rep(0:2, c(5, 1, 4))
  expect_equal(tapply(oatgp:::spread_levels(x), x, mean), tapply(x, x, mean))
  expect_identical(anyDuplicated(oatgp:::spread_levels(x)), 0L)
})

test_that("sentences have R's words", {
  data <- groups()
  expect_error(oatgp(y ~ code, data, kernel = "categorical(code)"), "factor\\(\\) makes it one", class = "oatgp_argument")
  expect_warning(oatgp(matrix(1:40 %% 7 + sin(1:40), 4), c(1, 3, 2, 5), max_iter = 2, knots = 2, select = "fixed"),
                 "choose fewer inputs with the formula or the columns of x", class = "oatgp_warning")
  full <- oatgp(y > 1 ~ a, data, family = binomial(), approx = "full", max_iter = 3)
  expect_error(update(full, newdata = data[1:3, ]), "fit it again to all rows \\(update\\(refit = TRUE\\)\\), .*\\(approx = \"vfe\"\\)")
  expect_error(oatgp(y ~ a, data, guard = "maybe"), "guard is \"maybe\" but must be TRUE or FALSE", class = "oatgp_argument")
  expect_error(oatgp(data.frame(a = 1:3, day = Sys.Date() + 1:3), 1:3), "column 'day' \\(Date\\) holds .* as.numeric\\(\\) makes numbers of dates")
  expect_error(oatgp(cbind(a = c(1, NA, 3)), 1:3), "the input 'a' of row 2 is NA: .* complete.cases", class = "oatgp_data")
  expect_error(oatgp(y ~ te(a, b), data), "te\\(a, b\\): s\\(\\) is the only term of gam\\(\\)", class = "oatgp_argument")
  expect_error(oatgp(y ~ s(a, k = 5), data), "no argument 'k': the terms share their knots \\(max_knots\\)", class = "oatgp_argument")
  expect_false(any(grepl("--[a-z]", oatgp_settings()$help)))
  expect_identical(oatgp:::with_underscores("within tol-row of max-knots, a well-known word"), "within tol_row of max_knots, a well-known word")
})

test_that("rstudent() and labels() are those of the model", {
  fit <- soon(y ~ s(a) + (1 | kind))
  expect_identical(rstudent(fit), residuals(fit, "loo"))
  expect_identical(labels(fit), c("s(a)", "(1 | kind)"))
  expect_identical(labels(soon(y ~ a + b)), c("a", "b"))
})
