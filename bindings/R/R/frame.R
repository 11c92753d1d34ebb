# Frames: the rows for the library, a list of x (with column names), y, weights, noise_variance, trials, exposure, offset (already subtracted from y;
# R adds it to predictions), target, classes (the texts of the codes in y) and levels (a list with the levels of each column of x that is a category
# and holds codes).

is_category <- function(column) is.factor(column) || is.character(column)

# The codes of a factor or of texts, from 0, and its levels: known ones, and then new ones.
code_category <- function(column, known = NULL) {
  own <- levels(factor(column))
  levels <- if (is.null(known)) own else c(known, setdiff(own, known))
  list(codes = as.double(match(as.character(column), levels) - 1), levels = levels)
}

# A data frame as a matrix of numbers, with the levels of its categories as an attribute, which a subset loses.
code_columns <- function(x, call) {
  category <- vapply(x, is_category, NA)
  numeric <- vapply(x, function(column) is.numeric(column) || is.logical(column), NA)
  if (!all(numeric | category)) {
    strange <- names(x)[!numeric & !category][1]
    fail(sprintf("the column '%s' (%s) holds neither numbers nor categories: as.numeric() makes numbers of dates and times, factor() categories",
                 strange, class(x[[strange]])[1]), call = call)
  }
  coded <- lapply(x[category], code_category)
  rows <- row.names(x)
  x[category] <- lapply(coded, function(column) column$codes)
  x <- as.matrix(x)
  rownames(x) <- rows
  attr(x, "category_levels") <- lapply(coded, function(column) column$levels)
  x
}

# x: a matrix, a data frame of numbers and categories, or a vector for one input.
as_inputs <- function(x, call = NULL) {
  if (is.data.frame(x)) {
    x <- code_columns(x, call)
  }
  if (is.null(dim(x)) && (is.numeric(x) || is.logical(x))) {
    x <- matrix(x, ncol = 1, dimnames = list(names(x), NULL))
  }
  if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    fail("the inputs must be a numeric matrix, a data frame of numbers or a vector", call = call)
  }
  if (anyNA(colnames(x))) {
    fail(sprintf("the name of column %d of the inputs is NA; give it a name", which(is.na(colnames(x)))[1]), call = call)
  }
  storage.mode(x) <- "double"
  x
}

# If two columns had the same name, R would take the first.
refuse_twice <- function(columns, names, what, call) {
  twice <- intersect(columns[duplicated(columns)], names)
  if (length(twice) > 0) {
    fail(sprintf("%s have %d columns of the name '%s'; rename them, or leave all but one out", what, sum(columns == twice[1]), twice[1]),
         "data", call)
  }
}

# The columns with these names. By position only if x has no names, or if those of the model are automatic (x1, x2, ...) and x has none of them.
match_columns <- function(x, names, what, call = NULL) {
  missing <- setdiff(names, colnames(x))
  refuse_twice(colnames(x), names, what, call)
  if (length(missing) == 0) {
    return(as_inputs(x[, names, drop = FALSE], call))
  }
  automatic <- all(grepl("^x[0-9]+$", names)) && length(missing) == length(names)
  if (!is.null(colnames(x)) && !automatic) {
    fail(sprintf("%s have no column '%s'; they have %s; the inputs are %s", what, missing[1], paste(colnames(x), collapse = ", "),
                 paste(names, collapse = ", ")), "data", call)
  }
  x <- as_inputs(x, call)
  if (ncol(x) != length(names)) {
    fail(sprintf("%s have %d columns without the names of the %d inputs: %s", what, ncol(x), length(names), paste(names, collapse = ", ")),
         "data", call)
  }
  colnames(x) <- names
  x
}

# A frame with the inputs of the model: the library leaves constant ones out.
model_columns <- function(frame, inputs) {
  if (!identical(colnames(frame$x), inputs)) {
    frame <- frame_of(frame)
    frame$x <- frame$x[, inputs, drop = FALSE]
  }
  frame
}

# Removes the levels from x.
frame_of <- function(frame) {
  if (!is.null(attr(frame$x, "category_levels"))) {
    frame$levels <- attr(frame$x, "category_levels")
    attr(frame$x, "category_levels") <- NULL
  }
  frame
}

# columns: a list of the other columns of the rows, and of classes.
make_frame <- function(x, columns, target = NULL, call = NULL, levels = NULL) {
  column <- function(what) {
    values <- columns[[what]]
    if (is.null(values)) {
      return(NULL)
    }
    values <- if (is.data.frame(values) && ncol(values) == 1) values[[1]] else values
    if (!(is.numeric(values) || is.logical(values)) || length(values) != nrow(x)) {
      fail(sprintf("%s must be %d numbers, one for each row", what, nrow(x)), call = call)
    }
    as.double(values)
  }
  made <- lapply(stats::setNames(nm = row_columns), column)
  frame_of(c(list(x = x), made, list(target = target, classes = columns$classes, levels = levels)))
}

# Values that are not finite, by the names of their rows, which the library does not know. may_lack: NA in an input has the prediction NA.
refuse_odd <- function(rows, call, may_lack = FALSE) {
  odd <- if (may_lack) is.infinite(rows$x) else !is.finite(rows$x)
  if (any(odd)) {
    place <- which(odd, arr.ind = TRUE)[1, ]
    refuse_value(rows, place[1], sprintf("the input '%s'", colnames(rows$x)[place[2]]), rows$x[place[1], place[2]], call)
  }
  if (!all(is.finite(rows$y))) {
    row <- which(!is.finite(rows$y))[1]
    refuse_value(rows, row, "the response", rows$y[row], call)
  }
}

refuse_value <- function(rows, row, what, value, call) {
  name <- if (is.null(rownames(rows$x))) row else rownames(rows$x)[row]
  remedy <- if (is.na(value)) ": leave such rows out, by complete.cases(), or by a formula and na.action = na.omit" else "; it must be finite"
  fail(sprintf("%s of row %s is %s%s", what, name, format(value), remedy), "data", call)
}

row_columns <- c("y", "weights", "noise_variance", "trials", "exposure", "offset")

# The terms that are categories: a factor or a text that is not part of any other term. With contrasts they are columns of numbers.
category_terms <- function(terms, frame, contrasts) {
  labels <- attr(terms, "term.labels")
  if (length(labels) == 0 || !is.null(contrasts)) {
    return(character())
  }
  alone <- rowSums(attr(terms, "factors") != 0) == 1
  plain <- labels %in% names(frame) & labels %in% names(alone)[alone]
  labels[plain & vapply(labels, function(label) label %in% names(frame) && is_category(frame[[label]]), NA)]
}

# The columns of the model matrix, with categories as codes and without the constant, because the model has its own mean.
design <- function(terms, frame, contrasts = NULL, categories = category_terms(terms, frame, contrasts), known = list()) {
  rest <- setdiff(attr(terms, "term.labels"), categories)
  coded <- lapply(stats::setNames(nm = categories), function(name) code_category(frame[[name]], known[[name]]))
  columns <- lapply(coded, function(column) column$codes)
  made <- NULL
  if (length(rest) > 0) {
    others <- if (length(categories) == 0) terms else stats::terms(stats::reformulate(rest))
    x <- stats::model.matrix(others, frame, contrasts.arg = contrasts)
    made <- attr(x, "contrasts")
    named <- c("", attr(others, "term.labels"))[attr(x, "assign") + 1]
    for (label in rest) {
      columns[[label]] <- x[, named == label, drop = FALSE]
    }
  }
  columns <- columns[attr(terms, "term.labels")]
  x <- do.call(cbind, columns)
  named <- lapply(stats::setNames(nm = names(columns)), function(label) if (is.null(colnames(columns[[label]]))) label else colnames(columns[[label]]))
  list(x = if (is.null(x)) matrix(0, nrow(frame), 0) else with_names(x, frame), contrasts = made,
       levels = lapply(coded, function(column) column$levels), columns = named)
}

with_names <- function(x, frame) {
  rownames(x) <- row.names(frame)
  x
}

# If the new rows lack a variable, R would take it from the environment of the formula, which most likely has the rows of the fit.
check_variables <- function(terms, newdata, call) {
  refuse_twice(names(newdata), all.vars(terms), "the new rows", call)
  for (variable in as.list(attr(terms, "variables"))[-1]) {
    names <- all.vars(variable)
    if (length(names) > 0 && !any(names %in% names(newdata))) {
      there <- if (is.null(names(newdata))) "no names" else paste(names(newdata), collapse = ", ")
      fail(sprintf("the new rows have no column '%s'; they have %s; give them the columns of the formula", names[1], there), "data", call)
    }
  }
}

# New rows with the columns of the model: by the formula, by name, or by position.
new_inputs <- function(object, newdata, na.action = stats::na.pass, call = NULL) {
  inputs <- model_info(object)$inputs
  if (is.null(object$terms)) {
    names <- if (is.null(object$columns) || all(inputs %in% colnames(newdata))) inputs else object$columns
    return(frame_of(model_columns(list(x = match_columns(newdata, names, "the new rows", call)), inputs)))
  }
  if (is.matrix(newdata)) {
    if (is.null(colnames(newdata))) {
      fail("a matrix needs the names of the formula's variables as column names", "data", call)
    }
    newdata <- as.data.frame(newdata)
  }
  terms <- stats::delete.response(object$terms)
  check_variables(terms, newdata, call)
  categories <- names(object$levels)
  xlevels <- object$xlevels[setdiff(names(object$xlevels), categories)]
  frame <- stats::model.frame(terms, newdata, na.action = na.action, xlev = if (length(xlevels) > 0) xlevels)
  classes <- attr(terms, "dataClasses")
  if (!is.null(classes)) {
    stats::.checkMFClasses(classes[setdiff(names(classes), categories)], frame)
  }
  made <- design(terms, frame, object$contrasts, categories, object$levels)
  model_columns(list(x = made$x, na.action = attr(frame, "na.action"), levels = made$levels, offset = stats::model.offset(frame)), inputs)
}

# The value of an expression of the fit for new rows; NULL unless its variables are their columns, or single values from elsewhere.
evaluate_for <- function(object, expression, newdata) {
  names <- all.vars(expression)
  from <- if (is.null(object$terms)) globalenv() else environment(object$terms)
  column <- names %in% colnames(newdata)
  single <- vapply(names[!column], function(name) is.atomic(get0(name, from)) && length(get0(name, from)) == 1, NA)
  if (any(column) && all(single)) eval(expression, as.data.frame(newdata), from)
}

# Values of new rows, such as weights: given, or by the expressions of the fit. If the model was fitted with them, they are required.
new_columns <- function(object, newdata, given, needed, call = NULL) {
  for (what in intersect(needed, names(object$noise))) {
    if (is.null(given[[what]])) {
      given[[what]] <- evaluate_for(object, object$noise[[what]], newdata)
    }
    if (is.null(given[[what]])) {
      fail(sprintf("the model was fitted with %s, but the new rows have none: give them as %s", what, what), "data", call)
    }
  }
  given
}

refuse_trials <- function(likelihood, given, call) {
  if (!is.null(given$trials) && likelihood != "binomial-logit") {
    fail(sprintf("family %s has no trials: leave them out", family_text(likelihood)), call = call)
  }
}

# The trials of new rows: given, or from the response as in the fit.
new_trials <- function(object, newdata, given, call = NULL) {
  kind <- model_kind(object)
  if (!is.null(given$trials)) {
    return(given$trials)
  }
  trials <- switch(kind, share = given$weights, pairs = {
    pairs <- new_target(object, newdata)
    if (!is.null(pairs)) answer_columns("pairs", pairs, call = call)$trials
  })
  if (is.null(trials)) {
    fail("the new rows have no numbers of trials for their counts: give them as trials", "data", call)
  }
  trials
}

# The offset of the formula plus the one that was given or was an argument of the fit.
new_offset <- function(new, given) {
  parts <- Filter(Negate(is.null), list(new$offset, given$offset))
  if (length(parts) > 0) Reduce(`+`, parts)
}

# New rows without a target, for predictions and draws. drawn: whether responses are drawn, with their noise or trials.
rows_without_target <- function(object, newdata, given, drawn, na.action, call = NULL) {
  likelihood <- model_info(object)$likelihood
  refuse_trials(likelihood, given, call)
  new <- new_inputs(object, newdata, na.action, call)
  has_trials <- likelihood == "binomial-logit"
  noise <- if (drawn && (likelihood == "gaussian" || has_trials)) c("weights", "noise_variance", "trials")
  kept <- setdiff(seq_len(NROW(newdata)), new$na.action)
  keep <- function(values) if (length(values) == NROW(newdata)) values[kept] else values
  given <- lapply(new_columns(object, newdata, given, c(noise, "offset"), call), keep)
  columns <- with_offset(list(), likelihood, new_offset(new, given), call)
  if (drawn && has_trials) {
    columns$trials <- keep(new_trials(object, newdata, given, call))
  } else if (likelihood == "gaussian") {
    columns <- c(columns, given[c("weights", "noise_variance")])
  }
  rows <- make_frame(new$x, columns, call = call, levels = new$levels)
  refuse_odd(rows, call, may_lack = TRUE)
  c(rows, list(na.action = new$na.action))
}

new_target <- function(object, newdata) {
  if (!is.null(object$terms)) {
    return(evaluate_for(object, stats::formula(object$terms)[[2]], newdata))
  }
  target <- model_info(object)$target
  if (target %in% colnames(newdata)) as.data.frame(newdata)[[target]]
}

# New rows with their target, for update() and score(). given: y and its further columns.
new_rows <- function(object, newdata, given, call = NULL) {
  info <- model_info(object)
  refuse_trials(info$likelihood, given, call)
  new <- new_inputs(object, newdata, stats::na.fail, call)
  y <- if (is.null(given$y)) new_target(object, newdata) else given$y
  if (is.null(y)) {
    fail("y is missing: give the response of the new rows", call = call)
  }
  given <- new_columns(object, newdata, given, names(object$noise), call)
  columns <- answer_columns(model_kind(object, info), y, given$weights, given$trials, model_classes(info), call)
  columns["classes"] <- list(info$classes)
  columns["noise_variance"] <- list(given$noise_variance)
  columns <- with_offset(columns, info$likelihood, new_offset(new, given), call)
  rows <- make_frame(new$x, columns, call = call, levels = new$levels)
  refuse_odd(rows, call)
  rows
}

# The levels that the model knows, by the names of its inputs.
model_levels <- function(object) {
  info <- model_info(object)
  Filter(Negate(is.null), stats::setNames(info$levels, info$inputs))
}

# The rows of the fit. The object keeps them unless it was read from a model file or made with keep_data = FALSE.
own_rows <- function(object, call = NULL) {
  if (is.null(object$rows)) {
    fail("this model does not hold the rows of its fit, as it is from a file or made with keep_data = FALSE: loo() and certify() take them as data",
         "data", call)
  }
  object$rows
}
