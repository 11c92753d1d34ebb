#!/bin/sh
# seeds.sh BUILD OUT: writes small inputs to begin with into OUT/TARGET, one folder for each fuzz target of the build folder.
# The first byte of an input, or the first two, say how it is read; a model has none. Inputs that a run found are among them, with
# what they showed.
set -eu
build=$1
out=$2
for target in text convert npy files model checkpoint config expression prior; do
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

# ---- convert: the first byte's bits are header, no header, drop, target y, target last, factors 1, threads, weights w; the second
# byte has the likelihood (0 to 7) and the bits trials n, exposure t, noise variance v
seed convert '\050\001c,x,y\nred,1,yes\nblue,2,no\nred,3,yes\n"light ""blue""",4,no\n'
seed convert '\014\000c,x,y\nred,1,2\n,2,3\nblue,NA,4\nred,5,inf\nblue,6,7\nred,1,2\n'
seed convert '\020\003x,grade\n1,low\n2,high\n3,middle\n4,low\n5,high\n6,middle\n'
seed convert '\020\003x,grade\n1,1\n2,3\n3,2\n4,10\n5,1\n'
seed convert '\010\017x,y,n\n1,2,3\n2,0,4\n3,4,4\n'
seed convert '\010\022x,y,t\n1,2,0.5\n2,0,1\n3,4,2.5\n'
seed convert '\210\040x,y,w,v\n1,2,1,0.1\n2,0,2,0.2\n3,4,1,0\n'
seed convert '\110\0041,0.2\n2,0.5\n3,0.9\n'
seed convert '\002\000a b 1\na c 2\nb c 3\na b 4\n'
seed convert '\000\000\357\273\277a;b\n1,5;2\n2,5;3\n'
seed convert '\040\000k\ty\n1\t2\n01\t3\n1.0\t4\n2\t5\n'

# ---- .npy: versions, types, orders
header() { # TYPE ORDER SHAPE, padded to 118 bytes
  printf "%-117s\\n" "{'descr': '$1', 'fortran_order': $2, 'shape': ($3), }"
}
array() { # BYTES-OF-VERSION-AND-LENGTH TYPE ORDER SHAPE VALUES: a file
  # shellcheck disable=SC2059
  printf "\\223NUMPY$1"
  header "$2" "$3" "$4"
  # shellcheck disable=SC2059
  printf "$5"
}
npy() { # as for array
  number=$((number + 1))
  {
    printf '\000'
    array "$@"
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

# ---- rows in files: the first byte's bits are target last, drop, weights 2, likelihood (2), the list ends with a line's end; the
# second byte is half the length of the first file, 0 if there is no other
two='\000\000\000\000\000\000\000\100'
half='\000\000\000\000\000\000\340\077'
six="$one$two$half$two$one$half"
files() { # FIRST-BYTES FILE...: the file, and its second one if it has one
  number=$((number + 1))
  # shellcheck disable=SC2059
  printf "$1" >"$out/files/$number"
  shift
  cat "$@" >>"$out/files/$number"
}
array '\001\000v\000' '<f8' False '3, 2' "$six" >"$out/c"
array '\001\000v\000' '<f8' True '3, 2' "$six" >"$out/f"
array '\001\000v\000' '<f4' False '3, 2' "$six" >"$out/s"
array '\001\000v\000' '<f8' False '0, 2' '' >"$out/e"
array '\001\000v\000' '<f8' False '2305843009213693952, 1' '' >"$out/o" # so many values that their bytes are 0
array '\001\000v\000' '>i4' False '3, 2' "$one$two$half" >"$out/i"
for how in '\001' '\002' '\005' '\011' '\021' '\101'; do
  files "$how\000" "$out/c"
  files "$how\130" "$out/c" "$out/f"
done
files '\001\000' "$out/f"
files '\001\000' "$out/s"
files '\001\000' "$out/i"
files '\001\000' "$out/o"
files '\001\130' "$out/f" "$out/e"
files '\001\100' "$out/e" "$out/c"
files '\001\130' "$out/c" "$out/o"
rm -f "$out/c" "$out/f" "$out/s" "$out/e" "$out/o" "$out/i"

# ---- priors: the first byte has the kernel (0 to 3), the likelihood (0 to 3), and whether tau stays
seed prior '\000tau ~ lognormal(-2, 1), lengthscale ~ gamma(2,4)'
seed prior '\001weak, shape ~ half-cauchy(1), sigma~normal(0.5,2)'
seed prior '\002se(x).lengthscale ~ inverse-gamma(3, 1e-3), "mean temperature" ~ uniform(0.1, 20)'
seed prior '\003none, tau ~ half-normal(1e300)'
seed prior '\012degrees ~ gamma(2, 0.1)'
seed prior '\020 tau ~ uniform( 1 , 2 ) ,, auto'
seed prior '\000lengthscale(x) ~ lognormal(0, 1), lengthscale("mean temperature") ~ lognormal(1, 1)'

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
fit near --approx fic --knots 2 --neighbours 3
fit near_only --approx full --neighbours 3 --mean linear
fit prior --knots 2 --prior 'tau ~ uniform(0.1, 5), weak'
{
  echo c,x,y,z
  i=0
  while [ $i -lt 12 ]; do
    i=$((i + 1))
    echo "level$((i % 3)),$i,$((i * 5 % 11)),class$((i % 2))"
  done
} >"$data"
fit categories --knots 3 --inputs c,x
fit categories_full --approx full --kernel 'categorical(c) * se(x) + constant' --inputs c,x
fit counts --knots 2 --likelihood poisson --inputs x
fit classes --knots 2 --target z --likelihood bernoulli-logit --inputs x
fit ordinal --approx full --likelihood ordinal --inputs x
fit student --knots 2 --likelihood student-t --inputs c,x

# ---- checkpoints: by their target
OATGP_FUZZ_SEEDS=$out/checkpoint "$build/tests/fuzz/fuzz_checkpoint" >/dev/null 2>&1
rm -f "$data"
