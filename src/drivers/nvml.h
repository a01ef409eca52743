// SPDX-License-Identifier: Apache-2.0
/// What NVIDIA's management library knows of the GPUs of a machine, as a value that can be kept in a file.
#pragma once

#include <string>
#include <vector>

#include "weir/status.h"

namespace weir::drivers {

/// One NVLink of a GPU that is up.
struct NvmlLink {
  enum class Remote : int { gpu = 0, processor = 1, nvswitch = 2, unknown = 255 };  ///< NVML's numbers
  Remote remote = Remote::unknown;
  std::string address;  ///< of the other end, lower case; empty where it cannot be seen from here
  int version = 0;      ///< 1 to 5; 0: not known

  bool operator==(const NvmlLink&) const = default;
};

struct NvmlPartition {
  std::string uuid;
  std::string profile;  ///< "3g.40gb"

  bool operator==(const NvmlPartition&) const = default;
};

struct NvmlGpu {
  std::string address;  ///< "0000:3b:00.0"
  std::string name;
  std::string uuid;
  int major = 0;  ///< compute capability; 0: not known
  int minor = 0;
  int pcie_generation = 0;  ///< as linked now; 0: not known
  int pcie_width = 0;
  int most_pcie_generation = 0;
  int most_pcie_width = 0;
  std::vector<NvmlLink> links;
  bool mig = false;
  std::vector<NvmlPartition> partitions;
  int c2c_links = 0;
  double c2c_mb_per_s = 0;  ///< of one

  bool operator==(const NvmlGpu&) const = default;
};

/// GPUs by NVML's number.
struct Nvml {
  std::string driver;  ///< version
  std::vector<NvmlGpu> gpus;

  bool operator==(const Nvml&) const = default;
};

/// Loads the library, asks and lets it go again. system_error where there is none or it fails; what a GPU
/// does not answer stays unknown. Thread-safe.
Result<Nvml> read_nvml();

/// As JSON, and back. Errors: invalid_argument with what is wrong.
std::string write_record(const Nvml& nvml);
Result<Nvml> read_nvml_record(const std::string& text);

}  // namespace weir::drivers
