#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the CUDA tier on a GPU, where neither Bazel nor a network is needed:
#
#   tools/gpu_check.sh pack DIR            builds what the check runs, into DIR
#   tools/gpu_check.sh run DIR OUT [LIMIT]
#                                          runs it; OUT/gpu_check.json and
#                                          OUT/gpu_check.md are the results
#
# LIMIT (300) is of the seconds of a step, of which the fuzzer takes half. Every
# step ends as "pass", "fail" or "not run" with the reason; without a GPU each
# is "not run". The exit status is 0 if all that ran passed and something did, 1
# after a failure, 3 if there was nothing to run on.
set -u

readonly PROGRAMS="ocannl moons moons_parallel lenet cifar_conv gpt2_mini bench_programs"

pack() {
  local dir=$1
  ./bazelw build //ocannl //experiments/bench:bench_main \
    //experiments:{moons,moons_parallel,lenet,cifar_conv,gpt2_mini,bench_programs} || exit 1
  rm -rf "$dir" && mkdir -p "$dir/agree" "$dir/bench" || exit 1
  strip -o "$dir/ocannl" bazel-bin/ocannl/cli/tool_main || exit 1
  local name
  for name in $PROGRAMS; do
    [ "$name" = ocannl ] && continue
    strip -o "$dir/$name" "bazel-bin/experiments/$name" || exit 1
  done
  # Libraries that a bare machine need not have.
  mkdir "$dir/lib" || exit 1
  for name in "$dir"/*; do
    [ -f "$name" ] && ldd "$name" | sed -n 's/.* => \(.*lib\(zip\|bz2\)\.so[^ ]*\).*/\1/p'
  done | sort -u | xargs -r cp -Lt "$dir/lib" || exit 1
  cp tests/agree/programs/*.ll "$dir/agree"
  bazel-bin/experiments/bench/bench_main --dump="$dir/bench" \
    --filter=gemm/1024,gemm/2048,gemm/128x128,gemm/1000x,gemm/16x1000,map/,reduce/,rows/,moons/kernel,mlp/wide,net/ ||
    exit 1
  # Sizes that fill a GPU.
  local n
  for n in 4096 8192; do
    sed "s/2048/$n/g; s/2047/$((n - 1))/g" "$dir/bench/gemm_2048x2048x2048.ll" \
      >"$dir/bench/gemm_${n}x${n}x${n}.ll"
  done
  for name in softmax layer_norm; do
    sed 's/^\(  for .* to\) 31 {/\1 16383 {/; s/\[32, /[16384, /' \
      "$dir/bench/rows_$name-32x4096.ll" >"$dir/bench/rows_$name-16384x4096.ll"
  done
  # Long sums with few results: of all cells, of columns, and gradients of the
  # weights of convolutions.
  split sum_2p26 'x ++ "i=>0"' --in=x=range:67108864
  split columns_2p20x64 'x ++ "i,j=>j"' --in=x=range:1048576,64
  split bias_50176x6 'x ++ "i,j=>j"' --in=x=range:50176,6
  split weights_lenet 'x +* "n,h<+a,w<+b;n,h,w,o=>o,a,b" g' \
    --in=x=range:64,32,32 --in=g=range:64,28,28,6
  split weights_cifar 'x +* "n,h<+a,w<+b,i;n,h,w,o=>o,a,b,i" g' \
    --in=x=range:64,34,34,32 --in=g=range:64,32,32,32
  split row_1000x1000 'w * x' '--in=w=range:1000->1000' --in=x=range:1000
  git rev-parse HEAD >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
  cp tools/gpu_torch.py experiments/bench/peers/torch_nets.py "$dir"
  cp "$0" "$dir/gpu_check.sh"
  du -sh "$dir"
}

# split NAME EXPRESSION INPUT...: the program of a sum, and of its kernels the
# forecast, which run puts beside the measured time.
split() {
  "$dir/ocannl" explain "${@:2}" --stage=ll >"$dir/bench/split_$1.ll" &&
    "$dir/ocannl" explain "$dir/bench/split_$1.ll" --target=sm_90 --stage=launches \
      >"$dir/bench/split_$1.launches" || exit 1
}

# A text as a string of JSON.
quoted() {
  printf '"%s"' "$(printf %s "$1" | tr -d '\000-\011\013-\037' |
    sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')"
}

steps=()
passed=0
failed=0

# step NAME STATUS SECONDS DETAIL
step() {
  steps+=("{\"step\": $(quoted "$1"), \"status\": \"$2\", \"seconds\": $3, \"detail\": $(quoted "$4")}")
  printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" \
    "$(printf %s "$4" | tail -n 1 | tr '|' '/' | cut -c 1-100)" >>"$out/gpu_check.md"
  printf '%-24s %-8s %5s s  %s\n' "$1" "$2" "$3" "$(printf %s "$4" | tail -n 1)"
  case $2 in pass) passed=$((passed + 1)) ;; fail) failed=$((failed + 1)) ;; esac
}

# try NAME COMMAND...: a step that passes if the command does. Its last lines
# are the detail.
try() {
  local name=$1 start=$SECONDS status=pass
  shift
  if [ -n "$no_device" ]; then
    step "$name" "not run" 0 "$no_device"
    return
  fi
  # A shell of its own, as `timeout` knows nothing of functions.
  timeout "$limit" bash -c '"$@"' - "$@" >"$out/$name.log" 2>&1 || status=fail
  step "$name" $status $((SECONDS - start)) "$(tail -n 5 "$out/$name.log")"
}

# each COMMAND FILE...: runs it for each file, as many at once as there are
# processors, and prints what it said of those that fail.
each() {
  local failures
  failures=$(printf '%s\n' "${@:2}" |
    xargs -P "$(nproc)" -I{} bash -c '
      log="$out/$(basename "$2").$1.log"
      if $1 "$2" >"$log" 2>&1; then rm "$log"; else echo "$log"; fi' - "$1" {})
  [ -z "$failures" ] || { xargs tail -n 20 <<<"$failures"; }
  echo "$(($# - 1)) programs, $(printf %s "$failures" | grep -c '') fail"
  [ -z "$failures" ]
}

# Every program of the agree suite, as it is and as scheduled.
agree_one() {
  "$dir/ocannl" fuzz "$1" --programs=3 --tiers=cuda-as-is,cuda --out="$out"
}
agree() {
  each agree_one "$dir"/agree/*.ll
}

# Random programs, in as many processes as there are processors.
fuzz_one() {
  "$dir/ocannl" fuzz --programs=1000000 --seconds=$((limit / 2)) \
    --seed="$1" --tiers=cuda-as-is,cuda --out="$out" | tee "$out/fuzz-$1.txt"
  return "${PIPESTATUS[0]}"
}
fuzz() {
  local seeds
  seeds=$(seq 1000000 1000000 "$(nproc)000000")
  each fuzz_one $seeds || return 1
  sed -n 's/^seed.*, \([0-9]*\) programs.*/\1/p
          s/^ *cuda: .* not run on \([0-9]*\) .*/-\1/p' "$out"/fuzz-*.txt |
    awk '{ n += $1 } END { print n " programs agree" }'
}

# The tools of compute-sanitizer over the programs with blocks of threads. The
# fuzzer runs each in a child, which the tools follow: of one they say what they
# have found, if nothing.
memcheck() { sanitize_one memcheck "$1"; }
racecheck() { sanitize_one racecheck "$1"; }
synccheck() { sanitize_one synccheck "$1"; }
sanitize_one() {
  set -o pipefail
  compute-sanitizer --tool "$1" --target-processes all --error-exitcode 9 \
    "$dir/ocannl" fuzz "$2" --programs=1 --tiers=cuda-as-is,cuda --out="$out" 2>&1 |
    tee "$out/$1-$(basename "$2").txt" && grep -q "SUMMARY: 0 " "$out/$1-$(basename "$2").txt"
}

# The bits of a training: on the host, and on the GPU twice.
hash_of() {
  sed -n 's/^RESULT //p' | tee -a "$out/trainings.jsonl" |
    sed -n 's/.*"params_hash": *"\([^"]*\)".*/\1/p'
}
training() {
  local name=$1 expected hash run
  shift
  expected=$("$dir/$name" "$@" --tier=x86 | hash_of)
  [ -n "$expected" ] || { echo "no hash on x86"; return 1; }
  for run in 1 2; do
    hash=$("$dir/$name" "$@" --tier=cuda --tier_report 2>"$out/$name.report" | hash_of)
    [ -n "$hash" ] || cat "$out/$name.report"
    [ "$hash" = "$expected" ] || { echo "run $run: $hash, and x86 gives $expected"; return 1; }
  done
  cat "$out/$name.report"
  echo "$expected twice, as x86"
}

bench() {
  set -o pipefail
  "$dir/bench_programs" --tier=cuda "$dir"/bench/*.ll | tee "$out/bench.jsonl" &&
    ! grep -q '"error"' "$out/bench.jsonl"
}

# The same beside it by PyTorch.
torch() {
  python3 "$dir/gpu_torch.py" "$dir" "$out/torch.jsonl"
}

# The lines of bench.jsonl and torch.jsonl as a table.
number() {
  sed -n "s/.*\"program\": *\"$2\".*\"$3\": *\([0-9.e+-]*\).*/\1/p" "$out/$1.jsonl" 2>/dev/null
}
speeds() {
  printf '\n| program | ms | of a copy | of cuBLAS | torch ms |\n|---|---|---|---|---|\n'
  sed -n 's/.*"program": *"\([^"]*\)".*"ms".*/\1/p' "$out/bench.jsonl" 2>/dev/null |
    while read -r program; do
      printf '| %s | %.4g | %.3g | %s | %s |\n' "$program" \
        "$(number bench "$program" ms)" "$(number bench "$program" of_copy)" \
        "$(number bench "$program" of_cublas | cut -c 1-5)" \
        "$(number torch "$program" torch_ms | cut -c 1-7)"
    done
}

# What the tables of `explain --stage=launches` say of the same programs.
forecasts() {
  local file program
  for file in "$dir"/bench/*.launches; do
    [ -f "$file" ] || continue
    program=$(basename "$file" .launches)
    printf '\n%s: %s ms measured; forecast:\n\n' "$program" "$(number bench "$program" ms)"
    sed 's/^/    /' "$file"
  done
}

run() {
  export dir=$1 out=$2
  export limit=${3:-300}
  export -f each agree_one agree fuzz_one fuzz sanitize_one memcheck racecheck \
    synccheck hash_of training bench torch
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$dir/lib
  mkdir -p "$out" || exit 1
  rm -f "$out"/*.jsonl
  no_device=
  local device
  if ! device=$("$dir/ocannl" eval '1 + 1' --tier=cuda --tier_report 2>&1); then
    no_device="no device"
  fi
  printf '| step | status | s | |\n|---|---|---|---|\n' >"$out/gpu_check.md"
  if [ -n "$no_device" ]; then
    step "device" "not run" 0 "$device"
  else
    step "device" "pass" 0 "$device"
  fi
  try "agree" agree
  try "fuzz" fuzz
  local tool
  for tool in memcheck racecheck synccheck; do
    if [ -z "$no_device" ] && ! command -v compute-sanitizer >/dev/null; then
      step "$tool" "not run" 0 "there is no compute-sanitizer"
    else
      try "$tool" each $tool "$dir"/agree/gpu_*.ll
    fi
  done
  try "moons" training moons
  try "streams" training moons_parallel --devices=4 --epochs=10
  try "lenet" training lenet --epochs=1 --examples=500
  try "cifar_conv" training cifar_conv --epochs=1 --examples=200
  try "gpt2_mini" training gpt2_mini --epochs=1 --examples=64
  try "bench" bench
  if [ -z "$no_device" ] && ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    step "torch" "not run" 0 "there is no PyTorch that has the GPU"
  else
    try "torch" torch
  fi
  {
    printf '{"commit": %s, "device": %s, "steps": [\n' "$(quoted "$(cat "$dir/commit")")" \
      "$(quoted "$device")"
    local k
    for k in "${!steps[@]}"; do
      printf '  %s%s\n' "${steps[k]}" "$([ "$k" -lt $((${#steps[@]} - 1)) ] && echo ,)"
    done
    local part
    for part in trainings bench torch; do
      printf '], "%s": [\n' $part
      [ -f "$out/$part.jsonl" ] && sed '$!s/$/,/' "$out/$part.jsonl"
    done
    printf ']}\n'
  } >"$out/gpu_check.json"
  speeds >>"$out/gpu_check.md"
  forecasts >>"$out/gpu_check.md"
  echo "$passed pass, $failed fail; $out/gpu_check.json"
  if [ $failed -gt 0 ]; then exit 1; fi
  if [ $passed = 0 ]; then
    echo "not run"
    exit 3
  fi
}

case "${1:-}" in
  pack) [ $# = 2 ] && pack "$2" && exit ;;
  run) [ $# -ge 3 ] && run "${@:2}" && exit ;;
esac
sed -n 's/^#   //p' "$0" >&2
exit 2
