// SPDX-License-Identifier: Apache-2.0
/// Barriers between ranks, and all-to-alls of small values, for kernels. Absent (absent.h).
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_BARRIERS_H_
#define NCCL_DEVICE_BARRIERS_H_

#include "absent.h"
#include "gin.h"
#include "host.h"
#include "pointers.h"

#ifdef __CUDACC__
#include <cuda/atomic>

namespace weir {
namespace nccl_device {

/* A barrier of any kind: made of whatever NCCL's is made of. */
template <typename Coop>
struct Barrier {
  template <typename... Any>
  NCCL_DEVICE_INLINE explicit Barrier(Coop, Any&&...) {
    absent<void>();
  }
  Barrier(Barrier const&) = delete;

  template <typename... Any>
  NCCL_DEVICE_INLINE void arrive(Coop, cuda::memory_order, Any...) {
    absent<void>();
  }
  NCCL_DEVICE_INLINE void wait(Coop, cuda::memory_order) { absent<void>(); }
  NCCL_DEVICE_INLINE ncclResult_t wait(Coop, cuda::memory_order, uint64_t) { return absent<ncclResult_t>(); }
};

} /* namespace nccl_device */
} /* namespace weir */

template <typename Coop>
struct ncclLsaBarrierSession : weir::nccl_device::Barrier<Coop> {
  NCCL_DEVICE_INLINE ncclLsaBarrierSession(Coop coop, ncclDevComm const&, ncclTeam, ncclLsaBarrierHandle,
                                           uint32_t, bool = false, ncclMultimemHandle = {})
      : weir::nccl_device::Barrier<Coop>(coop) {}
  NCCL_DEVICE_INLINE ncclLsaBarrierSession(Coop coop, ncclDevComm const&, ncclTeamTagLsa, uint32_t,
                                           bool = false)
      : weir::nccl_device::Barrier<Coop>(coop) {}

  NCCL_DEVICE_INLINE void sync(Coop, cuda::memory_order) { weir::nccl_device::absent<void>(); }
  NCCL_DEVICE_INLINE ncclResult_t sync(Coop, cuda::memory_order, uint64_t) {
    return weir::nccl_device::absent<ncclResult_t>();
  }
};

template <typename Coop>
struct ncclGinBarrierSession : weir::nccl_device::Barrier<Coop> {
  /* `Gin`: an ncclGin or ncclGinAllContexts; `Team`: an ncclTeam and its handle, or a tag. */
  template <typename Gin, typename... Team>
  NCCL_DEVICE_INLINE ncclGinBarrierSession(Coop coop, Gin, Team...)
      : weir::nccl_device::Barrier<Coop>(coop) {}

  NCCL_DEVICE_INLINE void sync(Coop, cuda::memory_order,
                               ncclGinFenceLevel = ncclGinFenceLevel::Put | ncclGinFenceLevel::Get) {
    weir::nccl_device::absent<void>();
  }
  NCCL_DEVICE_INLINE ncclResult_t sync(Coop, cuda::memory_order, ncclGinFenceLevel, uint64_t) {
    return weir::nccl_device::absent<ncclResult_t>();
  }
};

template <typename Coop>
struct ncclBarrierSession : weir::nccl_device::Barrier<Coop> {
  NCCL_DEVICE_INLINE ncclBarrierSession(Coop coop, ncclTeam, ncclTeam, ncclGin, ncclLsaBarrierHandle,
                                        ncclGinBarrierHandle, uint32_t, bool = false, ncclMultimemHandle = {})
      : weir::nccl_device::Barrier<Coop>(coop) {}
  NCCL_DEVICE_INLINE ncclBarrierSession(Coop coop, ncclTeamTagWorld, ncclGin, uint32_t, bool = false)
      : weir::nccl_device::Barrier<Coop>(coop) {}
  NCCL_DEVICE_INLINE ncclBarrierSession(Coop coop, ncclTeamTagLsa, ncclDevComm const&, uint32_t, bool = false)
      : weir::nccl_device::Barrier<Coop>(coop) {}
  NCCL_DEVICE_INLINE ncclBarrierSession(Coop coop, ncclTeamTagRail, ncclGin, uint32_t)
      : weir::nccl_device::Barrier<Coop>(coop) {}

  /* The barriers that it is made of. */
  NCCL_DEVICE_INLINE ncclLsaBarrierSession<Coop>& lsaBarrier() {
    return *weir::nccl_device::absent<ncclLsaBarrierSession<Coop>*>();
  }
  NCCL_DEVICE_INLINE ncclGinBarrierSession<Coop>& ginBarrier() {
    return *weir::nccl_device::absent<ncclGinBarrierSession<Coop>*>();
  }

  NCCL_DEVICE_INLINE void sync(Coop, cuda::memory_order,
                               ncclGinFenceLevel = ncclGinFenceLevel::Put | ncclGinFenceLevel::Get) {
    weir::nccl_device::absent<void>();
  }
  NCCL_DEVICE_INLINE ncclResult_t sync(Coop, cuda::memory_order, ncclGinFenceLevel, uint64_t) {
    return weir::nccl_device::absent<ncclResult_t>();
  }
};

/* A barrier for one use. */
template <typename Coop, typename Team, typename... Any>
NCCL_DEVICE_INLINE void ncclBarrier(Coop, Team, ncclGin, uint32_t, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename Coop, typename Gin, typename... Any>
NCCL_DEVICE_INLINE void ncclGinBarrier(Coop, Gin, Any...) {
  weir::nccl_device::absent<void>();
}

template <typename Coop>
struct ncclLLA2ASession {
  NCCL_DEVICE_INLINE ncclLLA2ASession(Coop, ncclDevComm const&, ncclTeam, ncclLLA2AHandle, uint32_t, int,
                                      bool = false, ncclMultimemHandle = {}) {
    weir::nccl_device::absent<void>();
  }
  ncclLLA2ASession(ncclLLA2ASession const&) = delete;

  template <typename T>
  NCCL_DEVICE_INLINE void send(int, int, T) {
    weir::nccl_device::absent<void>();
  }
  template <typename T>
  NCCL_DEVICE_INLINE void bcast(int, T) {
    weir::nccl_device::absent<void>();
  }
  template <typename T>
  NCCL_DEVICE_INLINE T recv(int) {
    return weir::nccl_device::absent<T>();
  }
  template <int least, int most, typename T>
  NCCL_DEVICE_INLINE void recvUnrolled(int, int, int, T (&)[most]) {
    weir::nccl_device::absent<void>();
  }
  template <int unroll, typename Element, typename ToSum, typename Reduce>
  NCCL_DEVICE_INLINE auto recvReduce(int, int, int, ToSum to_sum, Reduce) -> decltype(to_sum(Element())) {
    return weir::nccl_device::absent<decltype(to_sum(Element()))>();
  }
  NCCL_DEVICE_INLINE void endEpoch(Coop) { weir::nccl_device::absent<void>(); }
};
#endif /* __CUDACC__ */

#endif /* NCCL_DEVICE_BARRIERS_H_ */
