// SPDX-License-Identifier: Apache-2.0
/// What AMD's ROCm SMI library knows of the GPUs of a machine, as a value that can be kept in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/status.h"

namespace weir::drivers {

/// The way from one GPU to another.
struct RocmSmiLink {
  enum class Type : int { unknown = 0, pcie = 1, xgmi = 2 };  ///< the library's numbers
  int to = 0;                                                 ///< number of the other GPU
  Type type = Type::unknown;
  int64_t hops = -1;           ///< -1: not known
  int64_t weight = -1;         ///< of the kernel driver, which knows of direct links by it; -1: not known
  int64_t least_mb_per_s = 0;  ///< of one link; 0: not known
  int64_t most_mb_per_s = 0;   ///< of all links together

  bool operator==(const RocmSmiLink&) const = default;
};

/// A GPU as the library counts them: of a divided one each partition.
struct RocmSmiGpu {
  std::string address;  ///< "0000:05:00.0", of the PCI function that all partitions of a GPU share
  int partition = 0;    ///< which of them
  std::string name;
  uint64_t unique_id = 0;  ///< 0: not known
  int numa_node = -1;
  std::string compute_partition;  ///< "SPX", "CPX" ...; empty: it cannot be divided
  std::string memory_partition;   ///< "NPS1" ...
  std::vector<RocmSmiLink> links;

  bool operator==(const RocmSmiGpu&) const = default;
};

/// GPUs by the library's number.
struct RocmSmi {
  std::string version;  ///< of the library
  std::vector<RocmSmiGpu> gpus;

  bool operator==(const RocmSmi&) const = default;
};

/// Loads the library, asks and lets it go again. system_error where there is none or it fails; what a GPU
/// does not answer stays unknown. Ask only where there are GPUs of AMD's: without one the library complains
/// on standard output. Thread-safe.
Result<RocmSmi> read_rocm_smi();

/// As JSON, and back. Errors: invalid_argument with what is wrong.
std::string write_record(const RocmSmi& smi);
Result<RocmSmi> read_rocm_smi_record(const std::string& text);

}  // namespace weir::drivers
