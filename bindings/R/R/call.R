# Calls of the library: results, and its warnings and errors as R conditions.

# result: the list that every entry returns. notes: whether to show the library's notes.
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

# A message of the library in terms of R: likelihood = "poisson" is family = poisson() here.
in_r <- function(sentence) {
  for (name in names(likelihood_words)) {
    sentence <- gsub(sprintf("likelihood( = \"%s\"| %s\\b)", name, name), paste("family =", family_text(name)), sentence)
  }
  sentence
}

# The last result that was interrupted and not returned, for oatgp_interrupted().
kept <- new.env(parent = emptyenv())

# The result after an interrupt. With "stop", the caller is interrupted, too, so that a loop around the call ends.
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

# status: one of the library's names, such as "argument" or "data", also for errors that only R finds.
fail <- function(sentence, status = "argument", call = NULL) {
  stop(errorCondition(sentence, class = c(paste0("oatgp_", status), "oatgp_error"), call = call, status = status))
}

# Settings that name columns or are about files; data frames do not need them.
file_settings <- c("target", "inputs", "weights", "noise_variance", "trials", "exposure", "header", "missing")

# Converts a list of settings to the named texts that the library reads: TRUE is yes, a vector is joined by commas, and parameters may have names. The
# library refuses unknown names; settings of other verbs are refused here, because they would have no effect.
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
    fail(sprintf("'%s' is about files: in R, use the formula, or the matrices and their arguments", about_files[1]), call = call)
  }
  if ("likelihood" %in% names) {
    fail("in R, the argument family of oatgp() sets the likelihood, such as family = poisson()", call = call)
  }
  others <- setdiff(intersect(names, settings_table()$name), oatgp_settings(verb)$name)
  if (length(others) > 0) {
    fail(sprintf("the setting '%s' has no effect here; oatgp_settings(\"%s\") lists the settings that have an effect", others[1], verb), call = call)
  }
  flags <- intersect(names, with(settings_table(), name[type == "flag"]))
  for (name in flags[!vapply(settings[flags], function(value) isTRUE(value) || isFALSE(value), NA)]) {
    fail(sprintf("%s is %s but must be TRUE or FALSE", name, deparse1(settings[[name]])), call = call)
  }
  if (!is.null(names(settings$parameters)) && is.numeric(settings$parameters)) {
    settings$parameters <- sprintf("%s=%.17g", names(settings$parameters), settings$parameters)
  }
  preset_first(vapply(settings, setting_text, "", call = call))
}

# The preset comes first, so that other settings override it.
preset_first <- function(texts) {
  texts[order(names(texts) != "preset")]
}

setting_text <- function(value, call = NULL) {
  if (length(value) == 0 || anyNA(value) || !(is.logical(value) || is.numeric(value) || is.character(value))) {
    fail("a setting must be a number, a text, TRUE or FALSE, and not NA", call = call)
  }
  if (is.logical(value)) {
    value <- ifelse(value, "yes", "no")
  } else if (is.numeric(value)) {
    value <- sprintf("%.17g", as.numeric(value))
  }
  paste(value, collapse = ",")
}

# The seed of the library comes from R's generator, so that set.seed() makes everything reproducible.
draw_seed <- function() {
  sprintf("%.0f", floor(stats::runif(1, 1, .Machine$integer.max)))
}

# The settings of the library, without options of the command, with the help in terms of R.
settings_table <- function() {
  table <- as.data.frame(receive(.Call(C_entry_settings)), stringsAsFactors = FALSE)
  table$help <- gsub("--([a-z]+)", "\\1", table$help)
  table[!table$command_only, ]
}

oatgp_settings <- function(verb = "fit") {
  table <- settings_table()
  verbs <- strsplit(table$verbs, ",", fixed = TRUE)
  wanted <- !table$name %in% c(file_settings, "likelihood") & vapply(verbs, function(v) verb %in% v, NA)
  if (!any(wanted)) {
    fail(sprintf("verb is '%s' but must be one of fit, certify, update, cv", verb), call = sys.call())
  }
  table <- table[wanted, c("name", "type", "default", "choices", "lowest", "highest", "help")]
  table[!table$type %in% c("number", "whole number"), c("lowest", "highest")] <- NA
  rownames(table) <- NULL
  table
}

# The number of threads of OpenBLAS; 0 with a different BLAS.
blas_threads <- function() {
  .Call(C_entry_blas_threads)
}
