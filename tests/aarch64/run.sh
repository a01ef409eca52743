#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles weir for 64-bit ARM and runs its unit tests under qemu-user: run.sh FOLDER [options of ctest], as root with debootstrap.
# All of it happens in a Debian 12 that is made in FOLDER, with Debian's libraries for arm64; the machine itself stays as it is.
# Not a part of ./test: it compiles everything once more. A second run goes on in the same FOLDER.
set -euo pipefail

# Of tests: those of one process, or of few. Not net and core: qemu-user does not
# pass on what the kernel tells of sockets, nor all that happens to processes that end.
folders=(tests/{base,heap,ir,algorithms,topology,device,exec})
# Nor what it tells of processes; it neither limits memory nor keeps it from a forked process, nor reads another one's.
left_out=ProcessId.OfOneThatStopsAndEnds:SharedHeapTest.AProcessThatOnlyTheKernelHasForkedHasNoHeap
left_out+=:SharedMemory.AddressSpaceLimitIsExplained:ShmCollectives.CopiesWhatCannotBeRead

fail() {
  echo "run.sh: $1" >&2
  exit 1
}

[[ $# -ge 1 ]] || fail "expected a folder, and options of ctest"
[[ "$(id -u)" -eq 0 ]] || fail "expected root, for debootstrap and chroot"
command -v debootstrap >/dev/null || fail "no debootstrap; apt-get install debootstrap"
mkdir -p "$1"
system="$(cd "$1" && pwd)"
sources="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
shift

if [[ -z "${WEIR_AARCH64_MOUNTED:-}" ]]; then
  [[ -x "$system/usr/bin/apt-get" ]] || debootstrap --variant=minbase bookworm "$system"
  WEIR_AARCH64_MOUNTED=1 exec unshare --mount --pid --fork "${BASH_SOURCE[0]}" "$system" "$@"
fi
unset WEIR_AARCH64_MOUNTED  # tests look at variables of this name

mkdir -p "$system/weir"
mount --rbind /dev "$system/dev"
mount -t proc proc "$system/proc"
mount --bind "$sources" "$system/weir"
inside=(chroot "$system" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)

# Tools are this machine's, libraries the other one's.
mapfile -t packages < <(awk '/^(build|trainer|test) / { print $2 ($2 ~ /^lib/ ? ":arm64" : "") }' "$sources/cmake/packages.txt")
"${inside[@]}" dpkg --add-architecture arm64
"${inside[@]}" apt-get -q update
"${inside[@]}" apt-get -q install -y --no-install-recommends g++-aarch64-linux-gnu qemu-user-static "${packages[@]}"

"${inside[@]}" cmake -G Ninja -S /weir -B /build --toolchain /weir/tests/aarch64/toolchain.cmake -DCMAKE_BUILD_TYPE=Release
"${inside[@]}" cmake --build /build --target weir nccl rccl all_reduce_perf "${folders[@]/%//all}"
labels="$(IFS='|' && echo "${folders[*]#tests/}")"
# A test in Python would have to start programs by the emulator.
"${inside[@]}" GTEST_FILTER="-$left_out" ctest --test-dir /build -j "$(nproc)" --output-on-failure -L "^($labels)$" -E heap.preload "$@"
