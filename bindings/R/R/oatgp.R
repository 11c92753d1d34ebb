# Fitting.

oatgp <- function(x, ...) {
  UseMethod("oatgp")
}

oatgp.formula <- function(formula, data, subset, weights, na.action, ..., family = gaussian(), offset, noise_variance, contrasts = NULL,
                          certify = FALSE, keep_data = TRUE, progress = interactive(), on_interrupt = c("stop", "return")) {
  call <- match.call()
  call[[1]] <- quote(oatgp)
  on_interrupt <- match.arg(on_interrupt)
  family <- as_family(family, call)
  frame <- match.call(expand.dots = FALSE)
  frame <- frame[c(1L, match(c("formula", "data", "subset", "weights", "na.action", "offset", "noise_variance"), names(frame), 0L))]
  said <- read_formula(formula, call)
  frame$formula <- said$formula
  frame$drop.unused.levels <- TRUE
  frame[[1]] <- quote(stats::model.frame)
  frame <- eval(frame, parent.frame())
  terms <- attr(frame, "terms")
  y <- stats::model.response(frame)
  if (is.null(y) || (is.matrix(y) && !is_binomial(family$likelihood))) {
    fail("the formula needs exactly one response", call = call)
  }
  refuse_numeric_by(said$summands, frame, call)
  made <- design(terms, frame, contrasts, union(category_terms(terms, frame, contrasts), said_categories(said$summands)))
  if (ncol(made$x) == 0) {
    fail("the formula has no inputs", call = call)
  }
  columns <- list(y = y, weights = stats::model.weights(frame), noise_variance = frame[["(noise_variance)"]],
                  offset = stats::model.offset(frame))
  answers <- fit_answers(family, columns, call)
  rows <- make_frame(made$x, answers$columns, deparse1(formula[[2]]), call, made$levels)
  settings <- list(...)
  if (!is.null(said$summands)) {
    if (!is.null(settings$kernel)) {
      fail("the formula with s() or (1 | f) sets the kernel: leave kernel out, or write s(x, kernel = \"matern52\")", call = call)
    }
    additive <- additive_kernel(said$summands, made$columns, names(made$levels), call)
    settings$kernel <- additive$kernel
  }
  object <- fit_rows(rows, answers, settings, call, certify, keep_data, progress)
  object$noise <- call_columns(call, columns)
  object$formula <- if (is.null(said$summands)) stats::formula(terms) else formula # without a dot
  object$term_labels <- if (!is.null(said$summands)) additive$labels
  object$model <- if (keep_data) frame
  object$terms <- terms
  object$xlevels <- stats::.getXlevels(terms, frame)
  object$contrasts <- made$contrasts
  object$levels <- made$levels
  object$na.action <- attr(frame, "na.action")
  end_fit(object, on_interrupt, call)
}

oatgp.default <- function(x, y, weights = NULL, ..., family = gaussian(), offset = NULL, noise_variance = NULL, certify = FALSE,
                          keep_data = TRUE, progress = interactive(), on_interrupt = c("stop", "return")) {
  call <- match.call()
  call[[1]] <- quote(oatgp)
  on_interrupt <- match.arg(on_interrupt)
  family <- as_family(family, call)
  if (missing(y)) {
    text <- if (is.character(x) && length(x) == 1) "; if x is a formula, write it without quotes, or use as.formula()" else ""
    fail(sprintf("y is missing: the values to be predicted%s", text), call = call)
  }
  x <- as_inputs(x, call)
  if (is.null(colnames(x))) {
    colnames(x) <- paste0(rep("x", ncol(x)), seq_len(ncol(x)))
  }
  target <- if (is.name(call$y) && !grepl("^[.][.][0-9]+$", call$y)) as.character(call$y) else "y" # ..2 is an argument of a wrapper
  target <- utils::tail(make.unique(c(colnames(x), target)), 1)
  columns <- list(y = y, weights = weights, noise_variance = noise_variance, offset = offset)
  answers <- fit_answers(family, columns, call)
  rows <- make_frame(x, answers$columns, target, call)
  object <- fit_rows(rows, answers, list(...), call, certify, keep_data, progress)
  object$noise <- call_columns(call, columns)
  end_fit(object, on_interrupt, call)
}

# The response and its further columns for the family: list(likelihood, theta, kind, columns).
fit_answers <- function(family, columns, call) {
  likelihood <- family$likelihood
  if (likelihood == "gaussian" && is_category(columns$y)) {
    fail("the response has classes, not numbers: family = binomial() is for two of them, family = \"ordinal\" for ordered ones", "data", call)
  }
  if (likelihood != "gaussian" && !is.null(columns$noise_variance)) {
    fail(sprintf("family %s has no noise to add noise_variance to: leave it out", family_text(likelihood)), call = call)
  }
  kind <- response_kind(likelihood, columns$y, columns$weights, call)
  if (kind %in% c("pairs", "share")) {
    if (likelihood == "bernoulli-probit") {
      fail("binomial(\"probit\") needs responses of one trial each: use binomial(), with the link \"logit\", for trials", call = call)
    }
    likelihood <- "binomial-logit"
  }
  own <- answer_columns(kind, columns$y, columns$weights, NULL, response_classes(kind, columns$y, call), call)
  own["noise_variance"] <- list(columns$noise_variance)
  own <- with_offset(own, likelihood, columns$offset, call)
  list(likelihood = likelihood, theta = family$theta, kind = kind, columns = own)
}

# Columns for the offset of the rows. With the link log, the library multiplies the expected response by its exponential; with the identity, it is
# subtracted from y and added to predictions.
with_offset <- function(columns, likelihood, offset, call) {
  if (is.null(offset)) {
    return(columns)
  }
  if (!takes_offset(likelihood)) {
    fail(sprintf("family %s takes no offset: only families with the link \"identity\" or \"log\" do", family_text(likelihood)), call = call)
  }
  if (!is_shifted(likelihood)) {
    columns$exposure <- exp(offset)
    return(columns)
  }
  columns$offset <- offset
  if (!is.null(columns$y)) {
    columns$y <- columns$y - offset
  }
  columns
}

offset_of <- function(rows) if (is.null(rows$offset)) 0 else rows$offset

# The expressions of the call, which are evaluated for new rows, too.
call_columns <- function(call, columns) {
  there <- names(Filter(Negate(is.null), columns[c("weights", "noise_variance", "offset")]))
  as.list(call)[intersect(there, names(call))]
}

# Given positions of knots are a frame; otherwise knots is a setting.
split_knots <- function(settings, rows, call) {
  places <- settings[["knots"]]
  if (is.matrix(places) || is.data.frame(places)) {
    settings[["knots"]] <- NULL
    return(list(settings = settings, knots = make_frame(match_columns(places, colnames(rows$x), "the knots", call), list())))
  }
  list(settings = settings, knots = NULL)
}

# The call without the data that do.call() puts into it.
short_call <- function(call) {
  is_short <- function(value) is.language(value) || is.null(value) || (is.atomic(value) && length(value) <= 10)
  as.call(lapply(as.list(call), function(value) if (is_short(value)) value else as.name(sprintf("<%s>", class(value)[1]))))
}

# The model may have been interrupted; the note about that is not shown.
end_fit <- function(object, on_interrupt, call) {
  interrupted <- object$interrupted
  object$interrupted <- NULL
  if (interrupted) end_interrupted(object, "the best model so far", on_interrupt, call) else object
}

# A given theta is fixed.
family_settings <- function(texts, answers) {
  if (answers$likelihood != "gaussian") {
    texts["likelihood"] <- answers$likelihood
  }
  if (!is.null(answers$theta)) {
    texts["likelihood_shape"] <- setting_text(answers$theta)
    texts["fix"] <- paste(c(texts[names(texts) == "fix"], "likelihood_shape"), collapse = ",")
  }
  texts
}

fit_rows <- function(rows, answers, settings, call, certify, keep_data, progress) {
  refuse_odd(rows, call)
  split <- split_knots(settings, rows, call)
  texts <- family_settings(as_settings(split$settings, "fit", call), answers)
  if (!"seed" %in% names(texts)) {
    texts["seed"] <- draw_seed()
  }
  control <- list(progress = progress, certify = certify, command = paste(deparse(short_call(call)), collapse = " "))
  result <- .Call(C_entry_fit, rows, texts, split$knots, control)
  model <- receive(result, call, progress)
  object <- structure(list(pointer = model, call = call, settings = texts, columns = colnames(rows$x), kind = answers$kind,
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

# The contents of the model's description.
model_info <- function(object) {
  receive(.Call(C_entry_info, object$pointer))
}

# An averaged model as list(weight, model): a number and a model for each draw of the parameters. Any other is its own and only member.
model_members <- function(object, info = model_info(object)) {
  if (info$average == 0) {
    return(list(weight = 1, model = list(object)))
  }
  found <- receive(.Call(C_entry_members, object$pointer))
  list(weight = found$weight, model = lapply(found$pointer, function(pointer) {
    object$pointer <- pointer
    object
  }))
}

oatgp_save <- function(object, file) {
  check_model(object)
  receive(.Call(C_entry_save, object$pointer, file_path(file)), sys.call())
  invisible(object)
}

oatgp_load <- function(file) {
  model <- receive(.Call(C_entry_load, file_path(file)), sys.call())
  object <- structure(list(pointer = model, call = sys.call(), settings = character()), class = "oatgp")
  columns <- Filter(nzchar, unlist(model_info(object)[c("weights", "noise_variance", "trials", "exposure")]))
  object$noise <- lapply(columns, as.name)
  if (!is.null(object$noise$exposure)) {
    object$noise$offset <- call("log", object$noise$exposure)
    object$noise$exposure <- NULL
  }
  object
}

# For the library, "-" is standard output, which R uses.
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

update.oatgp <- function(object, formula., ..., newdata = NULL, y = NULL, weights = NULL, noise_variance = NULL, offset = NULL,
                         trials = NULL, refit = FALSE, progress = interactive(), on_interrupt = c("stop", "return"), evaluate = TRUE) {
  on_interrupt <- match.arg(on_interrupt)
  if (is.null(newdata)) {
    return(NextMethod("update"))
  }
  call <- sys.call()
  new <- new_rows(object, newdata, list(y = y, weights = weights, noise_variance = noise_variance, offset = offset, trials = trials), call)
  old <- object$rows
  all <- if (is.null(old)) NULL else join_rows(old, new)
  object$interrupted <- FALSE
  if (refit) {
    all <- join_rows(own_rows(object, call), new)
    result <- .Call(C_entry_refit, object$pointer, all, as_settings(list(...), "update", call), progress)
    object$pointer <- receive(result, call, progress)
    object$interrupted <- result$interrupted
  } else {
    if (...length() > 0) {
      fail("settings are for refit = TRUE; without it nothing is optimised", call = call)
    }
    object$pointer <- receive(.Call(C_entry_update, object$pointer, new), call)
  }
  object$rows <- all
  object["model"] <- list(NULL) # it has the old rows; model.frame() makes one of all rows
  object$na.action <- NULL
  end_fit(object, on_interrupt, call)
}

# Rows without weights have weight 1, no known noise, one trial, exposure 1 and no offset.
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
  absent <- c(weights = 1, noise_variance = 0, trials = 1, exposure = 1, offset = 0)
  for (what in names(absent)) {
    old[what] <- list(join(what, absent[[what]]))
  }
  old
}
