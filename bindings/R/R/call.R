# The way to the library and back: its results, its warnings and its errors as R conditions.

# result: the list that every entry returns. notes: whether what the library only mentions is shown.
receive <- function(result, call = NULL, notes = FALSE) {
  for (sentence in result$warnings) {
    warning(warningCondition(in_r(sentence), class = "oatgp_warning", call = call))
  }
  if (notes) {
    for (sentence in result$notes) {
      message("oatgp: ", in_r(sentence))
    }
  }
  if (result$status != "OK") {
    fail(in_r(result$sentence), tolower(result$status), call)
  }
  result$value
}

# A sentence of the library with the options of the command as arguments: --no-guard is guard = FALSE.
in_r <- function(sentence) {
  sentence <- sub("--refit --data OLD", "refit = TRUE", sentence, fixed = TRUE)
  for (name in names(likelihood_words)) {
    sentence <- gsub(sprintf("(--)?likelihood %s\\b", name), paste("family =", family_text(name)), sentence)
  }
  found <- gregexpr("--(no-)?[a-z][a-z-]*[a-z]", sentence)
  if (all(unlist(found) == -1)) {
    return(sentence)
  }
  known <- settings_table()$name
  regmatches(sentence, found) <- lapply(regmatches(sentence, found), function(options) {
    names <- gsub("-", "_", sub("^--(no-)?", "", options))
    ifelse(!names %in% known, options, ifelse(startsWith(options, "--no-"), paste(names, "= FALSE"), names))
  })
  sentence
}

# The last result that was interrupted and not returned, for oatgp_interrupted().
kept <- new.env(parent = emptyenv())

# What is there after an interrupt. With "stop" it is an interrupt for the caller, too, so that a loop around the call ends.
end_interrupted <- function(result, what, on_interrupt, call) {
  if (on_interrupt == "return") {
    warning(warningCondition(paste("interrupted: the result is", what), class = "oatgp_interrupted", call = call))
    return(result)
  }
  kept$result <- result
  sentence <- paste0("interrupted: oatgp_interrupted() is ", what, ", which on_interrupt = \"return\" returns")
  stop(structure(list(message = sentence, call = call, result = result), class = c("oatgp_interrupted", "interrupt", "condition")))
}

oatgp_interrupted <- function() {
  if (is.null(kept$result)) {
    fail("nothing has been interrupted in this session", call = sys.call())
  }
  kept$result
}

# status: one of the library's, such as "argument" or "data", or of its names for what only R can find.
fail <- function(sentence, status = "argument", call = NULL) {
  stop(errorCondition(sentence, class = c(paste0("oatgp_", status), "oatgp_error"), call = call, status = status))
}

# Settings whose names are those of columns or are about files; data frames have their own ways.
file_settings <- c("target", "inputs", "weights", "noise_variance", "trials", "exposure", "header", "missing")

# A list of settings as the named texts that the library reads: TRUE is yes, a vector is joined by commas, and
# parameters may have names. Names that are none are the
# library's to refuse; those of another verb would have no effect.
as_settings <- function(settings, verb, call = NULL) {
  if (length(settings) == 0) {
    return(stats::setNames(character(), character()))
  }
  names <- names(settings)
  if (is.null(names) || any(names == "")) {
    fail("every further argument must be a setting with its name, such as max_knots = 100; oatgp_settings() lists them", call = call)
  }
  if (anyDuplicated(names)) {
    fail(sprintf("the setting '%s' is given twice", names[anyDuplicated(names)]), call = call)
  }
  about_files <- intersect(names, file_settings)
  if (length(about_files) > 0) {
    fail(sprintf("'%s' is about files: in R the formula, the matrices and their arguments say it", about_files[1]), call = call)
  }
  if ("likelihood" %in% names) {
    fail("in R the likelihood is said by the argument family of oatgp(), such as family = poisson()", call = call)
  }
  others <- setdiff(intersect(names, settings_table()$name), oatgp_settings(verb)$name)
  if (length(others) > 0) {
    fail(sprintf("the setting '%s' has no effect here; oatgp_settings(\"%s\") lists those that have", others[1], verb), call = call)
  }
  if (!is.null(names(settings$parameters)) && is.numeric(settings$parameters)) {
    settings$parameters <- sprintf("%s=%.17g", names(settings$parameters), settings$parameters)
  }
  preset_first(vapply(settings, setting_text, "", call = call))
}

# So that other settings win.
preset_first <- function(texts) {
  texts[order(names(texts) != "preset")]
}

setting_text <- function(value, call = NULL) {
  if (length(value) == 0 || anyNA(value) || !(is.logical(value) || is.numeric(value) || is.character(value))) {
    fail("a setting is a number, a text or TRUE or FALSE, without NA", call = call)
  }
  if (is.logical(value)) {
    value <- ifelse(value, "yes", "no")
  } else if (is.numeric(value)) {
    value <- sprintf("%.17g", as.numeric(value))
  }
  paste(value, collapse = ",")
}

# R's generator gives the seed of the library's, so that set.seed() makes everything reproducible.
draw_seed <- function() {
  sprintf("%.0f", floor(stats::runif(1, 1, .Machine$integer.max)))
}

# The library's, without options of the command.
settings_table <- function() {
  table <- as.data.frame(receive(.Call(C_entry_settings)), stringsAsFactors = FALSE)
  table[!table$command_only, ]
}

oatgp_settings <- function(verb = "fit") {
  table <- settings_table()
  verbs <- strsplit(table$verbs, ",", fixed = TRUE)
  wanted <- !table$name %in% c(file_settings, "likelihood") & vapply(verbs, function(v) verb %in% v, NA)
  if (!any(wanted)) {
    fail(sprintf("'%s' is none of fit, certify, update and cv", verb), call = sys.call())
  }
  table <- table[wanted, c("name", "type", "default", "choices", "lowest", "highest", "help")]
  table[!table$type %in% c("number", "whole number"), c("lowest", "highest")] <- NA
  rownames(table) <- NULL
  table
}

# Of OpenBLAS; 0 with another BLAS.
blas_threads <- function() {
  .Call(C_entry_blas_threads)
}
