# SPDX-License-Identifier: Apache-2.0
# One file with programs, libraries and scripts, for a machine without compilers and packages. Sourced by accept.sh.
# shellcheck shell=bash disable=SC2154

most_bytes=$((64 << 20))
pack_list=files.sha256

# Libraries that a program loads and that a machine may lack: all but the C library's own.
needed_by() {
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so|/libnccl\.so|/fake_'
}

pack_to() { # file
  local folder file name size
  [[ -x "$build/bin/weir" ]] || "$here/build.sh" "$root" || return 1
  folder="$(mktemp -d)"
  mkdir -p "$folder/bin" "$folder/lib/needed" "$folder/tests" "$folder/gpu" "$folder/bench"
  for file in "$build"/bin/weir "$build"/bin/weir-train "$build"/bin/*_perf; do
    [[ -f "$file" ]] && install -s -m 755 "$file" "$folder/bin/"
  done
  for file in "$build"/bench/gpu_{ring,latencies}; do
    [[ -f "$file" ]] && install -s -m 755 "$file" "$folder/bench/"
  done
  install -s -m 755 "$(realpath "$build/lib/libnccl.so.2")" "$folder/lib/libnccl.so.2"
  for name in libweir_cuda.so libweir_train_cuda.so libweir_hip.so libweir_host_kernels.so libring_by_hand_cuda.so libring_by_hand_hip.so; do
    [[ -f "$build/lib/$name" ]] && install -m 644 "$build/lib/$name" "$folder/lib/"
  done
  for file in "$build"/tests/gpu_*_device_test "$build"/tests/conform_{host,cuda,hip}; do
    [[ -f "$file" && -x "$file" ]] && install -s -m 755 "$file" "$folder/tests/"
  done
  for name in fake_cuda fake_hip; do
    [[ -d "$build/tests/$name" ]] && cp -a "$build/tests/$name" "$folder/tests/"
  done
  needed_by "$folder"/{bin,bench,tests}/* | xargs -r -I{} cp -L {} "$folder/lib/needed/"
  cp "$here"/*.sh "$here"/*.py "$folder/gpu/"
  (cd "$folder" && find . -type f ! -name "$pack_list" -print0 | xargs -0 sha256sum >"$pack_list")
  # The list first, so that also the beginning of a file tells what is missing. At level 4 in half the time, 3 % larger.
  tar -C "$folder" -I 'gzip -4' -cf "$1" "./$pack_list" ./bin ./bench ./lib ./tests ./gpu || return 1
  for name in bin/weir-train bench/gpu_ring bench/gpu_latencies "lib/libweir_$vendor.so" "tests/conform_$vendor"; do
    [[ -f "$folder/$name" ]] || echo "left out, as it is not built: ${name#*/}"
  done
  rm -rf "$folder"
  size="$(stat -c %s "$1")"
  echo "$1: $size bytes"
  [[ "$size" -le "$most_bytes" ]] || { echo "accept.sh: that is more than $most_bytes bytes" >&2; return 1; }
}

# Fails, and says what is missing or damaged, unless all of the pack is there; what is there can still run.
unpack() { # file, folder
  local bad count
  tar -C "$2" -xf "$1"
  [[ -s "$2/$pack_list" ]] || { echo "$1 is no file of accept.sh --pack, or damaged"; return 1; }
  mapfile -t bad < <(cd "$2" && sha256sum -c --quiet "$pack_list" 2>/dev/null | sed 's/: FAILED.*//; s/^\.\///')
  count="$(wc -l <"$2/$pack_list")"
  [[ "${#bad[@]}" == 0 ]] || { echo "${#bad[@]} of $count files of the pack are missing or damaged: ${bad[*]}"; return 1; }
  echo "unpacked $count files, $(du -sm "$2" | cut -f 1) MiB, all as they were packed"
}
