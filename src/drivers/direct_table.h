// SPDX-License-Identifier: Apache-2.0
/// The functions of CUDA's and HIP's drivers that let NICs access GPU memory (GPUDirect RDMA). All may be
/// missing; tests/drivers compares them with the vendors' headers, where these declare them.
/// Tests: tests/drivers/cuda_table_test.cc
#pragma once

#include <cstddef>

#include "src/drivers/library.h"

namespace weir::drivers {

inline constexpr int kDmabufHandle = 1;
/// Numbers of CUDA device attributes, and their values.
inline constexpr int kFlushOptions = 117;  ///< attribute whose bit 0 tells that flush() works
inline constexpr int kWritesOrdering = 118;
inline constexpr int kOrderedForOwner = 100;  ///< from this value on, kernels see NIC writes without a flush
/// Arguments of flush().
inline constexpr int kCurrentContext = 0;
inline constexpr int kToOwner = 100;

/// `Address` is the vendor's type; `kHip`: the functions have HIP's names.
template <typename Address, bool kHip>
struct DirectTable {
  /// Available since CUDA 11.7 and HIP 7.
  int (*to_dmabuf)(void*, Address, size_t, int, unsigned long long) = nullptr;
  /// Available since CUDA 11.3.
  int (*flush)(int, int) = nullptr;

  /// Calls visit(name, function, required) for each function; none is required.
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
