#!/bin/sh
# The fuzz targets over their seeds, over what they have found (fuzz/corpus), and over some hundred alterations of each, always the
# same ones. No libFuzzer is needed; script/fuzz has it, and goes on for longer. TRIES: alterations of each input.
set -u
. ./checks.sh
targets=$(dirname "$OATGP")/tests/fuzz
corpus=$PROJECT_DIR/tests/fuzz/corpus
tries=${TRIES:-}

# tries_of TARGET: so many that a target takes a second or two
tries_of() {
  case $1 in
    checkpoint) echo 0 ;;
    model) echo 20 ;;
    files) echo 30 ;;
    *) echo 200 ;;
  esac
}

check "seeds" "$PROJECT_DIR/tests/fuzz/seeds.sh" "$(dirname "$OATGP")" seeds
for target in text convert npy files model checkpoint config expression prior; do
  folders=seeds/$target
  [ ! -d "$corpus/$target" ] || folders="$folders $corpus/$target"
  # shellcheck disable=SC2086
  if OATGP_FUZZ_TRIES=${tries:-$(tries_of $target)} "$targets/fuzz_$target" $folders >out 2>err; then
    pass "$target: $(tail -n 1 out)"
  else
    miss "$target: $(tail -n 1 out): $(tail -n 20 err)"
  fi
done
exit $((failures > 0))
