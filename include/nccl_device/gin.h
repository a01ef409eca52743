// SPDX-License-Identifier: Apache-2.0
/// One-sided messages over the network, from kernels. Absent (absent.h).
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_GIN_H_
#define NCCL_DEVICE_GIN_H_

#include "absent.h"
#include "coop.h"
#include "host.h"
#include "pointers.h"

#ifdef __CUDACC__
#include <cuda/atomic>

#define NCCL_GIN_BACKEND_MASK_ALL 0u

enum ncclGinOptFlags {
  ncclGinOptFlagsDefault = 0,
  ncclGinOptFlagsMaySkipCreditCheck = 1,
  ncclGinOptFlagsAggregateRequests = 2
};
enum ncclGinResourceSharingMode : uint8_t {
  NCCL_GIN_RESOURCE_SHARING_GPU = 0,
  NCCL_GIN_RESOURCE_SHARING_CTA = 1,
  NCCL_GIN_RESOURCE_SHARING_THREAD = 2
};
struct ncclGinDescriptorSmem {
  alignas(64) char space[128];
};

/* What a barrier waits for besides the ranks; values may be combined. */
enum class ncclGinFenceLevel : uint32_t { None = 0, Put = 1, Get = 2, Relaxed = None };
NCCL_HOST_DEVICE_INLINE constexpr ncclGinFenceLevel operator|(ncclGinFenceLevel a, ncclGinFenceLevel b) {
  return static_cast<ncclGinFenceLevel>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
NCCL_HOST_DEVICE_INLINE constexpr ncclGinFenceLevel operator&(ncclGinFenceLevel a, ncclGinFenceLevel b) {
  return static_cast<ncclGinFenceLevel>(static_cast<uint32_t>(a) & static_cast<uint32_t>(b));
}
struct ncclGinAllContexts {
  ncclDevComm const& comm;
  NCCL_HOST_DEVICE_INLINE constexpr explicit ncclGinAllContexts(ncclDevComm const& of) : comm(of) {}
};

/* What happens at the peer, or here, when a message is complete. */
struct ncclGin_None {};
struct ncclGin_SignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_StrongSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_WeakSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_SignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_StrongSignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_WeakSignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_VASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_StrongVASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_WeakVASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_VASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
struct ncclGin_StrongVASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
struct ncclGin_WeakVASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
struct ncclGin_CounterInc {
  ncclGinCounter_t counter;
};
struct ncclGin_WeakCounterInc {
  ncclGinCounter_t counter;
};
struct ncclGin_DescriptorSmem {
  ncclGinDescriptorSmem* descriptor;
};
struct ncclGin_SegmentDevice {};
struct ncclGin_SegmentMixed {};
struct ncclGin_SegmentHostNuma {};

/* A context of a communicator. */
template <unsigned backends>
struct ncclGin_BackendMask {
  ncclDevComm const& comm;
  uint32_t contextId;
  ncclGinResourceSharingMode resourceSharingMode;

  NCCL_DEVICE_INLINE ncclGin_BackendMask(ncclDevComm const& of, int context,
                                         ncclGinResourceSharingMode sharing = NCCL_GIN_RESOURCE_SHARING_GPU)
      : comm(of), contextId(static_cast<uint32_t>(context)), resourceSharingMode(sharing) {}

  /* Messages. The peer is followed by two windows with offsets and the bytes, or by two addresses and the
   * elements; then come actions, threads, descriptor and orders, all of which may be left out. */
  template <typename... Any>
  NCCL_DEVICE_INLINE void put(ncclTeam, int, Any...) const {
    weir::nccl_device::absent<void>();
  }
  template <typename... Any>
  NCCL_DEVICE_INLINE void putValue(ncclTeam, int, Any...) const {
    weir::nccl_device::absent<void>();
  }
  template <typename... Any>
  NCCL_DEVICE_INLINE void get(ncclTeam, int, Any...) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Action, typename... Any>
  NCCL_DEVICE_INLINE void signal(ncclTeam, int, Action, Any...) const {
    weir::nccl_device::absent<void>();
  }

  /* Completion here. With a limit of cycles a function returns whether it was kept. */
  template <typename... Any>
  NCCL_DEVICE_INLINE void flushAsync(ncclTeam, uint32_t, ncclGinRequest_t*, Any...) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop = ncclCoopThread, typename Descriptor = ncclGin_None>
  NCCL_DEVICE_INLINE void wait(ncclGinRequest_t&, Coop = {}, Descriptor = {},
                               cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop, typename Descriptor>
  NCCL_DEVICE_INLINE ncclResult_t wait(ncclGinRequest_t&, Coop, Descriptor, cuda::memory_order,
                                       uint64_t) const {
    return weir::nccl_device::absent<ncclResult_t>();
  }
  template <typename Coop, typename Descriptor = ncclGin_None>
  NCCL_DEVICE_INLINE void flush(Coop, cuda::memory_order = cuda::memory_order_acquire,
                                Descriptor = {}) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop, typename Descriptor>
  NCCL_DEVICE_INLINE ncclResult_t flush(Coop, cuda::memory_order, Descriptor, uint64_t) const {
    return weir::nccl_device::absent<ncclResult_t>();
  }

  /* Counters and signals. */
  NCCL_DEVICE_INLINE uint64_t readCounter(ncclGinCounter_t, int = 56,
                                          cuda::memory_order = cuda::memory_order_acquire) const {
    return weir::nccl_device::absent<uint64_t>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE void waitCounter(Coop, ncclGinCounter_t, uint64_t, int = 56,
                                      cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE ncclResult_t waitCounter(Coop, ncclGinCounter_t, uint64_t, int, cuda::memory_order,
                                              uint64_t) const {
    return weir::nccl_device::absent<ncclResult_t>();
  }
  NCCL_DEVICE_INLINE void resetCounter(ncclGinCounter_t) const { weir::nccl_device::absent<void>(); }
  NCCL_DEVICE_INLINE uint64_t* getSignalShadowPtr(ncclGinSignal_t) const {
    return weir::nccl_device::absent<uint64_t*>();
  }
  NCCL_DEVICE_INLINE void increaseSignalShadow(ncclGinSignal_t, uint64_t) const {
    weir::nccl_device::absent<void>();
  }
  NCCL_DEVICE_INLINE uint64_t readSignal(ncclGinSignal_t, int = 64,
                                         cuda::memory_order = cuda::memory_order_acquire) const {
    return weir::nccl_device::absent<uint64_t>();
  }
  NCCL_DEVICE_INLINE uint64_t readSignal(ncclWindow_t, size_t, int = 64,
                                         cuda::memory_order = cuda::memory_order_acquire) const {
    return weir::nccl_device::absent<uint64_t>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE void waitSignal(Coop, ncclGinSignal_t, uint64_t, int = 64,
                                     cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE ncclResult_t waitSignal(Coop, ncclGinSignal_t, uint64_t, int, cuda::memory_order,
                                             uint64_t) const {
    return weir::nccl_device::absent<ncclResult_t>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE void waitSignal(Coop, ncclWindow_t, size_t, uint64_t, int = 64,
                                     cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE ncclResult_t waitSignal(Coop, ncclWindow_t, size_t, uint64_t, int, cuda::memory_order,
                                             uint64_t) const {
    return weir::nccl_device::absent<ncclResult_t>();
  }
  template <typename Coop>
  NCCL_DEVICE_INLINE void waitSignalMeetShadow(Coop, ncclGinSignal_t, int = 64,
                                               cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  template <typename Coop, typename Uint>
  NCCL_DEVICE_INLINE void waitSignalFollowShadow(Coop, ncclGinSignal_t, Uint, Uint*, Uint*, int = 64,
                                                 cuda::memory_order = cuda::memory_order_acquire) const {
    weir::nccl_device::absent<void>();
  }
  NCCL_DEVICE_INLINE void resetSignal(ncclGinSignal_t) const { weir::nccl_device::absent<void>(); }
  NCCL_DEVICE_INLINE void resetSignal(ncclWindow_t, size_t) const { weir::nccl_device::absent<void>(); }
};
using ncclGin = ncclGin_BackendMask<NCCL_GIN_BACKEND_MASK_ALL>;
#endif /* __CUDACC__ */

#endif /* NCCL_DEVICE_GIN_H_ */
