# Frames: the rows as the library wants them, a list of x, y, weights, noise_variance, names and target.

# x: a matrix, a data frame of numbers, or a vector for one input.
as_inputs <- function(x, call = NULL) {
  if (is.data.frame(x)) {
    numeric <- vapply(x, function(column) is.numeric(column) || is.logical(column), NA)
    if (!all(numeric)) {
      fail(sprintf("the column '%s' is not numeric: use the formula interface, which makes columns of factors", names(x)[!numeric][1]),
           call = call)
    }
    rows <- row.names(x)
    x <- as.matrix(x)
    rownames(x) <- rows
  }
  if (is.null(dim(x)) && (is.numeric(x) || is.logical(x))) {
    x <- matrix(x, ncol = 1, dimnames = list(names(x), NULL))
  }
  if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    fail("the inputs must be a numeric matrix, a data frame of numbers or a vector", call = call)
  }
  storage.mode(x) <- "double"
  x
}

# The columns of these names, if all are there; else everything.
take_columns <- function(x, names) {
  if (all(names %in% colnames(x))) x[, names, drop = FALSE] else x
}

make_frame <- function(x, y = NULL, weights = NULL, noise_variance = NULL, names = NULL, target = NULL, call = NULL) {
  column <- function(values, what) {
    if (is.null(values)) {
      return(NULL)
    }
    if (!(is.numeric(values) || is.logical(values)) || length(values) != nrow(x)) {
      fail(sprintf("%s must be %d numbers, one for each row", what, nrow(x)), call = call)
    }
    as.double(values)
  }
  list(x = x, y = column(y, "y"), weights = column(weights, "weights"), noise_variance = column(noise_variance, "noise_variance"),
       names = names, target = target)
}

# The columns of the model matrix; its constant is the model's own mean.
design <- function(terms, frame, contrasts = NULL) {
  x <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  made <- attr(x, "contrasts")
  x <- x[, colnames(x) != "(Intercept)", drop = FALSE]
  list(x = x, contrasts = made)
}

# New rows in the columns of the model: by the formula, by name, or by place.
new_inputs <- function(object, newdata, na.action = stats::na.pass, call = NULL) {
  if (!is.null(object$terms) && !is.matrix(newdata)) {
    terms <- stats::delete.response(object$terms)
    frame <- stats::model.frame(terms, newdata, na.action = na.action, xlev = object$xlevels)
    classes <- attr(terms, "dataClasses")
    if (!is.null(classes)) {
      stats::.checkMFClasses(classes, frame)
    }
    return(list(x = design(terms, frame, object$contrasts)$x, na.action = attr(frame, "na.action")))
  }
  inputs <- model_info(object)$inputs
  x <- as_inputs(take_columns(newdata, inputs), call)
  if (ncol(x) != length(inputs)) {
    fail(sprintf("the new rows have %d columns and the model has %d inputs: %s", ncol(x), length(inputs), paste(inputs, collapse = ", ")),
         "data", call)
  }
  list(x = x, na.action = NULL)
}

# New rows with their target, for update() and score().
new_rows <- function(object, newdata, y = NULL, weights = NULL, noise_variance = NULL, call = NULL) {
  if (!is.null(object$terms) && is.data.frame(newdata)) {
    frame <- stats::model.frame(object$terms, newdata, na.action = stats::na.fail, xlev = object$xlevels)
    x <- design(object$terms, frame, object$contrasts)$x
    y <- stats::model.response(frame, "numeric")
  } else {
    x <- new_inputs(object, newdata, call = call)$x
    target <- model_info(object)$target
    if (is.null(y) && target %in% colnames(newdata)) {
      y <- newdata[, target]
    }
    if (is.null(y)) {
      fail("y is missing: the values that belong to the new rows", call = call)
    }
  }
  make_frame(x, y, weights, noise_variance, model_info(object)$inputs, call = call)
}

# The rows of the fit, which the object keeps unless it was read from a model file or made with keep_data = FALSE.
own_rows <- function(object, call = NULL) {
  if (is.null(object$rows)) {
    fail("this model does not hold the rows of its fit: give them as data", "data", call)
  }
  object$rows
}
