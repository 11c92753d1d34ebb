test_that("nothing is lost when R collects its garbage at any moment", {
  skip_on_cran()
  data <- boston[1:40, ]
  x <- as.matrix(data[c("lstat", "rm")])
  rows <- oatgp:::make_frame(x, list(y = data$medv, weights = rep(1, 40), noise_variance = rep(0.1, 40)), "medv")
  settings <- c(knots = "5", max_iter = "3", seed = "1", mean = "linear", select = "simultaneous")
  control <- list(progress = FALSE, certify = TRUE, command = "test")
  file <- tempfile()
  none <- character()
  everything <- function() {
    model <- .Call(oatgp:::C_entry_fit, rows, settings, NULL, control)$value
    values <- list(
      .Call(oatgp:::C_entry_predict, model, rows, none, 0.9, FALSE), .Call(oatgp:::C_entry_knots, model), .Call(oatgp:::C_entry_loo, model, rows),
      .Call(oatgp:::C_entry_samples, model, rows, 2L, 3, FALSE), .Call(oatgp:::C_entry_covariance, model, rows),
      .Call(oatgp:::C_entry_score, model, rows), .Call(oatgp:::C_entry_settings), .Call(oatgp:::C_entry_answers, model, rows, none, 0.9),
      .Call(oatgp:::C_entry_cv, rows, c(settings, folds = "2"), NULL, FALSE),
      .Call(oatgp:::C_entry_certify, model, rows, none, FALSE)$value$upper,
      .Call(oatgp:::C_entry_info, model)$value[c("approx", "sigma", "inputs", "lengthscales", "slopes")],
      .Call(oatgp:::C_entry_save, model, file), .Call(oatgp:::C_entry_load, "/no/such/file")
    )
    updated <- .Call(oatgp:::C_entry_update, .Call(oatgp:::C_entry_load, file)$value, rows)$value
    refitted <- .Call(oatgp:::C_entry_refit, updated, rows, c(max_iter = "2"), FALSE)$value
    c(values, list(.Call(oatgp:::C_entry_predict, updated, rows, none, NA_real_, FALSE),
                   .Call(oatgp:::C_entry_predict, refitted, rows, none, 0.9, TRUE)))
  }
  calm <- everything()
  gctorture2(37)
  on.exit(gctorture2(0))
  torn <- everything()
  gctorture2(0)
  expect_identical(torn, calm)
})
