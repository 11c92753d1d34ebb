#!/bin/sh
# Fails when a file includes something from a folder above its own, so that the code can be read bottom up; and when rows are worked on
# outside of src/rows and src/device: what is in a row, or a parallel region, is elsewhere.
# usage: check_includes.sh [PROJECT]   Prints each offence as file:line.
set -eu
layers=$(cat "$(dirname -- "$0")/layers.awk")
cd "${1:-$(dirname -- "$0")/..}"

find src cli -name '*.[ch]' 2>/dev/null | sort | xargs awk "$layers"'
  function offence(why) {
    printf "%s:%d: includes \"%s\": %s\n", FILENAME, FNR, path, why
    offences++
  }

  # The two headers by which a file could work on rows by itself.
  function check_rows(from) {
    if (path == "rows/layout.h" && from !~ /^(rows|device)$/) {
      offence("what is in a row is for src/rows and src/device")
    } else if (path == "util/threads.h" && from !~ /^(util|linalg|rows|tables|api)$/ && FILENAME != "src/device/registry.c") {
      offence("threads are for the loop over rows (util/lanes.h) and for tables")
    }
  }

  function is_file(name,    line, found) {
    found = (getline line < name) >= 0
    close(name)
    return found
  }

  function is_public() { return path ~ /^(oatgp\.h|oatgp_(kernels|leaves|settings|status)\.def)$/ }

  function check_command() {
    if (!is_public() && path != "oatgp_commit.h" && (path ~ /\// || !is_file("cli/" path))) {
      offence("the command uses the public headers and its own only")
    }
  }

  function check_library(    to, why) {
    split(FILENAME, parts, "/")
    if (is_public() || path ~ /^oat_(config|page)\.h$/) { return }
    to = path
    sub(/\/.*/, "", to)
    if (path !~ /\// || !(to in rank)) {
      offence("not of the form FOLDER/FILE with a folder of src")
    } else if ((why = refusal(parts[2], to)) != "") {
      offence(why)
    } else {
      check_rows(parts[2])
    }
  }

  # Loops within a vector are no parallel regions.
  /^[ \t]*#[ \t]*pragma[ \t]+omp/ && !/simd/ && FILENAME !~ /^src\/(util\/lanes\.c|linalg\/tiles\.c|tables\/)/ {
    printf "%s:%d: has a parallel region: rows go through oat_loop_run (util/lanes.h)\n", FILENAME, FNR
    offences++
  }

  /^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0
    sub(/^[^"]*"/, "", path)
    sub(/".*/, "", path)
    if (FILENAME ~ /^cli\//) { check_command() } else { check_library() }
  }

  END { exit offences > 0 }'
