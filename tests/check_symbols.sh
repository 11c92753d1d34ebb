#!/bin/sh
# Fails when an object file of the library uses a symbol that is defined in a folder above its own. Includes alone do not
# show that: the public header declares functions of all folders.
# usage: check_symbols.sh LIST   LIST has the object files, one a line. Prints each offence; $NM is the nm to use.
# Exits with 77 where nothing can be said: without nm, or with objects that nm cannot read (those of some link-time optimisations).
set -eu
layers=$(cat "$(dirname -- "$0")/layers.awk")
nm=${NM:-nm}
command -v "$nm" >/dev/null || { echo "skipped: there is no $nm"; exit 77; }
[ -s "$1" ] || { echo "no object files are listed in $1"; exit 1; }

sed 's/.*/"&"/' "$1" | { xargs "$nm" -P -A -g || echo "!"; } | awk "$layers"'
  # "FILE: NAME TYPE ..." becomes the name and the type, and the file is taken off
  match($0, /\.(o|obj): /) {
    file = substr($0, 1, RSTART - 1)
    sub(/.*\/src\//, "", file)
    folder = file
    sub(/\/.*/, "", folder)
    $0 = substr($0, RSTART + RLENGTH)
  }
  $1 == "!" { unreadable = 1; next }
  $2 ~ /^[Uvw]$/ { used[++uses] = $1; user[uses] = file; next }
  NF >= 2 && !($1 in home) { home[$1] = folder; if ($1 ~ /oat/) { own++ } }

  END {
    if (unreadable || own == 0) { print "skipped: nm sees no symbols in the object files"; exit 77 }
    for (i = 1; i <= uses; i++) {
      if (used[i] in home) {
        from = user[i]
        sub(/\/.*/, "", from)
        why = refusal(from, home[used[i]])
        if (why != "") {
          printf "src/%s: uses %s of src/%s: %s\n", user[i], used[i], home[used[i]], why
          offences++
        }
      }
    }
    exit offences > 0
  }'
