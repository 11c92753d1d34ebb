# For tests of the command in sh, which source it after checks.sh: runs it and looks at what it said.
#
# awk programs have their own dollars.
# shellcheck disable=SC2016
# run ARGUMENTS: the command with its output in out, err and code
run() {
  "$OATGP" "$@" >out 2>err
  code=$?
}
# exits CODE NAME: the exit code of the last run; on a mismatch, what it said
exits() {
  if [ "$code" = "$1" ]; then
    pass "$2"
  else
    miss "$2: exit code $code, not $1"
    sed 's/^/        /' err | head -3
  fi
}
# says FILE PIECE NAME
says() {
  if grep -qF -e "$2" "$1"; then
    pass "$3"
  else
    miss "$3: no '$2' in $1"
    sed 's/^/        /' "$1" | head -3
  fi
}
# refused_output ARGUMENTS: with --json an object that has the sentence of err, else nothing
refused_output() {
  case " $* " in
  *" --json "*) valid_json out && grep -q '"status":' out && grep -qF -e "$piece" out ;;
  *) [ ! -s out ] ;;
  esac
}
# refuses CODE PIECE ARGUMENTS: exit code, a sentence with the piece, "oatgp: " before it, nothing else on standard output
refuses() {
  want=$1
  piece=$2
  shift 2
  run "$@"
  if [ "$code" = "$want" ] && grep -qF -e "$piece" err && grep -q '^oatgp: ' err && refused_output "$@"; then
    pass "refused ($want): $*"
  else
    miss "refused ($want): $*: exit code $code, wanted '$piece'"
    sed 's/^/        /' err | head -3
  fi
}
# works NAME ARGUMENTS: exit code 0
works() {
  name=$1
  shift
  run "$@"
  exits 0 "$name"
}
# A JSON text is reduced, inside out, to a single value.
valid_json() {
  awk '{ text = text $0 " " }
    END {
      gsub(/"([^"\\]|\\.)*"/, "@", text)
      if (text ~ /#/) exit 1
      gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/, "#", text)
      gsub(/true|false|null/, "#", text)
      gsub(/[ \t]/, "", text)
      do {
        count = gsub(/\[\]|\[[@#](,[@#])*\]/, "#", text)
        count += gsub(/\{\}|\{@:[@#](,@:[@#])*\}/, "#", text)
      } while (count > 0)
      exit text != "#"
    }' "$1"
}
# json KEY [FILE]: the first value of a key, on one line of an indented object
json() { sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\(.*[^,]\),\{0,1\}\$/\1/p" "${2:-out}" | head -1; }
# has_keys NAME KEYS..: all of them in out
has_keys() {
  name=$1
  shift
  for key in "$@"; do
    if ! grep -q "\"$key\":" out; then
      miss "$name: no key $key"
      return
    fi
  done
  pass "$name"
}
# near A B TOLERANCE NAME
near() {
  if awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN {
      if (a == "" || b == "" || a == "null" || b == "null") exit 1
      d = a - b; if (d < 0) d = -d; m = a < 0 ? -a : a; exit !(d <= t * (m > 1 ? m : 1)) }'; then
    pass "$4"
  else
    miss "$4: $1 and $2"
  fi
}
lines() { wc -l <"$1" | tr -d ' '; }
