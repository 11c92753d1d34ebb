test_that("saveRDS keeps everything, in another process too", {
  fit <- quick()
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again, boston, se.fit = TRUE), predict(fit, boston, se.fit = TRUE))
  expect_identical(loo(again), loo(fit))
  copied <- unserialize(serialize(fit, NULL))
  rm(fit)
  gc()
  expect_identical(predict(copied), predict(again))

  elsewhere <- tempfile(fileext = ".rds")
  code <- sprintf("library(oatgp); saveRDS(predict(readRDS('%s'), boston), '%s')", file, elsewhere)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", shQuote(code)),
                    env = paste0("R_LIBS=", paste(.libPaths(), collapse = ":")))
  expect_identical(status, 0L)
  expect_identical(readRDS(elsewhere), predict(again, boston))
})

test_that("a model file is there and back the same", {
  fit <- quick(certify = TRUE)
  file <- tempfile(fileext = ".oatgp")
  expect_identical(oatgp_save(fit, file), fit)
  loaded <- oatgp_load(file)
  expect_identical(predict(loaded, boston, se.fit = TRUE), predict(fit, boston, se.fit = TRUE))
  expect_identical(predict(loaded, cbind(boston, note = "other columns do not matter")), predict(fit, boston))
  expect_identical(unname(predict(loaded, as.matrix(boston))), unname(predict(fit, boston)))
  expect_identical(coef(loaded), coef(fit))
  expect_identical(attr(logLik(loaded), "upper"), attr(logLik(fit), "upper"))
  expect_output(print(summary(loaded)), "lower bound of the log evidence")
  expect_equal(loo(loaded, boston[c("lstat", "rm")], boston$medv)$scores, loo(fit)$scores)
  expect_equal(loo(loaded, boston)$scores, loo(fit)$scores) # the target by its name
  oatgp_save(quick(fix = "tau, sigma"), file)
  expect_identical(attr(logLik(oatgp_load(file)), "df"), 3)
  expect_error(fitted(loaded), "does not hold the rows", class = "oatgp_data")
  expect_error(formula(loaded), "not made by a formula", class = "oatgp_argument")
  expect_error(predict(loaded, boston["rm"]), "no column 'lstat'; they have rm; the inputs are lstat, rm", class = "oatgp_data")
  expect_error(predict(quick(keep_data = FALSE)), "does not hold the rows", class = "oatgp_data")
})

test_that("what is no model is refused", {
  file <- tempfile()
  writeLines("times,accel", file)
  expect_error(oatgp_load(file), "is not an oatgp model file", class = "oatgp_format")
  expect_error(oatgp_load(file.path(tempdir(), "missing")), "No such file", class = "oatgp_read")
  expect_error(oatgp_save(quick(), file.path(tempdir(), "missing", "model")), "cannot write", class = "oatgp_write")
  expect_error(oatgp_save(1, file), "must be a model", class = "oatgp_argument")
  expect_error(oatgp_load(NA), "one path", class = "oatgp_argument")
  expect_error(oatgp_load("-"), "cannot read './-'", class = "oatgp_read")
  sentence <- tryCatch(oatgp_load(file.path(tempdir(), "gr\u00f6\u00dfe")), error = conditionMessage)
  expect_identical(Encoding(sentence), "UTF-8")
})

test_that("the command predicts the same from the same file, and R from the command's", {
  oatgp_command <- command()
  folder <- tempfile("command")
  dir.create(folder)
  at <- function(name) file.path(folder, name)
  run <- function(...) expect_identical(system2(oatgp_command, c(..., "--quiet"), stdout = FALSE), 0L)
  write.csv(boston, at("boston.csv"), row.names = FALSE)

  fit <- quick()
  oatgp_save(fit, at("r.oatgp"))
  run("predict", at("r.oatgp"), at("boston.csv"), "-o", at("r.csv"))
  theirs <- read.csv(at("r.csv"))
  ours <- predict(fit, boston, se.fit = TRUE, interval = "prediction")
  expect_lt(max(abs(theirs$mean / ours$fit[, "fit"] - 1)), 1e-12)
  expect_lt(max(abs(theirs$sd_latent / ours$se.fit - 1)), 1e-12)
  expect_lt(max(abs(theirs$lower / ours$fit[, "lwr"] - 1)), 1e-12)
  expect_lt(max(abs(theirs$upper / ours$fit[, "upr"] - 1)), 1e-12)

  run("fit", at("boston.csv"), "--target", "medv", "--max-iter", "20", "-o", at("command.oatgp"))
  run("predict", at("command.oatgp"), at("boston.csv"), "-o", at("command.csv"))
  theirs <- read.csv(at("command.csv"))
  ours <- predict(oatgp_load(at("command.oatgp")), boston, se.fit = TRUE)
  expect_lt(max(abs(theirs$mean / ours$fit - 1)), 1e-12)
  expect_lt(max(abs(theirs$sd_latent / ours$se.fit - 1)), 1e-12)

  run("fit", at("boston.csv"), "--target", "medv", "--inputs", "lstat,rm", "--weights", "ptratio", "--max-iter", "5",
      "-o", at("weighted.oatgp"))
  weighted <- oatgp_load(at("weighted.oatgp"))
  expect_identical(score(weighted, boston), score(weighted, boston[c("medv", "lstat", "rm")], weights = boston$ptratio))
  expect_error(score(weighted, boston[c("medv", "lstat", "rm")]), "was fitted with weights", class = "oatgp_data")
})

test_that("R's other work keeps the threads of its BLAS", {
  skip_if(oatgp:::blas_threads() == 0, "the BLAS is not OpenBLAS")
  before <- oatgp:::blas_threads()
  quick()
  expect_identical(oatgp:::blas_threads(), before)
})

test_that("checks of packages keep to two cores", {
  skip_on_cran()
  skip_if_not(dir.exists("/proc/self/task"))
  script <- "x <- matrix(runif(20000), 4000)
             fit <- oatgp::oatgp(x, rowSums(x), knots = 100, select = 'fixed', max_iter = 2)
             cat(length(dir('/proc/self/task')))"
  tasks <- function(limit) {
    said <- c("OMP_NUM_THREADS=6", "OPENBLAS_NUM_THREADS=1", paste0("_R_CHECK_LIMIT_CORES_=", limit))
    path <- paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))
    as.numeric(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(script)), stdout = TRUE, env = c(said, path)))
  }
  expect_gt(tasks("false"), 4)
  expect_lte(tasks("TRUE"), 3)
})

test_that("a fit that has lost its model is refused", {
  fit <- quick()
  fit$pointer <- NULL
  expect_error(predict(fit, boston[1:2, ]), "cut short", class = "oatgp_format")
  expect_error(sensitivity(fit), "cut short", class = "oatgp_format")
})
