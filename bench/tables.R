# Rscript bench/tables.R FOLDER LIBRARY...: writes the data frames of all R packages in these libraries as FOLDER/PACKAGE_NAME.csv,
# for bench/tables.py. The target is the last column with at least 25 different numbers, and comes last. Columns that number the rows,
# dates, lists and texts with more than 50 values are left out, and so are rows with missing values and tables of fewer than 60 rows.
arguments <- commandArgs(TRUE)
folder <- arguments[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

frames_of <- function(package) {
  at <- new.env()
  lazy <- file.path(package, "data", "Rdata")
  if (file.exists(paste0(lazy, ".rdb"))) {
    lazyLoad(lazy, at)
  } else {
    for (file in list.files(file.path(package, "data"), "[.](rda|RData)$", full.names = TRUE)) load(file, at)
  }
  at
}

is_usable <- function(x) {
  if (is.list(x) || is.matrix(x) || inherits(x, c("Date", "POSIXt", "Surv", "ts")) || mean(is.na(x)) > 0.2) return(FALSE)
  values <- length(unique(x[!is.na(x)]))
  values > 1 && (is.numeric(x) || is.logical(x) || values <= 50)
}

counts_rows <- function(x) is.numeric(x) && all(diff(x) == 1)

# The table with its target last; NULL if it is not one.
prepare <- function(frame) {
  frame <- as.data.frame(frame)
  if (nrow(frame) < 60 || ncol(frame) > 60) return(NULL)
  frame <- frame[vapply(frame, is_usable, NA)]
  frame <- frame[complete.cases(frame), , drop = FALSE]
  frame <- frame[!vapply(frame, counts_rows, NA)]
  targets <- which(vapply(frame, function(x) is.numeric(x) && length(unique(x)) >= 25, NA))
  if (nrow(frame) < 60 || ncol(frame) < 2 || length(targets) == 0) return(NULL)
  target <- targets[length(targets)]
  frame <- frame[c(setdiff(seq_along(frame), target), target)]
  as.data.frame(lapply(frame, function(x) if (is.numeric(x)) x else if (is.logical(x)) +x else gsub("[\",\n]", " ", x)))
}

for (package in list.dirs(arguments[-1], recursive = FALSE)) {
  at <- try(frames_of(package), silent = TRUE)
  for (name in if (inherits(at, "try-error")) character() else ls(at)) {
    frame <- try(if (is.data.frame(get(name, at))) prepare(get(name, at)), silent = TRUE)
    if (is.data.frame(frame)) {
      path <- file.path(folder, paste0(basename(package), "_", name, ".csv"))
      write.csv(frame, path, row.names = FALSE, quote = FALSE)
    }
  }
}
