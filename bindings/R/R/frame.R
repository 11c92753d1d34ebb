# Frames: the rows as the library wants them, a list of x, whose columns have names, y, weights, noise_variance, trials, exposure, target,
# classes: the texts that y has codes of; and levels: a list with those of each column of x that is a category and holds codes.

is_category <- function(column) is.factor(column) || is.character(column)

# The codes of a factor or of texts, from 0, and its levels: those that are known, and then new ones.
code_category <- function(column, known = NULL) {
  own <- levels(factor(column))
  levels <- if (is.null(known)) own else c(known, setdiff(own, known))
  list(codes = as.double(match(as.character(column), levels) - 1), levels = levels)
}

# A data frame as a matrix of numbers, with the levels of its categories as an attribute, which does not outlive a subset.
code_columns <- function(x, call) {
  category <- vapply(x, is_category, NA)
  numeric <- vapply(x, function(column) is.numeric(column) || is.logical(column), NA)
  if (!all(numeric | category)) {
    fail(sprintf("the column '%s' holds neither numbers nor categories", names(x)[!numeric & !category][1]), call = call)
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

# Of two columns with one name R would take the first.
refuse_twice <- function(columns, names, what, call) {
  twice <- intersect(columns[duplicated(columns)], names)
  if (length(twice) > 0) {
    fail(sprintf("%s have %d columns of the name '%s'; rename them, or leave all but one out", what, sum(columns == twice[1]), twice[1]),
         "data", call)
  }
}

# The columns of these names. By place only where x has no names, or where the model's are automatic (x1, x2, ...) and x has none of them.
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
    fail(sprintf("%s have %d columns, without the names of the %d inputs: %s", what, ncol(x), length(names), paste(names, collapse = ", ")),
         "data", call)
  }
  colnames(x) <- names
  x
}

# A frame with the inputs that the model has: the library leaves constant ones out.
model_columns <- function(frame, inputs) {
  if (!identical(colnames(frame$x), inputs)) {
    frame <- frame_of(frame)
    frame$x <- frame$x[, inputs, drop = FALSE]
  }
  frame
}

# Takes the levels off x.
frame_of <- function(frame) {
  if (!is.null(attr(frame$x, "category_levels"))) {
    frame$levels <- attr(frame$x, "category_levels")
    attr(frame$x, "category_levels") <- NULL
  }
  frame
}

# columns: a list of those that belong to the rows beside x, and of classes.
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

row_columns <- c("y", "weights", "noise_variance", "trials", "exposure")

# The terms that are categories by themselves: a factor or a text that is part of no other term. With contrasts they are columns of numbers.
category_terms <- function(terms, frame, contrasts) {
  labels <- attr(terms, "term.labels")
  if (length(labels) == 0 || !is.null(contrasts)) {
    return(character())
  }
  alone <- rowSums(attr(terms, "factors") != 0) == 1
  plain <- labels %in% names(frame) & labels %in% names(alone)[alone]
  labels[plain & vapply(labels, function(label) label %in% names(frame) && is_category(frame[[label]]), NA)]
}

# The columns of the model matrix, where categories are codes of their levels; its constant is the model's own mean.
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
  x <- do.call(cbind, columns[attr(terms, "term.labels")])
  list(x = if (is.null(x)) matrix(0, nrow(frame), 0) else with_names(x, frame), contrasts = made,
       levels = lapply(coded, function(column) column$levels))
}

with_names <- function(x, frame) {
  rownames(x) <- row.names(frame)
  x
}

# R would take a variable that the new rows do not have from wherever the formula was written: the rows of the fit, most likely.
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

# New rows in the columns of the model: by the formula, by name, or by place.
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

# What an expression of the fit is for new rows; NULL unless its variables are their columns, or single values from elsewhere.
evaluate_for <- function(object, expression, newdata) {
  names <- all.vars(expression)
  from <- if (is.null(object$terms)) globalenv() else environment(object$terms)
  column <- names %in% colnames(newdata)
  single <- vapply(names[!column], function(name) is.atomic(get0(name, from)) && length(get0(name, from)) == 1, NA)
  if (any(column) && all(single)) eval(expression, as.data.frame(newdata), from)
}

# What belongs to new rows, such as weights: given, or by the expressions of the fit. A model that was fitted with them is not used without.
new_columns <- function(object, newdata, given, needed, call = NULL) {
  for (what in intersect(needed, names(object$noise))) {
    if (is.null(given[[what]])) {
      given[[what]] <- evaluate_for(object, object$noise[[what]], newdata)
    }
    if (is.null(given[[what]])) {
      fail(sprintf("the model was fitted with %s, and the new rows have none: give theirs as %s", what, what), "data", call)
    }
  }
  given
}

# The trials of new rows: given, or as the response of the fit has them.
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
    fail("the new rows have no numbers of trials, which their answers are counts of: give them as trials", "data", call)
  }
  trials
}

# The exposure by the offset of the formula and by that which was given or is an argument of the fit.
new_exposure <- function(likelihood, new, given, call = NULL) {
  parts <- Filter(Negate(is.null), list(new$offset, given$offset))
  if (length(parts) == 0) NULL else exposure_of(likelihood, Reduce(`+`, parts), call)
}

# New rows without a target, as predictions and draws need them. drawn: whether answers themselves are wanted, with their noise or trials.
rows_without_target <- function(object, newdata, given, drawn, na.action, call = NULL) {
  likelihood <- model_info(object)$likelihood
  new <- new_inputs(object, newdata, na.action, call)
  has_trials <- likelihood == "binomial-logit"
  noise <- if (drawn && (likelihood == "gaussian" || has_trials)) c("weights", "noise_variance", "trials")
  kept <- setdiff(seq_len(NROW(newdata)), new$na.action)
  keep <- function(values) if (length(values) == NROW(newdata)) values[kept] else values
  given <- lapply(new_columns(object, newdata, given, c(noise, "offset"), call), keep)
  columns <- list(exposure = new_exposure(likelihood, new, given, call))
  if (drawn && has_trials) {
    columns$trials <- keep(new_trials(object, newdata, given, call))
  } else if (likelihood == "gaussian") {
    columns <- c(columns, given[c("weights", "noise_variance")])
  }
  c(make_frame(new$x, columns, call = call, levels = new$levels), list(na.action = new$na.action))
}

new_target <- function(object, newdata) {
  if (!is.null(object$terms)) {
    return(evaluate_for(object, stats::formula(object$terms)[[2]], newdata))
  }
  target <- model_info(object)$target
  if (target %in% colnames(newdata)) as.data.frame(newdata)[[target]]
}

# New rows with their target, for update() and score(). given: y and what belongs to it.
new_rows <- function(object, newdata, given, call = NULL) {
  info <- model_info(object)
  new <- new_inputs(object, newdata, stats::na.fail, call)
  y <- if (is.null(given$y)) new_target(object, newdata) else given$y
  if (is.null(y)) {
    fail("y is missing: the values that belong to the new rows", call = call)
  }
  given <- new_columns(object, newdata, given, names(object$noise), call)
  columns <- answer_columns(model_kind(object, info), y, given$weights, given$trials, model_classes(info), call)
  columns["classes"] <- list(info$classes)
  columns["noise_variance"] <- list(given$noise_variance)
  columns["exposure"] <- list(new_exposure(info$likelihood, new, given, call))
  make_frame(new$x, columns, call = call, levels = new$levels)
}

# The levels that the model knows, by the names of its inputs.
model_levels <- function(object) {
  info <- model_info(object)
  Filter(Negate(is.null), stats::setNames(info$levels, info$inputs))
}

# The rows of the fit, which the object keeps unless it was read from a model file or made with keep_data = FALSE.
own_rows <- function(object, call = NULL) {
  if (is.null(object$rows)) {
    fail("this model does not hold the rows of its fit: give them as data", "data", call)
  }
  object$rows
}
