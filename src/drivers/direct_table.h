// SPDX-License-Identifier: Apache-2.0
/// The functions of CUDA's and HIP's drivers by which network adapters come to memory of GPUs (GPUDirect
/// RDMA). All may be missing; tests/drivers compares them with the vendors' headers, where these have them.
#pragma once

#include <cstddef>

#include "src/drivers/library.h"

namespace weir::drivers {

inline constexpr int kDmabufHandle = 1;
/// Attributes of CUDA's devices.
inline constexpr int kFlushOptions = 117;  ///< bit 0: flush() works
inline constexpr int kWritesOrdering = 118;
inline constexpr int kOrderedForOwner = 100;  ///< from there on kernels see what adapters wrote by themselves
/// Of flush().
inline constexpr int kCurrentContext = 0;
inline constexpr int kToOwner = 100;

/// `Address` as the vendor has it; `kHip`: its names are HIP's.
template <typename Address, bool kHip>
struct DirectTable {
  /// CUDA 11.7, HIP 7.
  int (*to_dmabuf)(void*, Address, size_t, int, unsigned long long) = nullptr;
  /// CUDA 11.3.
  int (*flush)(int, int) = nullptr;

  /// Calls visit(name, function, whether nothing works without it) for each.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit(kHip ? "hipMemGetHandleForAddressRange" : "cuMemGetHandleForAddressRange", to_dmabuf, false);
    if constexpr (!kHip) visit("cuFlushGPUDirectRDMAWrites", flush, false);
  }
  void find_in(const Library& library) {
    each([&](const char* name, auto*& function, bool) {
      if (!library.find(name, function)) function = nullptr;
    });
  }
};

using CudaDirectTable = DirectTable<unsigned long long, false>;
using HipDirectTable = DirectTable<void*, true>;

}  // namespace weir::drivers
