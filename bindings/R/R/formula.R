# Formulas whose terms are summands of the covariance: s(a), s(a, b), s(a, by = f) and (1 | f), beside plain terms.

# The terms between the pluses of an expression.
split_sum <- function(expression) {
  if (is.call(expression) && identical(expression[[1]], quote(`+`)) && length(expression) == 3) {
    return(c(split_sum(expression[[2]]), split_sum(expression[[3]])))
  }
  list(expression)
}

is_smooth <- function(term) is.call(term) && identical(term[[1]], quote(s))

# (1 | f), whose parentheses are a call, too.
is_random <- function(term) {
  is.call(term) && identical(term[[1]], quote(`(`)) && is.call(term[[2]]) && identical(term[[2]][[1]], quote(`|`))
}

# list(label, of: the expressions of its inputs, category: those that are categories whatever they hold, leaf)
read_smooth <- function(term, call) {
  arguments <- as.list(term)[-1]
  names <- if (is.null(names(arguments))) rep("", length(arguments)) else names(arguments)
  inputs <- unname(arguments[names == ""])
  strange <- setdiff(names, c("", "by", "kernel"))
  if (length(strange) > 0 || length(inputs) == 0) {
    known <- c(k = ": the terms share their knots (max_knots)", bs = ": a level for each category is (1 | f)")
    why <- if (strange[1] %in% names(known)) known[[strange[1]]] else ""
    fail(sprintf("%s: s() takes inputs, by = a factor, and kernel = the name of a leaf such as \"matern52\"%s", deparse1(term),
                 if (length(strange) > 0) sprintf("; it has no argument '%s'%s", strange[1], why) else ""), call = call)
  }
  if ("." %in% unlist(lapply(inputs, all.vars))) {
    fail(sprintf("%s: name the inputs in the place of the dot", deparse1(term)), call = call)
  }
  leaf <- if (is.null(arguments$kernel)) "se" else arguments$kernel
  if (!is.character(leaf) || length(leaf) != 1) {
    fail(sprintf("%s: kernel must be a name in quotes, such as \"matern52\"", deparse1(term)), call = call)
  }
  list(label = deparse1(term), of = c(inputs, arguments$by), category = if (is.null(arguments$by)) list() else list(arguments$by), leaf = leaf)
}

read_random <- function(term, call) {
  bar <- term[[2]]
  if (!identical(bar[[2]], 1) || !is.name(bar[[3]])) {
    fail(sprintf("%s: only (1 | f) is possible, a level for each category of f; s(x, by = f) is a curve for each", deparse1(term)), call = call)
  }
  list(label = deparse1(term), of = list(bar[[3]]), category = list(bar[[3]]), leaf = "se")
}

# s() and the bar must be whole terms, not parts of others such as s(a) * f.
refuse_within <- function(term, call) {
  if (any(c("te", "ti", "t2") %in% setdiff(all.names(term), all.vars(term)))) {
    fail(sprintf("%s: s() is the only term of gam() that works here; s(a, b) is a function of both, each with a lengthscale of its own",
                 deparse1(term)), call = call)
  }
  bar <- is.call(term) && identical(term[[1]], quote(`|`))
  if (bar || "s" %in% setdiff(all.names(term), all.vars(term))) {
    fail(sprintf("%s: s() and (1 | f), with its parentheses, can only be joined with other terms by +", deparse1(term)), call = call)
  }
}

# list(formula: with all inputs as plain terms; summands: NULL if the formula has neither s() nor (1 | f)). All plain terms together are one summand,
# a function of all of them.
read_formula <- function(formula, call) {
  if (length(formula) != 3) {
    return(list(formula = formula))
  }
  terms <- split_sum(formula[[3]])
  smooth <- vapply(terms, is_smooth, NA)
  random <- vapply(terms, is_random, NA)
  plain <- terms[!smooth & !random]
  lapply(plain, refuse_within, call)
  if (!any(smooth | random)) {
    return(list(formula = formula))
  }
  if ("." %in% unlist(lapply(plain, all.vars))) {
    fail("a formula with s() or (1 | f) names all its inputs: write them instead of the dot", call = call)
  }
  summands <- c(lapply(terms[smooth], read_smooth, call), lapply(terms[random], read_random, call))
  inputs <- unique(unlist(lapply(summands, function(summand) summand$of)))
  formula[[3]] <- Reduce(function(a, b) call("+", a, b), c(plain, inputs))
  list(formula = formula, summands = summands)
}

# The labels of these expressions in terms().
labels_of <- function(expressions) vapply(expressions, deparse1, "", backtick = TRUE)

# by = a factor, where mgcv has a meaning for numbers, too; (1 | f) takes their values as levels, as lme4 does.
refuse_numeric_by <- function(summands, frame, call) {
  for (summand in Filter(function(summand) !startsWith(summand$label, "("), summands)) {
    for (by in labels_of(summand$category)) {
      if (is.numeric(frame[[by]])) {
        fail(sprintf("%s: by = takes a factor, and %s holds numbers: factor(%s) makes one of them", summand$label, by, by), call = call)
      }
    }
  }
}

# The inputs that the formula declares to be categories.
said_categories <- function(summands) {
  unique(unlist(lapply(summands, function(summand) labels_of(summand$category))))
}

# An input as it is written in kernel expressions.
quoted_input <- function(name) {
  plain <- !grepl("^[0-9.]|[[:space:](),+*^\"]", name)
  ifelse(plain, name, paste0("\"", gsub("\"", "\"\"", name, fixed = TRUE), "\""))
}

# A function of these columns: one leaf over the numeric ones, times a leaf for each category.
summand_kernel <- function(leaf, columns, categories) {
  numbers <- quoted_input(setdiff(columns, categories))
  parts <- c(if (length(numbers) > 0) sprintf("%s(%s)", leaf, paste(numbers, collapse = ", ")),
             sprintf("categorical(%s)", quoted_input(intersect(columns, categories))))
  paste(parts, collapse = " * ")
}

# The covariance of the summands, and their names. columns: those of the inputs, by the labels of the plain formula.
additive_kernel <- function(summands, columns, categories, call) {
  strange <- setdiff(unlist(lapply(summands, function(summand) labels_of(summand$of))), names(columns))
  if (length(strange) > 0) {
    fail(sprintf("s() takes one variable or function for each input, and '%s' is neither: write I(%s)", strange[1], strange[1]), call = call)
  }
  own <- lapply(summands, function(summand) unlist(columns[labels_of(summand$of)], use.names = FALSE))
  kernels <- mapply(function(summand, names) summand_kernel(summand$leaf, names, categories), summands, own)
  labels <- vapply(summands, function(summand) summand$label, "")
  in_summands <- unlist(lapply(summands, function(summand) labels_of(summand$of)))
  rest <- setdiff(names(columns), in_summands)
  if (length(rest) > 0) {
    kernels <- c(kernels, summand_kernel("se", unlist(columns[rest], use.names = FALSE), categories))
    labels <- c(labels, paste(rest, collapse = " + "))
  }
  list(kernel = paste(kernels, collapse = " + "), labels = labels)
}
