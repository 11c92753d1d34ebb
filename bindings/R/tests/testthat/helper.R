# Small fits that many tests use.
quick <- function(...) {
  set.seed(1)
  oatgp(medv ~ lstat + rm, data = boston, max_iter = 20, select = "simultaneous", knots = 15, ...)
}

# A function of two inputs with noise.
wavy <- function(n = 60, seed = 1) {
  set.seed(seed)
  data <- data.frame(a = runif(n, -2, 2), b = runif(n))
  data$y <- sin(2 * data$a) + data$b + rnorm(n, sd = 0.1)
  data
}

# Dense formulas of the full GP with the squared exponential, for comparison.
se_kernel <- function(a, b, sigma, lengthscales) {
  d2 <- 0
  for (j in seq_along(lengthscales)) {
    d2 <- d2 + outer(a[, j], b[, j], "-")^2 / lengthscales[j]^2
  }
  sigma^2 * exp(-d2 / 2)
}

# The command of the same sources, if the tests are told where it is.
command <- function() {
  path <- Sys.getenv("OATGP")
  skip_if(path == "", "OATGP does not name the command")
  path
}

# A fit that only a limit or an interrupt ends, on the fastest machine as well.
endless <- function(...) {
  oatgp(..., select = "simultaneous", optimizer = "adadelta", obj_tol = 0, grad_tol = 0, patience = 1e6, max_iter = 1e9)
}
