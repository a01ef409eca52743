// SPDX-License-Identifier: Apache-2.0
/// The GPUs of a machine as NVIDIA's management library (NVML) reports them, as a value that can be saved to
/// a file.
/// Tests: tests/drivers/nvml_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::drivers {

/// One NVLink of a GPU that is up.
struct NvmlLink {
  enum class Remote : int { gpu = 0, processor = 1, nvswitch = 2, unknown = 255 };  ///< NVML's numbers
  Remote remote = Remote::unknown;
  std::string
      address;      ///< PCI address of the other end, lower case; empty if it is not visible in this system
  int version = 0;  ///< NVLink version, 1 to 5; 0: unknown

  bool operator==(const NvmlLink&) const = default;
};

struct NvmlPartition {
  std::string uuid;
  std::string profile;  ///< MIG profile: "3g.40gb"

  bool operator==(const NvmlPartition&) const = default;
};

struct NvmlGpu {
  std::string address;  ///< PCI address: "0000:3b:00.0"
  std::string name;
  std::string uuid;
  int major = 0;  ///< major compute capability; 0: unknown
  int minor = 0;
  int pcie_generation = 0;  ///< PCIe generation of the link now; 0: unknown
  int pcie_width = 0;
  int most_pcie_generation = 0;
  int most_pcie_width = 0;
  std::vector<NvmlLink> links;
  bool mig = false;
  std::vector<NvmlPartition> partitions;
  int c2c_links = 0;
  double c2c_mb_per_s = 0;  ///< bandwidth of one C2C link

  bool operator==(const NvmlGpu&) const = default;
};

/// The driver and its GPUs, indexed by NVML's number.
struct Nvml {
  std::string driver;  ///< driver version
  std::vector<NvmlGpu> gpus;

  bool operator==(const Nvml&) const = default;
};

/// Loads the library, reads all GPUs and unloads it. system_error if the library is missing or fails;
/// properties that a GPU does not report stay unknown. Thread-safe.
Result<Nvml> read_nvml();

/// Writes the value as JSON, and reads it back. Errors: invalid_argument with the reason.
std::string write_record(const Nvml& nvml);
Result<Nvml> read_nvml_record(const std::string& text);

}  // namespace weir::drivers
