# docs/r.md: its code runs, in its order, and prints what the page says. OATGP_R_PAGE is the path of the page.

# The blocks of code, each with the output that follows it, if there is one.
blocks_of <- function(lines) {
  fences <- grep("^```", lines)
  starts <- fences[c(TRUE, FALSE)]
  ends <- fences[c(FALSE, TRUE)]
  kinds <- sub("^```", "", lines[starts])
  inside <- function(i) lines[seq_len(ends[i] - starts[i] - 1) + starts[i]]
  lapply(which(kinds == "r"), function(i) {
    followed <- i < length(kinds) && kinds[i + 1] == "text" && all(lines[seq(ends[i] + 1, starts[i + 1] - 1)] == "")
    list(code = inside(i), output = if (followed) inside(i + 1))
  })
}

printed_by <- function(code, where) {
  capture.output(for (expression in parse(text = code)) {
    told <- withVisible(eval(expression, where))
    if (told$visible) print(told$value)
  })
}

# Words must be the same, numbers equal within 2 % or 0.02, as in the other pages.
same_words <- function(a, b) {
  a <- unlist(strsplit(trimws(a), "[ ,:()]+"))
  b <- unlist(strsplit(trimws(b), "[ ,:()]+"))
  x <- suppressWarnings(as.numeric(a))
  y <- suppressWarnings(as.numeric(b))
  length(a) == length(b) && all(a == b | (!is.na(x) & !is.na(y) & abs(x - y) <= 0.02 * pmax(1, abs(x))))
}

test_that("the page of R says what happens", {
  page <- Sys.getenv("OATGP_R_PAGE")
  skip_if(page == "", "OATGP_R_PAGE does not name the page")
  blocks <- blocks_of(readLines(page))
  expect_gte(length(blocks), 4)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  where <- new.env(parent = globalenv())
  for (block in blocks) {
    printed <- printed_by(block$code, where)
    if (!is.null(block$output)) {
      expect_true(same_words(block$output, printed), info = paste(c(block$code, "printed", printed), collapse = "\n"))
    }
  }
})
