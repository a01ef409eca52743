# SPDX-License-Identifier: Apache-2.0
# The steps themselves. Sourced by accept.sh; uses build, out, here, vendor and fake.
# shellcheck shell=bash disable=SC2154

bin="$build/bin" tests="$build/tests" library="$build/lib/libnccl.so.2"
# Programs that were packed bring what the machine may lack; Python must not see that.
needed="$build/lib/needed"
python=(python3 -B)
# The runtime and cuBLAS are where CUDA is installed, or in packages of Python that PyTorch needs.
cuda_libraries() {
  local folder
  for folder in /usr/local/cuda/lib64 "$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)"/*/lib; do
    [[ -d "$folder" ]] && printf ':%s' "$folder"
  done
}
paths="$build/lib:$needed"
[[ "$fake" == 0 && "$vendor" == cuda ]] && paths+="$(cuda_libraries)"
# Ranks of one process wait for each other's kernels, so each of their streams needs a hardware queue.
export CUDA_DEVICE_MAX_CONNECTIONS="${CUDA_DEVICE_MAX_CONNECTIONS:-32}"
iterations=20 checked=16M middle=64M largest=256M torch_options=(--backend nccl --device cuda)
if [[ "$fake" == 1 ]]; then
  paths="$tests/fake_$vendor:$paths"
  export WEIR_FAKE_GPUS=1 WEIR_CALIBRATION=0
  iterations=2 checked=8K middle=16K largest=64K torch_options=(--backend gloo --device cpu)
  python=("$(python3 -c 'import torch' 2>/dev/null && echo python3 || echo /usr/bin/python3)" -B)
fi

# Runs one of weir's programs.
ours() { LD_LIBRARY_PATH="$paths${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
export -f ours
export paths

absent() { # name of a step, path of its program
  skip "$1" "${2##*/} is not $([[ -n "$packed" ]] && echo in the pack || echo built)"
}

# program NAME SECONDS PROGRAM OPTIONS...: a step, skipped where the program is not built.
program() {
  local name="$1" limit="$2" path="$3"
  shift 3
  [[ -x "$path" ]] || { absent "$name" "$path"; return 0; }
  step "$name" "$limit" bash -c 'ours "$@"' - "$path" "$@"
}

# A googletest program. One of which every test was skipped says why in its first skipped test. What it printed before
# it was stopped is in the log.
gtests() {
  local text code file
  file="$(mktemp)"
  ours "$@" 2>&1 | tee "$file"
  code="${PIPESTATUS[0]}"
  text="$(cat "$file")"
  rm -f "$file"
  if [[ "$text" == *'[  PASSED  ] 0 tests.'* ]]; then
    grep -A1 -m1 ': Skipped' <<<"$text" | tail -n 1
    return 77
  fi
  # Ranks that are processes say so of themselves before.
  if [[ "$code" == 0 ]]; then grep -E '^\[  PASSED  \]' <<<"$text" | tail -n 1; else grep -m1 -E '^\[  FAILED  \]' <<<"$text"; fi | tr -s ' '
  return "$code"
}
# The same with each test in a process of its own, of at most 20 s: one that hangs does not hide the others.
gtests_alone() {
  local tests test bad=() count=0
  mapfile -t tests < <(ours "$1" --gtest_list_tests | awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }')
  for test in "${tests[@]}"; do
    count=$((count + 1))
    # In the foreground: in the process group that the end of the step ends.
    ours timeout --foreground -k 2 20 "$1" --gtest_color=no --gtest_filter="$test" || bad+=("$test ($?)")
  done
  if [[ "${#bad[@]}" -gt 0 ]]; then echo "${#bad[@]} of $count failed: ${bad[*]}"; return 1; fi
  echo "all $count passed, each in a process of its own"
}
export -f gtests gtests_alone
suite() { # name, seconds, program
  [[ -x "$3" ]] || { absent "$1" "$3"; return 0; }
  step "$1" "$2" bash -c 'gtests "$@"' - "${@:3}" --gtest_color=no
}

# A row of a table for each size; JSON beside the log.
perf() { # name, seconds, program, options
  local name="$1" limit="$2" path="$bin/$3_perf"
  rm -f "$out/$name".json*
  program "$name" "$limit" "$path" --device "$vendor" -T "$limit" -J "$out/$name.json" "${@:4}"
}

torch() { # name, seconds, script, ranks
  step "$1" "$2" env ${preload:+LD_PRELOAD="$preload"} ACCEPT_LIBRARY="$library" "${python[@]}" "$here/$3.py" --ranks "$4" "${torch_options[@]}"
}

# The machine first: it is worth having even if nothing else works.
rm -rf "$out/machine"
program topo.record 30 "$bin/weir" topo --record "$out/machine" --why
program topo.replay 20 "$bin/weir" topo --replay "$out/machine"
# All that follows says nothing about a GPU if the driver is a stand-in.
step driver 20 bash -c 'ours "$@"' - "${python[@]}" "$here/driver.py" "$vendor" "$fake"

if [[ "$fake" == 1 ]]; then # the stand-in's kernels are the host's
  export WEIR_FAKE_GPU_KERNELS="$build/lib/libweir_host_kernels.so"
fi
suite unit.device 60 "$tests/gpu_${vendor}_device_test"

# In order of what is worth most if time runs out: something of everything first.
if [[ "$fake" == 1 ]]; then skip latencies "a stand-in's latencies say nothing about a GPU"; else program latencies 30 "$build/bench/gpu_latencies"; fi
perf all_reduce.threads.2 40 all_reduce -g 2 -b 8 -e "$checked" -f 8 -n "$iterations" --limit
perf all_reduce.processes.2 40 all_reduce --ranks 2 -b 8 -e "$checked" -f 8 -n "$iterations" --limit

preload="$library"
[[ "$fake" == 1 ]] && preload=''
torch torch.collectives.2 60 torch_collectives 2
torch torch.train.2 45 torch_train 2
torch torch.life.2 60 torch_life 2
torch torch.graph.2 40 torch_graph 2
step cupy.nccl 40 env ${preload:+LD_PRELOAD="$preload"} "${python[@]}" "$here/cupy_nccl.py"
# Processes of one GPU take stream operations by themselves; kernels are what processes with a GPU each take.
WEIR_GPU_PATH=kernel torch torch.kernels.2 60 torch_train 2

for path in "$tests"/conform_"$vendor"* "$tests"/gpu_"$vendor"_conform*; do
  [[ -x "$path" && ! -d "$path" ]] || continue
  if [[ "$fake" == 1 ]]; then
    suite "conform.${path##*/}" 90 "$path"
  else
    step "conform.${path##*/}" 150 bash -c 'gtests_alone "$@"' - "$path"
  fi
done

# The trainer: as on the CPU, with 1, 2 and 4 ranks on the GPU.
if [[ "$vendor" == cuda && -x "$bin/weir-train" ]]; then
  folder=()
  [[ "$fake" == 1 ]] && folder=("$tests/fake_cuda")
  step train 90 bash -c 'ours "$@"' - "${python[@]}" "$here/train.py" "$bin/weir-train" "${folder[@]}"
else
  skip train "weir-train is for NVIDIA's GPUs, and not built everywhere"
fi

for ranks in 1 4 8; do
  perf "all_reduce.threads.$ranks" 40 all_reduce -g "$ranks" -b 8 -e "$checked" -f 8 -n "$iterations" --limit
done
# Larger ones are timed alone: what is right is computed on the host, which takes longer than all else.
perf all_reduce.large.4 40 all_reduce -g 4 -b "$largest" -e "$largest" -n "$iterations" -c 0 --limit
perf all_reduce.graph.4 40 all_reduce -g 4 -b 8 -e 4K -f 8 -n "$iterations" -G 10
for ranks in 4 8; do
  perf "all_reduce.processes.$ranks" 40 all_reduce --ranks "$ranks" -b 8 -e "$checked" -f 8 -n "$iterations" --limit
done
for ranks in 2 4 8; do
  perf "all_reduce.middle.threads.$ranks" 20 all_reduce -g "$ranks" -b "$middle" -e "$middle" -n "$iterations" -c 0
  perf "all_reduce.middle.processes.$ranks" 30 all_reduce --ranks "$ranks" -b "$middle" -e "$middle" -n "$iterations" -c 0
done
for name in all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv; do
  perf "$name.threads.4" 20 "$name" -g 4 -b 1K -e "$checked" -f 64 -n "$iterations"
done
perf hypercube.threads.4 20 hypercube -t 4 -b 1K -e "$checked" -f 64 -n "$iterations"
perf all_gather.processes.2 20 all_gather --ranks 2 -b 1K -e "$checked" -f 64 -n "$iterations"
perf sendrecv.processes.2 20 sendrecv --ranks 2 -b 1K -e "$checked" -f 64 -n "$iterations"
# Two processes that take themselves for hosts: kernels, proxies and tcp. The GPU runs them in turns, so it is slow.
program all_reduce.hosts.2 60 "$(command -v env)" WEIR_GPU_PATH=kernel "$bin/weir" run -n 2 --nodes 2 --plain -- \
  "$bin/all_reduce_perf" --device "$vendor" -b 8 -e "$checked" -f 64 -n 2 -w 1 -T 60
rm -f "$out/ring.json"
ring_options=(--ranks 2,4,8 --to "$largest")
[[ "$fake" == 1 ]] && ring_options=(--ranks 2 --from 4096 --to "$middle" --kernels "$tests/fake_cuda/libfake_gpu_image.so"
  --by-hand "$tests/fake_cuda/libfake_ring_image.so" --rounds 1)
program ring.by_hand 60 "$build/bench/gpu_ring" --device "$vendor" --json "$out/ring.json" "${ring_options[@]}"
step speed 10 "${python[@]}" "$here/speed.py" "$out" "$fake"

torch torch.collectives.4 60 torch_collectives 4
torch torch.train.4 45 torch_train 4
torch torch.sharded.2 45 torch_sharded 2
torch torch.life.4 60 torch_life 4

if [[ "$fake" == 1 ]]; then
  skip sanitizer.kernels 'kernels of the stand-in are host code'
elif ! command -v compute-sanitizer >/dev/null; then
  skip sanitizer.kernels 'compute-sanitizer is not installed'
else
  for tool in memcheck racecheck; do
    program "sanitizer.$tool" 60 "$(command -v compute-sanitizer)" --tool "$tool" --error-exitcode 9 \
      "$tests/gpu_${vendor}_device_test" --gtest_brief=1 --gtest_filter='EveryCollective.HasTheHostsBits'
  done
fi
