#!/bin/sh
# seeds.sh BUILD OUT: writes small inputs to begin with into OUT/TARGET, one folder for each fuzz target of the build folder.
# The first byte of an input (all targets but fuzz_model) says how it is read.
set -eu
build=$1
out=$2
for target in text npy model checkpoint config expression; do
  mkdir -p "$out/$target"
done
number=0

# seed TARGET TEXT: printf's text, with \ooo for any byte
seed() {
  number=$((number + 1))
  # shellcheck disable=SC2059
  printf "$2" >"$out/$1/$number"
}

# ---- text: the first byte's bits are header, no header, drop, target y, target 1, inputs a,b, threads, gzip
seed text '\000a,b,y\n1,2,3\n4,5,6\n7,8,10\n'
seed text '\050a,b,y\n1,2,3\n4,5,6\n7,8,10\n'
seed text '\0021\t2\t3\n4\t5\t6\n'
seed text '\022 1 , 2 , 3\r\n4,5,6\r\n'
seed text '\004a,y\n1,NA\n,2\n3,nan\n4,5\n'
seed text '\010"a ""x""","y"\n"1",2\n3,"4"\n'
seed text '\000\357\273\277a;b\n1,5;2\n'
seed text '\200a,b,y\n1e-5,+2.5E3,-.5\n0x10,inf,1e400\n'
seed text '\310a,b,y\n1,2,3\n4,5,6\n7,8,10\n'
seed text '\000# note\n\n1 2 3\n4 5 6\n'
seed text '\000# nDEBIAN_FRONTEND6\n' # found: an empty part had no memory, to which 0 was added
seed text '\000\037\213\010\000\000\000\000\000\000\003'
seed text '\000d,y\n2024-01-31,1\n2024-02-29T12:30:00Z,2\n'
seed text '\000n,y\n123456789012345678901234567890,1\n0.1234567890123456789012345678901234567890e-300,2\n'

# ---- .npy: versions, types, orders
header() { # TYPE ORDER SHAPE, padded to 118 bytes
  printf "%-117s\\n" "{'descr': '$1', 'fortran_order': $2, 'shape': ($3), }"
}
npy() { # BYTES-OF-VERSION-AND-LENGTH TYPE ORDER SHAPE VALUES
  number=$((number + 1))
  {
    # shellcheck disable=SC2059
    printf "\\000\\223NUMPY$1"
    header "$2" "$3" "$4"
    # shellcheck disable=SC2059
    printf "$5"
  } >"$out/npy/$number"
}
one='\000\000\000\000\000\000\360\077'
npy '\001\000v\000' '<f8' False '2, 2' "$one$one$one$one"
npy '\001\000v\000' '<f8' True '2, 2' "$one$one$one$one"
npy '\002\000v\000\000\000' '<f4' False '2, 2' '\000\000\200\077\000\000\200\077\000\000\200\077\000\000\200\077'
npy '\003\000v\000\000\000' '>i4' False '2, 1' '\000\000\000\001\000\000\000\002'
npy '\001\000v\000' '|b1' False '3,' '\001\000\001'
npy '\001\000v\000' '<i8' False '1, 2' "$one$one"
npy '\001\000v\000' '|u1' True '2, 3' '123456'
npy '\001\000v\000' '<f2' False '2, 2' '12345678'
npy '\001\000v\000' '>f8' False '0, 2' ''
npy '\001\000v\000' '<f8' False '9999999999, 99999999' "$one"

# ---- config
seed config '\000knots = 40\nkernel = rq-ard # comment\n\n# line\nmax-iter = 7\n'
seed config '\001preset = paper\nlengthscale = 1,2\n'
seed config '\002folds = 3\nthreads=2\nscale = no\n'
seed config '\000memory = 1G\nseed = 9007199254740991\ntol_knot = 1e-3\n'
seed config '\000kernle = se\n'
seed config '\000= 3\nno equals\n'

# ---- expressions: the first byte says how many inputs there are, and, by its highest bit, that some are categories
seed expression '\004periodic(x) * se(x) + linear("mean temperature")'
seed expression '\004(se(x) + linear(x))^2 * matern52("3", "a""b") + constant'
seed expression '\004polynomial(x, 3) + rq + cosine(x)^9 * categorical(x)'
seed expression '\204polynomial(x, 3) + rq * categorical("mean temperature") + linear'
seed expression '\000matern12*matern32()+((se(x)))'
seed expression '\002se(x) + se(gr\303\266\303\237e) + se(x'

# ---- models: by the command
data=$out/data.csv
{
  echo a,b,y
  i=0
  while [ $i -lt 12 ]; do
    i=$((i + 1))
    echo "$i,$((i * i % 7)),$((i * 5 % 11))"
  done
} >"$data"
fit() { # NAME OPTIONS...
  name=$1
  shift
  "$build/oatgp" fit "$data" --target y --quiet --max-iter 3 "$@" -o "$out/model/$name" >/dev/null
}
fit vfe --knots 2
fit fic --approx fic --knots 2 --kernel matern32
fit pep --approx pep --knots 3 --kernel rq-ard --mean linear
fit full --approx full --mean fit
fit full2 --approx full --kernel exponential
fit dic --approx dic --knots 2 --inputs a
fit grown --select oat-gain --knots 2 --max-knots 4
fit auto --max-knots 4
fit sum --knots 2 --kernel 'se(a) * (linear(b) + constant) + periodic(a)'

# ---- checkpoints: by their target
OATGP_FUZZ_SEEDS=$out/checkpoint "$build/tests/fuzz/fuzz_checkpoint" >/dev/null 2>&1
rm -f "$data"
