// SPDX-License-Identifier: Apache-2.0
/// Groups of threads of a kernel, by which its functions are called together. They need no communicator, and
/// work.
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_COOP_H_
#define NCCL_DEVICE_COOP_H_

#include <stdint.h>

#include <new>

#include "absent.h"

#ifdef __CUDACC__
/* 1, 2, 4, ... or 32 threads of a warp, at a multiple of their number. */
template <int threads>
struct ncclCoopTile {
  static_assert(threads >= 1 && threads <= 32 && (threads & (threads - 1)) == 0, "a power of two of a warp");

  static NCCL_DEVICE_INLINE unsigned lane() {
    unsigned number;
    asm("mov.u32 %0, %%laneid;" : "=r"(number));
    return number;
  }
  NCCL_DEVICE_INLINE int thread_rank() const { return static_cast<int>(lane() % threads); }
  NCCL_DEVICE_INLINE constexpr int size() const { return threads; }
  NCCL_DEVICE_INLINE constexpr int num_threads() const { return threads; }
  NCCL_DEVICE_INLINE uint32_t laneMask() const {
    return (0xffffffffu >> (32 - threads)) << (lane() / threads * threads);
  }
  NCCL_DEVICE_INLINE void sync() { __syncwarp(laneMask()); }
};
typedef ncclCoopTile<1> ncclCoopThread;
typedef ncclCoopTile<32> ncclCoopWarp;

/* The threads of a warp whose bits are set. */
struct ncclCoopLanes {
  uint32_t lmask;

  NCCL_DEVICE_INLINE constexpr ncclCoopLanes(uint32_t mask = 0xffffffffu) : lmask(mask) {}
  NCCL_DEVICE_INLINE int thread_rank() const { return __popc(lmask & ((1u << ncclCoopWarp::lane()) - 1)); }
  NCCL_DEVICE_INLINE int size() const { return __popc(lmask); }
  NCCL_DEVICE_INLINE int num_threads() const { return size(); }
  NCCL_DEVICE_INLINE void sync() { __syncwarp(lmask); }
};

/* nWarps warps from warp0 on; no two groups that are in use have the same id, from 0 to 15. */
struct ncclCoopWarpSpan {
  uint32_t warp0 : 8, nWarps : 8, id : 8;

  NCCL_DEVICE_INLINE constexpr ncclCoopWarpSpan(int first, int count, int number)
      : warp0(first), nWarps(count), id(number) {}
  NCCL_DEVICE_INLINE int thread_rank() const { return static_cast<int>(threadIdx.x - 32 * warp0); }
  NCCL_DEVICE_INLINE int size() const { return static_cast<int>(32 * nWarps); }
  NCCL_DEVICE_INLINE int num_threads() const { return size(); }
  NCCL_DEVICE_INLINE void sync() {
    asm volatile("barrier.sync %0, %1;" ::"r"(1 + id), "r"(32 * nWarps) : "memory");
  }
};

/* All threads of the block. */
struct ncclCoopCta {
  NCCL_DEVICE_INLINE int thread_rank() const { return static_cast<int>(threadIdx.x); }
  NCCL_DEVICE_INLINE int size() const { return static_cast<int>(blockDim.x); }
  NCCL_DEVICE_INLINE int num_threads() const { return size(); }
  NCCL_DEVICE_INLINE void sync() { __syncthreads(); }
};

/* Any of these. */
struct ncclCoopAny {
  struct Functions {
    int (*thread_rank)(const void*);
    int (*size)(const void*);
    void (*sync)(void*);
  };
  template <typename Group>
  struct Of {
    static_assert(sizeof(Group) <= 16 && alignof(Group) <= alignof(void*), "a group of this header");
    static __device__ int thread_rank(const void* group) {
      return static_cast<const Group*>(group)->thread_rank();
    }
    static __device__ int size(const void* group) { return static_cast<const Group*>(group)->size(); }
    static __device__ void sync(void* group) { static_cast<Group*>(group)->sync(); }
    static __device__ const Functions* functions() {
      static constexpr Functions kAll = {&thread_rank, &size, &sync};
      return &kAll;
    }
  };

  alignas(alignof(void*)) char space[16];
  const Functions* functions;

  ncclCoopAny() = default;
  template <typename Group>
  __device__ ncclCoopAny(Group group) : functions(Of<Group>::functions()) {
    ::new (&space) Group(group);
  }
  __device__ int thread_rank() const { return functions->thread_rank(space); }
  __device__ int size() const { return functions->size(space); }
  __device__ int num_threads() const { return size(); }
  __device__ void sync() { functions->sync(space); }
};

NCCL_DEVICE_INLINE ncclCoopLanes ncclCoopCoalesced() { return ncclCoopLanes{__activemask()}; }
template <typename Coop>
NCCL_DEVICE_INLINE ncclCoopWarp ncclCoopCoalesced(Coop) {
  return ncclCoopWarp();
}
NCCL_DEVICE_INLINE ncclCoopLanes ncclCoopCoalesced(ncclCoopLanes coop) { return coop; }
template <int threads>
NCCL_DEVICE_INLINE ncclCoopTile<threads> ncclCoopCoalesced(ncclCoopTile<threads> coop) {
  return coop;
}
#endif /* __CUDACC__ */

#endif /* NCCL_DEVICE_COOP_H_ */
