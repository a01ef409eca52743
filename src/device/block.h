// SPDX-License-Identifier: Apache-2.0
/// The machine-dependent operations of kernels, for CUDA, HIP and the host: position in the grid, barriers,
/// words that other devices and the host write, wide loads and stores. All other kernel code is the same for
/// all three.
///
/// On the host a block is one thread, so barriers do nothing. On every machine blocks communicate through the
/// words below.
/// Tests: tests/exec/gpu_lane_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIP__)
#define WEIR_DEVICE __device__ __forceinline__
#define WEIR_SHARED __shared__
#if !defined(__forceinline__)
#define __forceinline__ inline __attribute__((always_inline))
#endif
#if defined(__HIP__)
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __global__ __attribute__((global))
#endif
#else
#include <sched.h>

#include <cstring>
#define WEIR_DEVICE inline
#define WEIR_SHARED
#endif

namespace weir::device {

/// A value of 16 bytes in registers.
struct alignas(16) Wide {
  uint64_t low;
  uint64_t high;
};

/// Words that the threads of a block share for barriers.
struct BarrierWords {
  uint32_t said[3];
};

/// The position of the calling thread in its block and grid.
struct Block {
  uint32_t index;    ///< index of the block in the grid
  uint32_t thread;   ///< index of the thread in the block
  uint32_t threads;  ///< number of threads of the block
  BarrierWords* words;
  uint32_t barriers;  ///< number of barriers so far

  /// The calling thread's position. All threads of a block call this first. `host_index` is the block's index
  /// when it runs on the host.
  WEIR_DEVICE static Block current(uint32_t host_index, BarrierWords& words);
  /// A barrier of the block's threads; returns true if `said` is true in any of them.
  WEIR_DEVICE bool any(bool said);
};

#if defined(__CUDACC__)

WEIR_DEVICE Block Block::current(uint32_t, BarrierWords& words) {
  return {blockIdx.x, threadIdx.x, blockDim.x, &words, 0};
}
WEIR_DEVICE bool Block::any(bool said) { return __syncthreads_or(said) != 0; }

WEIR_DEVICE uint64_t load_acquire(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
WEIR_DEVICE uint64_t load_relaxed(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
WEIR_DEVICE void store_release(uint64_t* word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
WEIR_DEVICE void store_relaxed(uint64_t* word, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
WEIR_DEVICE Wide load_pair_relaxed(const Wide* pair) {
  Wide value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"(pair)
               : "memory");
  return value;
}
WEIR_DEVICE void store_pair_relaxed(Wide* pair, Wide value) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(pair), "l"(value.low), "l"(value.high)
               : "memory");
}
WEIR_DEVICE Wide load_wide(const std::byte* from) {
  Wide value;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(from) : "memory");
  return value;
}
WEIR_DEVICE void store_wide(std::byte* to, Wide value) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.low), "l"(value.high) : "memory");
}
/// Lets other threads run while this thread waits.
WEIR_DEVICE void pause() { __nanosleep(20); }
WEIR_DEVICE void before_barrier() {}
WEIR_DEVICE void after_barrier() {}

#else

#if defined(__HIP__)

WEIR_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
WEIR_DEVICE Block Block::current(uint32_t, BarrierWords& words) {
  const uint32_t thread = __builtin_amdgcn_workitem_id_x();
  if (thread == 0) words = {};
  barrier();
  return {__builtin_amdgcn_workgroup_id_x(), thread, __builtin_amdgcn_workgroup_size_x(), &words, 0};
}
/// Barriers use three words round-robin: the word of the previous barrier, which all threads have read, is
/// cleared for the barrier after the next one.
WEIR_DEVICE bool Block::any(bool said) {
  if (said) __atomic_store_n(&words->said[barriers % 3], 1, __ATOMIC_RELAXED);
  barrier();
  const bool result = __atomic_load_n(&words->said[barriers % 3], __ATOMIC_RELAXED) != 0;
  if (thread == 0) __atomic_store_n(&words->said[(barriers + 2) % 3], 0, __ATOMIC_RELAXED);
  ++barriers;
  return result;
}
WEIR_DEVICE void pause() { __builtin_amdgcn_s_sleep(1); }
/// A release at system scope. LLVM 19 to 22 leave out the wait for the write-back of the L2 cache where it is
/// the only operation in flight (llvm-project pull request 178316), so what follows could be seen before what
/// was written back. This wait is written by hand; where the compiler waits too, it costs one instruction.
WEIR_DEVICE void release_fence() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
}
/// A wave's stores may still be in flight when another wave of the block releases, so each wave must fence
/// its own stores.
WEIR_DEVICE void before_barrier() { release_fence(); }
WEIR_DEVICE void after_barrier() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }

#else

WEIR_DEVICE Block Block::current(uint32_t host_index, BarrierWords& words) {
  return {host_index, 0, 1, &words, 0};
}
WEIR_DEVICE bool Block::any(bool said) { return said; }
WEIR_DEVICE void pause() { sched_yield(); }
WEIR_DEVICE void before_barrier() {}
WEIR_DEVICE void after_barrier() {}

#endif

WEIR_DEVICE uint64_t load_acquire(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
WEIR_DEVICE uint64_t load_relaxed(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
WEIR_DEVICE void store_relaxed(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
#if defined(__HIP__)
WEIR_DEVICE void store_release(uint64_t* word, uint64_t value) {
  release_fence();
  store_relaxed(word, value);
}
#else
WEIR_DEVICE void store_release(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
#endif
WEIR_DEVICE Wide load_pair_relaxed(const Wide* pair) {
  return {load_relaxed(&pair->low), load_relaxed(&pair->high)};
}
WEIR_DEVICE void store_pair_relaxed(Wide* pair, Wide value) {
  store_relaxed(&pair->low, value.low);
  store_relaxed(&pair->high, value.high);
}
#if defined(__HIP__)
using Pair = uint64_t __attribute__((ext_vector_type(2), may_alias));
/// Kernels get only global memory; loads from the global address space are faster than generic ones, which
/// must determine the address space.
WEIR_DEVICE Wide load_wide(const std::byte* from) {
  const Pair value = *(const __attribute__((address_space(1))) Pair*)from;
  return {value.x, value.y};
}
WEIR_DEVICE void store_wide(std::byte* to, Wide value) {
  *(__attribute__((address_space(1))) Pair*)to = Pair{value.low, value.high};
}
#else
WEIR_DEVICE Wide load_wide(const std::byte* from) {
  Wide value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
WEIR_DEVICE void store_wide(std::byte* to, Wide value) { std::memcpy(to, &value, sizeof(value)); }
#endif

#endif

/// Loads an aligned element of 1, 2, 4 or 8 bytes.
template <typename T>
WEIR_DEVICE uint64_t load_as(const std::byte* from) {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(from, sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
WEIR_DEVICE void store_as(std::byte* to, uint64_t value) {
  const T narrow = static_cast<T>(value);
  __builtin_memcpy(__builtin_assume_aligned(to, sizeof(T)), &narrow, sizeof(T));
}

}  // namespace weir::device
