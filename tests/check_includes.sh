#!/bin/sh
# Fails when a file includes something from a folder above its own, so that the code can be read bottom up.
# usage: check_includes.sh [PROJECT]   Prints each offence as file:line.
set -eu
cd "${1:-$(dirname -- "$0")/..}"

find src cli -name '*.[ch]' 2>/dev/null | sort | xargs awk '
  BEGIN {
    count = split("util text settings tensors plot linalg data tables kernel rows device objective optim knots model predict certify fit report api", order, " ")
    for (i = 1; i <= count; i++) { rank[order[i]] = i }
    optim_may["util"]; optim_may["linalg"]; optim_may["optim"]
    plot_user["plot"]; plot_user["report"]
  }

  function offence(why) {
    printf "%s:%d: includes \"%s\": %s\n", FILENAME, FNR, path, why
    offences++
  }

  function is_file(name,    line, found) {
    found = (getline line < name) >= 0
    close(name)
    return found
  }

  function is_public() { return path ~ /^(oatgp\.h|oatgp_(kernels|settings|status)\.def)$/ }

  function check_command() {
    if (!is_public() && path != "oatgp_commit.h" && (path ~ /\// || !is_file("cli/" path))) {
      offence("the command uses the public headers and its own only")
    }
  }

  function check_library(    from, to) {
    split(FILENAME, parts, "/")
    from = parts[2]
    if (is_public() || path ~ /^oat_(config|page)\.h$/) { return }
    to = path
    sub(/\/.*/, "", to)
    if (path !~ /\// || !(to in rank)) {
      offence("not of the form FOLDER/FILE with a folder of src")
    } else if (!(from in rank)) {
      offence("the folder src/" from " has no place in the order")
    } else if (rank[to] > rank[from]) {
      offence("src/" to " is above src/" from)
    } else if (from == "optim" && !(to in optim_may)) {
      offence("src/optim knows of src/util and src/linalg only")
    } else if (to == "plot" && !(from in plot_user)) {
      offence("src/plot is for src/report")
    }
  }

  /^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0
    sub(/^[^"]*"/, "", path)
    sub(/".*/, "", path)
    if (FILENAME ~ /^cli\//) { check_command() } else { check_library() }
  }

  END { exit offences > 0 }'
