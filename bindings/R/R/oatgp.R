# Fitting.

oatgp <- function(x, ...) {
  UseMethod("oatgp")
}

oatgp.formula <- function(formula, data, subset, weights, na.action, ..., noise_variance, contrasts = NULL, certify = FALSE,
                          keep_data = TRUE, progress = interactive(), on_interrupt = c("stop", "return")) {
  call <- match.call()
  call[[1]] <- quote(oatgp)
  on_interrupt <- match.arg(on_interrupt)
  frame <- match.call(expand.dots = FALSE)
  frame <- frame[c(1L, match(c("formula", "data", "subset", "weights", "na.action", "noise_variance"), names(frame), 0L))]
  frame$drop.unused.levels <- TRUE
  frame[[1]] <- quote(stats::model.frame)
  frame <- eval(frame, parent.frame())
  terms <- attr(frame, "terms")
  if (!is.null(stats::model.offset(frame))) {
    fail("offsets are not supported: subtract the offset from the response, and add it to predictions", call = call)
  }
  y <- stats::model.response(frame, "numeric")
  if (is.null(y) || is.matrix(y)) {
    fail("the formula needs a response, and one only", call = call)
  }
  made <- design(terms, frame, contrasts)
  if (ncol(made$x) == 0) {
    fail("the formula has no inputs", call = call)
  }
  rows <- make_frame(made$x, y, stats::model.weights(frame), frame[["(noise_variance)"]], deparse1(formula[[2]]), call,
                     made$levels)
  object <- fit_rows(rows, list(...), call, certify, keep_data, progress)
  object$terms <- terms
  object$xlevels <- stats::.getXlevels(terms, frame)
  object$contrasts <- made$contrasts
  object$levels <- made$levels
  object$na.action <- attr(frame, "na.action")
  end_fit(object, on_interrupt, call)
}

oatgp.default <- function(x, y, weights = NULL, ..., noise_variance = NULL, certify = FALSE, keep_data = TRUE,
                          progress = interactive(), on_interrupt = c("stop", "return")) {
  call <- match.call()
  call[[1]] <- quote(oatgp)
  on_interrupt <- match.arg(on_interrupt)
  if (missing(y)) {
    fail("y is missing: the values to be predicted", call = call)
  }
  x <- as_inputs(x, call)
  if (is.null(colnames(x))) {
    colnames(x) <- paste0(rep("x", ncol(x)), seq_len(ncol(x)))
  }
  target <- if (is.name(call$y) && !grepl("^[.][.][0-9]+$", call$y)) as.character(call$y) else "y" # ..2 is an argument of a wrapper
  target <- utils::tail(make.unique(c(colnames(x), target)), 1)
  rows <- make_frame(x, y, weights, noise_variance, target, call)
  end_fit(fit_rows(rows, list(...), call, certify, keep_data, progress), on_interrupt, call)
}

# Knots can be given as places; then they are a frame, else a setting.
split_knots <- function(settings, rows, call) {
  places <- settings[["knots"]]
  if (is.matrix(places) || is.data.frame(places)) {
    settings[["knots"]] <- NULL
    return(list(settings = settings, knots = make_frame(match_columns(places, colnames(rows$x), "the knots", call))))
  }
  list(settings = settings, knots = NULL)
}

# The call without data that do.call() put into it.
short_call <- function(call) {
  is_short <- function(value) is.language(value) || is.null(value) || (is.atomic(value) && length(value) <= 10)
  as.call(lapply(as.list(call), function(value) if (is_short(value)) value else as.name(sprintf("<%s>", class(value)[1]))))
}

# The model may have been interrupted; nobody is to see the note of that.
end_fit <- function(object, on_interrupt, call) {
  interrupted <- object$interrupted
  object$interrupted <- NULL
  if (interrupted) end_interrupted(object, "the best model so far", on_interrupt, call) else object
}

fit_rows <- function(rows, settings, call, certify, keep_data, progress) {
  split <- split_knots(settings, rows, call)
  texts <- as_settings(split$settings, "fit", call)
  if (!"seed" %in% names(texts)) {
    texts["seed"] <- draw_seed()
  }
  control <- list(progress = progress, certify = certify, command = paste(deparse(short_call(call)), collapse = " "))
  result <- .Call(C_entry_fit, rows, texts, split$knots, control)
  model <- receive(result, call, progress)
  noise <- as.list(call)[names(Filter(Negate(is.null), rows[c("weights", "noise_variance")]))]
  object <- structure(list(model = model, call = call, settings = texts, columns = colnames(rows$x), noise = noise,
                           interrupted = result$interrupted), class = "oatgp")
  inputs <- model_info(object)$inputs
  if (!is.null(split$knots)) {
    object$knots <- model_columns(split$knots, inputs)
  }
  if (keep_data) {
    object$rows <- model_columns(rows, inputs)
  }
  object
}

# Everything that the model file says about itself.
model_info <- function(object) {
  receive(.Call(C_entry_info, object$model))
}

oatgp_save <- function(object, file) {
  check_model(object)
  receive(.Call(C_entry_save, object$model, file_path(file)), sys.call())
  invisible(object)
}

oatgp_load <- function(file) {
  model <- receive(.Call(C_entry_load, file_path(file)), sys.call())
  object <- structure(list(model = model, call = sys.call(), settings = character()), class = "oatgp")
  columns <- Filter(nzchar, unlist(model_info(object)[c("weights", "noise_variance")]))
  object$noise <- lapply(columns, as.name)
  object
}

# For the library "-" is standard output, which belongs to R.
file_path <- function(file) {
  if (!is.character(file) || length(file) != 1 || is.na(file)) {
    fail("file must be one path", call = sys.call(-1))
  }
  if (file == "-") "./-" else path.expand(file)
}

check_model <- function(object) {
  if (!inherits(object, "oatgp")) {
    fail("the first argument must be a model that oatgp() or oatgp_load() made", call = sys.call(-1))
  }
}

update.oatgp <- function(object, formula., ..., newdata = NULL, y = NULL, weights = NULL, noise_variance = NULL, refit = FALSE,
                         progress = interactive(), on_interrupt = c("stop", "return"), evaluate = TRUE) {
  on_interrupt <- match.arg(on_interrupt)
  if (is.null(newdata)) {
    return(NextMethod("update"))
  }
  call <- sys.call()
  new <- new_rows(object, newdata, y, weights, noise_variance, call)
  old <- object$rows
  all <- if (is.null(old)) NULL else join_rows(old, new)
  object$interrupted <- FALSE
  if (refit) {
    all <- join_rows(own_rows(object, call), new)
    result <- .Call(C_entry_refit, object$model, all, as_settings(list(...), "update", call), progress)
    object$model <- receive(result, call, progress)
    object$interrupted <- result$interrupted
  } else {
    if (...length() > 0) {
      fail("settings are for refit = TRUE; without it nothing is optimised", call = call)
    }
    object$model <- receive(.Call(C_entry_update, object$model, new), call)
  }
  object$rows <- all
  object$na.action <- NULL
  end_fit(object, on_interrupt, call)
}

# Rows without weights have weight 1 and no known noise.
join_rows <- function(old, new) {
  join <- function(what, missing) {
    if (is.null(old[[what]]) && is.null(new[[what]])) {
      return(NULL)
    }
    filled <- function(rows) if (is.null(rows[[what]])) rep(missing, nrow(rows$x)) else rows[[what]]
    c(filled(old), filled(new))
  }
  for (name in names(new$levels)) {
    all <- c(old$levels[[name]], setdiff(new$levels[[name]], old$levels[[name]]))
    new$x[, name] <- match(new$levels[[name]], all)[new$x[, name] + 1] - 1
    old$levels[[name]] <- all
  }
  old["x"] <- list(rbind(old$x, new$x))
  old["y"] <- list(c(old$y, new$y))
  old["weights"] <- list(join("weights", 1))
  old["noise_variance"] <- list(join("noise_variance", 0))
  old
}
