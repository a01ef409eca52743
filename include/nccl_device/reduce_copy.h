// SPDX-License-Identifier: Apache-2.0
/// Sums and copies between ranks that can access each other's memory, from kernels. Absent (absent.h).
///
/// Each function takes the threads that carry it out, then whatever NCCL's takes: addresses, windows or
/// functions that give addresses, teams and counts.
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_REDUCE_COPY_H_
#define NCCL_DEVICE_REDUCE_COPY_H_

#include "absent.h"

#ifdef __CUDACC__
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceLsaCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceMultimemCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceSumLsaCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceSumMultimemCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclMultimemReduceSumLsaCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclMultimemReduceSumMultimemCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceSum(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclMultimemReduceSum(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLocalReduceSum(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclMultimemCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLocalCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLsaReduceSumCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclMultimemReduceSumCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
template <typename... Types, typename Coop, typename... Any>
NCCL_DEVICE_INLINE void ncclLocalReduceSumCopy(Coop, Any...) {
  weir::nccl_device::absent<void>();
}
#endif /* __CUDACC__ */

#endif /* NCCL_DEVICE_REDUCE_COPY_H_ */
