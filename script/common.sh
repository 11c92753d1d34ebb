# Sourced by the other scripts: go to the project's folder, and build a preset.
# shellcheck shell=sh
set -eu
exec </dev/null
here=$PWD
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

# project_version: its one place is CMakeLists.txt.
project_version() { sed -n 's/^project(oatgp VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt; }

# from_here PATH: relative to where the script was called.
from_here() {
  case $1 in
    /*) echo "$1" ;;
    *) echo "$here/$1" ;;
  esac
}

# configure_and_build PRESET [OPTIONS..]: quiet if it succeeds; otherwise it prints the output of the tools. OPTIONS are for cmake --build.
configure_and_build() {
  mkdir -p build/log
  preset=$1
  shift
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$cores" "$@"; } >"build/log/$preset.txt" 2>&1; then
    cat "build/log/$preset.txt" >&2
    return 1
  fi
}

# has_r NAME...: R itself, what its packages are linked with, and these packages of it
has_r() {
  command -v Rscript >/dev/null 2>&1 && gcc -print-file-name=libgfortran.so | grep -q / &&
    Rscript --vanilla -e 'quit(status = !all(vapply(commandArgs(TRUE), requireNamespace, NA, quietly = TRUE)))' "$@" >/dev/null 2>&1
}
