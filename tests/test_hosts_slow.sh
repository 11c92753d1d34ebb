#!/bin/sh
# Two hosts, which are network namespaces with a cable between them and a name of their own: mpirun has a rank on each. One host is killed in
# the middle of a fit; the fit goes on from its checkpoint, with the bits of one that was left alone. $OATGP is the command, $TMPDIR an empty
# folder.
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
skip() {
  echo "skipped: $1"
  exit 77
}
for tool in mpirun python3 ip unshare timeout; do
  command -v "$tool" >/dev/null 2>&1 || skip "there is no $tool"
done
[ -f "$(dirname "$OATGP")/liboatgp_mpi.so" ] || skip "oatgp was built without MPI"
ldd "$OATGP" 2>/dev/null | grep -q 'lib.san' && skip "MPI leaks what a sanitizer would tell of"
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"

# ---- two hosts ---------------------------------------------------------------------------------------------------------------

one=oat$$a two=oat$$b
clear_up() {
  ip netns del "$one" 2>/dev/null
  ip netns del "$two" 2>/dev/null
}
trap clear_up EXIT
trap 'exit 1' INT TERM HUP
ip netns add "$one" 2>/dev/null && ip netns add "$two" 2>/dev/null || skip "network namespaces cannot be made"
ip link add cable netns "$one" type veth peer name cable netns "$two" 2>/dev/null || skip "there is no veth"
number=0
for host in "$one" "$two"; do
  number=$((number + 1))
  ip -n "$host" addr add "10.87.31.$number/24" dev cable
  ip -n "$host" link set cable up
  ip -n "$host" link set lo up
done
# on HOST COMMAND..: there, under a name of its own
on() {
  where=$1
  shift
  ip netns exec "$where" unshare -u sh -c 'hostname "$0" && exec "$@"' "$where" "$@"
}
# What mpirun starts its daemon on another host with, instead of ssh. As ssh does, it takes a while to see that the host is gone.
cat >agent <<END
#!/bin/sh
shift
ip netns exec "$two" unshare -u sh -c 'hostname "\$0" && eval "\$*"' "$two" "\$@" || sleep 5
END
chmod +x agent
# hosts COUNT ARGUMENTS..: so many ranks on each host; ends by itself
hosts() {
  each=$1
  shift
  on "$one" env OMPI_MCA_mpi_yield_when_idle=1 timeout 300 mpirun --allow-run-as-root --oversubscribe --bind-to none \
    --mca plm_rsh_agent "$PWD/agent" --mca oob_tcp_if_include cable --mca btl tcp,self --mca btl_tcp_if_include cable \
    --host "10.87.31.1:$each,10.87.31.2:$each" -n $((2 * each)) "$OATGP" "$@"
}
results() { grep -v '"seconds\|"model\|"output\|"command\|"settings\|"threads\|"memory' | sed 's/"seconds[^,]*,//g'; }

# ---- a fit that is left alone ------------------------------------------------------------------------------------------------

python3 "$PROJECT_DIR/tests/large_rows.py" 70000 .
# Long enough to be killed in the middle, on a fast machine, too.
for evaluations in 60 120 240 480 960; do
  fit="--target 5 --approx vfe --knots random:60 --select simultaneous --max-eval $evaluations --obj-tol 0 --grad-tol 0 --threads 1"
  started=$(date +%s)
  # shellcheck disable=SC2086
  "$OATGP" fit a.npy $fit -o alone.oatgp --json --quiet | results >alone
  if [ $(($(date +%s) - started)) -ge 6 ]; then break; fi
done
# shellcheck disable=SC2086
hosts 1 fit a.npy $fit -o hosts.oatgp --json --quiet 2>err | results >both
check "two hosts have the bits of one process" cmp -s alone both

# ---- a rank that dies, and a host that does ------------------------------------------------------------------------------------

steps() { sed -n '/"event":"step"/p' trace 2>/dev/null | wc -l; }
# of_host HOST PATTERN: the processes there whose command is like that
of_host() {
  for process in $(ip netns pids "$1"); do
    if tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | grep -q "$2"; then echo "$process"; fi
  done
}
# dies WHAT PATTERN: these are killed in the middle of a fit
dies() {
  what=$1
  rm -f trace half dead.oatgp
  # shellcheck disable=SC2086
  hosts 1 fit a.npy $fit --checkpoint half --checkpoint-seconds 0 --trace trace -o dead.oatgp --json --quiet >out 2>err &
  launcher=$!
  while [ "$(steps)" -lt 8 ] && kill -0 "$launcher" 2>/dev/null; do sleep 0.1; done
  victims=$(of_host "$two" "$2")
  check "$what: there is one" test -n "$victims"
  # shellcheck disable=SC2086
  kill -s KILL $victims
  wait "$launcher"
  code=$?
  echo "        exit code $code after $(steps) steps; what was said:"
  grep -v '^ *$\|^---' err | sed 's/^/        /'
  check "$what that dies ends the run with a failure" test "$code" -ne 0 -a "$code" -ne 124
  check "$what: a sentence names its host" grep -q "$two\|10.87.31.2" err
  check "$what: there is no model" test ! -e dead.oatgp
  check "$what: but a checkpoint" test -s half
  check "$what: no rank is left at work" test -z "$(of_host "$one" "^$OATGP fit")$(of_host "$two" "^$OATGP fit")"
}
dies "a rank" "^$OATGP fit"
check "a rank: the exit code is that of the signal" test "$code" -eq 137
dies "a host" .

# ---- and what becomes of its fit ---------------------------------------------------------------------------------------------

for each in 1 2; do
  # shellcheck disable=SC2086
  hosts "$each" fit a.npy $fit --resume half -o resumed.oatgp --json --quiet 2>err | results >resumed
  check "$each ranks on each of both hosts go on to the same bits" cmp -s alone resumed
done
# shellcheck disable=SC2086
"$OATGP" fit a.npy $fit --resume half -o resumed.oatgp --json --quiet 2>err | results >resumed
check "and so does one process" cmp -s alone resumed

# ---- more ranks than can share ------------------------------------------------------------------------------------------------

OMPI_MCA_mpi_yield_when_idle=1 timeout 300 mpirun --allow-run-as-root --oversubscribe --bind-to none -n 65 \
  "$OATGP" objective part-0.npy --target 5 --threads 1 >out 2>err
check "65 ranks are refused" test $? -eq 2
check "with a sentence" grep -q '65 ranks are too many: at most 64 can share the rows' err
exit $((failures > 0))
