// SPDX-License-Identifier: Apache-2.0
/// What a function of the device interface does in a kernel, where nobody can have a communicator for it: it
/// ends the kernel with an error.
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_ABSENT_H_
#define NCCL_DEVICE_ABSENT_H_

#ifdef __CUDACC__
#define NCCL_DEVICE_INLINE __device__ __forceinline__
#define NCCL_HOST_DEVICE_INLINE __host__ __device__ __forceinline__

namespace weir {
namespace nccl_device {

/* Ends the kernel. The result is for the compiler. */
template <typename Result>
NCCL_DEVICE_INLINE Result absent() {
  __trap();
  return Result();
}
template <>
NCCL_DEVICE_INLINE void absent<void>() {
  __trap();
}

} /* namespace nccl_device */
} /* namespace weir */
#else
#define NCCL_DEVICE_INLINE
#ifdef __cplusplus
#define NCCL_HOST_DEVICE_INLINE inline
#else
#define NCCL_HOST_DEVICE_INLINE static inline
#endif
#endif

#endif /* NCCL_DEVICE_ABSENT_H_ */
