# Sourced by the other scripts: go to the project's folder, and build a preset.
# shellcheck shell=sh
set -eu
exec </dev/null
here=$PWD
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

# from_here PATH: relative to where the script was called.
from_here() {
  case $1 in
    /*) echo "$1" ;;
    *) echo "$here/$1" ;;
  esac
}

# configure_and_build PRESET: quiet when it works, everything the tools said when it does not.
configure_and_build() {
  mkdir -p build/log
  if ! { cmake --preset "$1" && cmake --build --preset "$1" --parallel "$cores"; } >"build/log/$1.txt" 2>&1; then
    cat "build/log/$1.txt" >&2
    return 1
  fi
}

# has_r NAME...: R itself, what its packages are linked with, and these packages of it
has_r() {
  command -v Rscript >/dev/null 2>&1 && gcc -print-file-name=libgfortran.so | grep -q / &&
    Rscript --vanilla -e 'quit(status = !all(vapply(commandArgs(TRUE), requireNamespace, NA, quietly = TRUE)))' "$@" >/dev/null 2>&1
}
