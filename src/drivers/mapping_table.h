// SPDX-License-Identifier: Apache-2.0
/// The functions of CUDA's and HIP's virtual memory management that are used: they allocate memory and
/// reserve addresses separately, and export memory to other processes as files. Both vendors have the same
/// calls with the same structures, HIP since version 6; tests/drivers compares them with the headers.
/// Tests: tests/drivers/hip_table_test.cc, tests/drivers/cuda_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

/// Kinds of memory: pinned memory does not migrate; hipMemAllocationTypeUncached is such memory that other
/// GPUs may poll while kernels run, and drivers before HIP 7.2 refuse it.
inline constexpr int kPinnedMapping = 1;
inline constexpr int kUncachedMapping = 0x40000000;

/// CUmemLocation, hipMemLocation.
struct MappingPlace {
  int kind = 1;  ///< kind of location; 1: a GPU
  int gpu = 0;
};

/// CUmemAllocationProp, hipMemAllocationProp.
struct MappingProperties {
  int kind = kPinnedMapping;
  int handle = 1;  ///< type of handles for export: kFileHandle
  MappingPlace place;
  void* only_on_windows = nullptr;
  uint64_t flags = 0;
};
static_assert(sizeof(MappingProperties) == 32);

/// CUmemAccessDesc, hipMemAccessDesc.
struct MappingAccess {
  MappingPlace place;
  int access = 3;  ///< access rights; 3: reads and writes
};
static_assert(sizeof(MappingAccess) == 12);

inline constexpr int kFileHandle = 1;       ///< handle type of a POSIX file descriptor
inline constexpr int kBestGranularity = 1;  ///< the granularity that the vendors recommend

/// `Address` and `Handle` are the vendor's types; `kHip`: the functions have HIP's names.
template <typename Address, typename Handle, bool kHip>
struct MappingTable {
  /// Other GPUs poll all memory that is mapped; CUDA's is always fit for that.
  static constexpr int kKind = kHip ? kUncachedMapping : kPinnedMapping;

  int (*granularity)(size_t*, const MappingProperties*, int) = nullptr;
  int (*create)(Handle*, size_t, const MappingProperties*, unsigned long long) = nullptr;
  int (*release)(Handle) = nullptr;
  int (*to_file)(void*, Handle, int, unsigned long long) = nullptr;
  int (*from_file)(Handle*, void*, int) = nullptr;
  int (*reserve)(Address*, size_t, size_t, Address, unsigned long long) = nullptr;
  int (*forsake)(Address, size_t) = nullptr;
  int (*map)(Address, size_t, size_t, Handle, unsigned long long) = nullptr;
  int (*unmap)(Address, size_t) = nullptr;
  int (*allow)(Address, size_t, const MappingAccess*, size_t) = nullptr;

  /// Calls visit(name, function, required) for each function; all are required.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit(kHip ? "hipMemGetAllocationGranularity" : "cuMemGetAllocationGranularity", granularity, true);
    visit(kHip ? "hipMemCreate" : "cuMemCreate", create, true);
    visit(kHip ? "hipMemRelease" : "cuMemRelease", release, true);
    visit(kHip ? "hipMemExportToShareableHandle" : "cuMemExportToShareableHandle", to_file, true);
    visit(kHip ? "hipMemImportFromShareableHandle" : "cuMemImportFromShareableHandle", from_file, true);
    visit(kHip ? "hipMemAddressReserve" : "cuMemAddressReserve", reserve, true);
    visit(kHip ? "hipMemAddressFree" : "cuMemAddressFree", forsake, true);
    visit(kHip ? "hipMemMap" : "cuMemMap", map, true);
    visit(kHip ? "hipMemUnmap" : "cuMemUnmap", unmap, true);
    visit(kHip ? "hipMemSetAccess" : "cuMemSetAccess", allow, true);
  }

  /// The name of a function that `library` lacks, or null. Drivers before CUDA 10.2 and ROCm 5.2 lack all
  /// functions.
  const char* find_in(const Library& library) {
    const char* missing = nullptr;
    each([&](const char* name, auto*& function, bool) {
      if (!library.find(name, function) && missing == nullptr) missing = name;
    });
    return missing;
  }
};

using CudaMappingTable = MappingTable<unsigned long long, unsigned long long, false>;
using HipMappingTable = MappingTable<void*, void*, true>;

}  // namespace weir::drivers
