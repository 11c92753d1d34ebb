#!/bin/sh
# What the command writes of itself: manual pages and completions, which must know every verb and option. The completions are tried in their
# shells: bash always, zsh and fish where they are installed. $OATGP is the command, $TMPDIR an empty folder.
# Completions are tried by text that the shells under test expand, not this one.
# shellcheck disable=SC2016
set -u
. "$(dirname "$0")/checks.sh"
verbs=$("$OATGP" help --verbs)
# options VERB: the long options of a verb, as its help prints them
options() { "$OATGP" "$1" --help | sed -n 's/^  \(-[oh], \)\{0,1\}--\(\[no-\]\)\{0,1\}\([a-z-]*\).*/\3/p'; }
# all_in FILE WHAT: every option of $verb is in the file
all_in() {
  lacking=$(for option in $(options "$verb"); do sed 's/\\f[BIR]//g; s/\\-/-/g' "$1" | grep -qE -e "--(no-|\[no-\])?$option([^a-z-]|\$)" || echo "$option"; done)
  if [ -z "$lacking" ]; then pass "$2"; else miss "$2: no $lacking"; fi
}

# ---- manual pages ----------------------------------------------------------------------------------------------------

"$OATGP" help --man >oatgp.1 || miss "oatgp help --man"
for verb in $verbs; do
  "$OATGP" help --man "$verb" >"oatgp-$verb.1" || miss "oatgp help --man $verb"
  all_in "oatgp-$verb.1" "the page of $verb has its options"
  check "oatgp(1) names $verb" grep -q "^.BR oatgp.-$verb (1)" oatgp.1
done
if command -v groff >/dev/null 2>&1; then
  for page in *.1; do
    groff -man -ww -Tascii -P-cbou "$page" >text 2>warnings || miss "groff $page"
    check "$page: no warnings" test ! -s warnings
    check "$page: sections" sh -c 'for title in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "SEE ALSO"; do grep -q "$title" text || exit 1; done'
  done
else
  echo "skipped: layout of the manual pages: groff is not here"
fi

# ---- completions -----------------------------------------------------------------------------------------------------

printf 'crim,"rm",medv\n1,2,3\n' >train.csv
for shell in bash zsh fish; do
  "$OATGP" help --completion $shell >oatgp.$shell || miss "completion for $shell"
done

# offers SHELL LINE WANTED...: what the shell offers at the end of the line has all of these words; -WORD: not that one
offers() {
  shell=$1
  line=$2
  shift 2
  complete_in_"$shell" "$line" >offered 2>&1
  for word; do
    case $word in
      !*) if grep -qxF -e "${word#!}" offered; then miss "$shell: '$line' offers ${word#!}"; else pass "$shell: '$line' does not offer ${word#!}"; fi ;;
      *) if grep -qxF -e "$word" offered; then pass "$shell: '$line' offers $word"; else miss "$shell: '$line' does not offer $word but $(tr '\n' ' ' <offered)"; fi ;;
    esac
  done
}
complete_in_bash() {
  bash --norc -c '
    source ./oatgp.bash
    read -r -a COMP_WORDS <<<"$1"
    case $1 in *" ") COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _oatgp
    printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
complete_in_fish() { HOME=$TMPDIR fish --no-config -c 'source ./oatgp.fish; complete -C $argv[1]' -- "$1" | cut -f 1; }
# A zsh in a terminal of its own, in which the Tab key is pressed; its compadd is wrapped to write down what is offered.
complete_in_zsh() {
  mkdir -p zsh && cp oatgp.zsh zsh/_oatgp && rm -f offers
  cat >zsh/.zshrc <<'ZSH'
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
  local -a got
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -O got "$@"
    print -rl -- $got >>offers
  fi
  builtin compadd "$@"
}
PROMPT=ready
ZSH
  ZDOTDIR=$TMPDIR/zsh zsh -f -c '
    zmodload zsh/zpty
    zpty shell "ZDOTDIR=$ZDOTDIR zsh -i"
    while zpty -r shell line "*ready*"; do break; done
    zpty -w -n shell "$1"$'"'\\t'"'
    size=0 same=0
    for i in {1..150}; do
      sleep 0.2
      before=$size size=$(wc -c <offers 2>/dev/null)
      [[ $size -gt 0 && $size == $before ]] && same=$((same + 1)) || same=0
      [[ $same == 3 ]] && break
    done
    zpty -d shell' zsh "$1"
  cat offers
}
try_shell() {
  shell=$1
  offers "$shell" "oatgp " fit predict certify
  offers "$shell" "oatgp pre" predict '!fit'
  offers "$shell" "oatgp fit train.csv --approx " vfe full pep
  offers "$shell" "oatgp fit train.csv --target " crim rm medv
  offers "$shell" "oatgp plot " calibration knots
  offers "$shell" "oatgp predict m.oatgp train.csv --mean" --mean-only '!--mean'
}
try_shell bash
offers bash "oatgp cv --select oat-" oat-gain oat-bo '!fixed'
offers bash "oatgp fit train.csv --inputs crim," crim,rm
printf 'y z,`touch${IFS}ran`,$(touch ran)\n1,2,3\n' >hostile.csv
offers bash "oatgp fit hostile.csv --target " 'y\ z'
if [ -e ran ]; then miss "bash: a header is run as a command"; else pass "bash: a header is not run"; fi
offers bash "oatgp fit --no" --no-scale --noise-variance
offers bash "oatgp help " fit update
offers bash "oatgp help --completion f" fish
offers bash "oatgp fit --max-iter " '!vfe'
for shell in zsh fish; do
  if ! command -v $shell >/dev/null 2>&1; then
    echo "skipped: the completion of $shell: it is not here"
  elif [ $shell = zsh ] && ! zsh -f -c 'zmodload zsh/zpty && zpty shell true' 2>/dev/null; then
    echo "skipped: the completion of zsh: it needs a pseudo terminal, and there is none"
  else
    try_shell $shell
  fi
done
for verb in $verbs; do
  complete_in_bash "oatgp $verb --" >offered
  all_in offered "bash: the options of $verb"
done
[ "$failures" -eq 0 ]
