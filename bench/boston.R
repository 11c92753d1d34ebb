# Seconds of oatgp() in R on run 1 of the paper's Boston experiment, beside those of the authors' package (docs/paper.md has its numbers).
# usage: Rscript bench/boston.R   with the package oatgp installed (script/r-package)
library(oatgp)

# The split and the starting knots, as the paper's scripts draw them.
set.seed(1308)
rows <- sort(sample(nrow(boston), 392))
inputs <- c("rm", "ptratio", "lstat")
train <- boston[rows, c(inputs, "medv")]
test <- boston[-rows, ]
set.seed(1308)
start <- kmeans(scale(train[inputs]), centers = 5)$centers

# What both columns of settings share: the paper's covariance and start.
common <- list(medv ~ rm + ptratio + lstat, data = train, kernel = "se", seed = 1)
grown <- list(knots = start, knots_scaled = TRUE, max_knots = 80, tol_knot = 1e-3)
models <- list(
  FGP = list(approx = "full"),
  OBVk = c(grown, select = "oat-bo"),
  ORVk = c(grown, select = "oat-rs"),
  OBFk = c(grown, select = "oat-bo", approx = "fic"),
  SVk = list(knots = 77, select = "simultaneous"),
  plain = list()
)
package <- c(FGP = 60, OBVk = 376, ORVk = 297, OBFk = 141, SVk = NA, plain = NA)

results <- lapply(names(models), function(name) {
  settings <- models[[name]]
  if (name == "plain") {
    common$kernel <- NULL
  }
  paper <- if (name %in% names(package)[1:4]) list(preset = "paper", jitter_absolute = 1e-6) else list()
  timed <- function(extra) {
    arguments <- c(common, extra, settings)
    seconds <- system.time(fit <- do.call(oatgp, arguments))[["elapsed"]]
    list(fit = fit, seconds = seconds)
  }
  own <- timed(list())
  like <- if (length(paper) > 0) timed(paper)$seconds else NA
  data.frame(model = name, knots = nrow(if (name == "FGP") data.frame() else knots(own$fit)), package = package[[name]], paper_settings = like,
             seconds = own$seconds, objective = as.numeric(logLik(own$fit)), srmse = score(own$fit, test)[["srmse"]])
})
results <- do.call(rbind, results)
results[5:7] <- Map(round, results[5:7], c(3, 3, 5))
print(results)
