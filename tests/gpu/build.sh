#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what accept.sh runs: build.sh ROOT. Says which packages are missing where they are.
set -euo pipefail
cd "$1"
cmake/packages.sh build trainer test torch develop 2>/dev/null || true # without apt or the right to use it, what is there has to do
cmake --preset release --log-level=NOTICE
known="$(ninja -C build -t targets all | sed -n 's/: .*//p')"
targets=(weir nccl)
for name in all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv hypercube; do
  targets+=("${name}_perf")
done
optional=(
  weir-train weir_train_cuda fake_cublas fake_train_image weir_cuda weir_hip weir_host_kernels
  gpu_ring gpu_latencies ring_by_hand_cuda ring_by_hand_hip fake_gpu_image fake_ring_image ring_by_hand_host gpu_cuda_device_test gpu_hip_device_test
  conform_cuda conform_hip fake_cuda fake_hip fake_cudart_13 fake_gpu_kernels
)
for name in "${optional[@]}"; do
  grep -qx "$name" <<<"$known" && targets+=("$name")
done
cmake --build --preset release --target "${targets[@]}" | tail -n 3
echo "built ${#targets[@]} targets"
