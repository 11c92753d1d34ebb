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

# Answers of every family, along one input.
answers <- function(n = 60, seed = 2) {
  set.seed(seed)
  x <- runif(n, -2, 2)
  f <- sin(2 * x)
  hidden <- f + rnorm(n, sd = 0.5)
  data.frame(x = x, yes = rbinom(n, 1, plogis(2 * f)), time = rep_len(c(1, 2, 5), n), trials = rep_len(3:7, n),
             good = rbinom(n, rep_len(3:7, n), plogis(f)), count = rpois(n, rep_len(c(1, 2, 5), n) * exp(f)),
             over = rnbinom(n, mu = exp(f), size = 2), amount = rgamma(n, 3, 3 / exp(f)), share = rbeta(n, 4 * plogis(f), 4 * plogis(-f)),
             wild = f + rt(n, 2) / 10, grade = cut(hidden, c(-Inf, -0.5, 0.5, Inf), labels = c("low", "mid", "top"), ordered_result = TRUE))
}

# A fit of `answers` that is made soon.
fit_answers <- function(formula, data = answers(), ...) {
  eval(substitute(oatgp(formula, data, knots = 6, select = "simultaneous", max_iter = 10, seed = 1, ...)), parent.frame())
}

# The average of a function of f ~ N(m, s^2).
averaged <- function(fn, m, s) {
  mapply(function(m, s) stats::integrate(function(z) fn(m + s * z) * stats::dnorm(z), -9, 9, rel.tol = 1e-10, subdivisions = 1000)$value, m, s)
}
