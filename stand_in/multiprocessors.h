// SPDX-License-Identifier: Apache-2.0
/// The multiprocessors of the stand-in's GPUs. A block occupies threads, registers and shared memory of one
/// of them from its begin to its end. As on GPUs, blocks begin in the order of their kernels: one for which
/// there is no room makes all later ones wait. So kernels that wait for each other never end where they do
/// not fit on the GPU together.
///
/// Each process has all multiprocessors: GPUs run processes in turns.
///
/// Thread-safe.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include <cstddef>
#include <functional>

namespace fake {

/// What a block needs.
struct BlockShape {
  unsigned threads = 1;
  size_t shared_bytes = 0;
};

/// Of each GPU WEIR_FAKE_GPU_MULTIPROCESSORS; a MIG instance has its share.
int multiprocessors();
/// Number of such blocks that fit on one multiprocessor at the same time.
int resident_blocks(const BlockShape& shape);

/// Calls run(0) to run(blocks - 1), each in a thread that occupies a multiprocessor of `gpu` and has no other
/// block at that time; returns when all have returned. The threads stay for later blocks of the GPU.
/// REQUIRES: resident_blocks(shape) > 0.
void run_blocks(int gpu, const BlockShape& shape, unsigned blocks, const std::function<void(unsigned)>& run);

}  // namespace fake
