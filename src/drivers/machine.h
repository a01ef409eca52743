// SPDX-License-Identifier: Apache-2.0
/// Everything that topology detection reads of one host, behind one interface: the host itself, or a record
/// of it.
///
/// A record is a folder: `root/` contains files; `hwloc.xml`, `nvml.json` and `rocm_smi.json` the results of
/// libhwloc, NVML and ROCm SMI; `limits` the kernel's limits; `ibnetdiscover` the InfiniBand subnet;
/// `lldp.json` the Ethernet neighbours. Whatever was absent at recording is absent at replay.
///
/// Not thread-safe.
/// Tests: tests/drivers/machine_test.cc
#pragma once

#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/drivers/files.h"
#include "src/drivers/limits.h"
#include "src/drivers/lldp.h"
#include "src/drivers/nvml.h"
#include "src/drivers/rocm_smi.h"

namespace weir::drivers {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual Files& files() = 0;
  virtual Result<std::string> hwloc_xml() = 0;
  virtual Result<Nvml> nvml() = 0;
  /// As read_rocm_smi(); call it only if the host has AMD GPUs.
  virtual Result<RocmSmi> rocm_smi() = 0;
  virtual Result<Limits> limits() = 0;
  virtual Result<std::string> subnet() = 0;
  /// As lldp_neighbors().
  virtual Result<std::vector<LldpNeighbor>> lldp(const std::string& socket) = 0;
  /// For a machine that records: the first error in writing the record.
  virtual Status error() const { return {}; }
};

/// The host on which this process runs.
std::unique_ptr<Machine> this_machine();
/// The host on which this process runs; everything read from it is also written below `folder`, which is
/// created. Errors: system_error.
Result<std::unique_ptr<Machine>> record_machine(const std::string& folder);
/// A recorded host. Errors: invalid_argument if `folder` is not a record.
Result<std::unique_ptr<Machine>> replay_machine(const std::string& folder);

}  // namespace weir::drivers
