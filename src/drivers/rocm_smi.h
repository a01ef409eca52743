// SPDX-License-Identifier: Apache-2.0
/// The GPUs of a machine as AMD's ROCm SMI library reports them, as a value that can be saved to a file.
/// Tests: tests/drivers/rocm_smi_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::drivers {

/// The connection from one GPU to another.
struct RocmSmiLink {
  enum class Type : int { unknown = 0, pcie = 1, xgmi = 2 };  ///< the library's numbers
  int to = 0;                                                 ///< the library's number of the other GPU
  Type type = Type::unknown;
  int64_t hops = -1;    ///< number of hops; -1: unknown
  int64_t weight = -1;  ///< the kernel driver's weight, which tells direct links from others; -1: unknown
  int64_t least_mb_per_s = 0;  ///< bandwidth of one link; 0: unknown
  int64_t most_mb_per_s = 0;   ///< bandwidth of all links together

  bool operator==(const RocmSmiLink&) const = default;
};

/// A GPU as the library counts them: each partition of a partitioned GPU counts as one.
struct RocmSmiGpu {
  std::string address;  ///< address of the PCI function that all partitions of a GPU share: "0000:05:00.0"
  int partition = 0;    ///< number of the partition
  std::string name;
  uint64_t unique_id = 0;  ///< identifier of the GPU; 0: unknown
  int numa_node = -1;
  std::string compute_partition;  ///< compute partition mode: "SPX", "CPX" ...; empty: not partitionable
  std::string memory_partition;   ///< memory partition mode: "NPS1" ...
  std::vector<RocmSmiLink> links;

  bool operator==(const RocmSmiGpu&) const = default;
};

/// The library and its GPUs, indexed by the library's number.
struct RocmSmi {
  std::string version;  ///< version of the library
  std::vector<RocmSmiGpu> gpus;

  bool operator==(const RocmSmi&) const = default;
};

/// Loads the library, reads all GPUs and unloads it. system_error if the library is missing or fails;
/// properties that a GPU does not report stay unknown. Call it only if there are AMD GPUs: without one the
/// library prints errors on standard output. Thread-safe.
Result<RocmSmi> read_rocm_smi();

/// Writes the value as JSON, and reads it back. Errors: invalid_argument with the reason.
std::string write_record(const RocmSmi& smi);
Result<RocmSmi> read_rocm_smi_record(const std::string& text);

}  // namespace weir::drivers
