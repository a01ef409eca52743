// SPDX-License-Identifier: Apache-2.0
/// Everything that detection asks one host, behind one interface: the host itself, or its record.
///
/// A record is a folder: `root/` holds files, `hwloc.xml`, `nvml.json` and `rocm_smi.json` what libhwloc,
/// NVML and ROCm SMI said, `limits` what the kernel allowed, `ibnetdiscover` the InfiniBand subnet,
/// `lldp.json` the neighbours on Ethernet. Whatever was absent when it was recorded is absent when it is
/// replayed.
///
/// Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "src/drivers/files.h"
#include "src/drivers/limits.h"
#include "src/drivers/lldp.h"
#include "src/drivers/nvml.h"
#include "src/drivers/rocm_smi.h"
#include "weir/status.h"

namespace weir::drivers {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual Files& files() = 0;
  virtual Result<std::string> hwloc_xml() = 0;
  virtual Result<Nvml> nvml() = 0;
  /// As read_rocm_smi(): only where there are GPUs of AMD's.
  virtual Result<RocmSmi> rocm_smi() = 0;
  virtual Result<Limits> limits() = 0;
  virtual Result<std::string> subnet() = 0;
  /// `socket` as in lldp_neighbors().
  virtual Result<std::vector<LldpNeighbor>> lldp(const std::string& socket) = 0;
  /// Of a machine that records: what could not be written.
  virtual Status error() const { return {}; }
};

/// The host on which this process runs.
std::unique_ptr<Machine> this_machine();
/// The host on which this process runs; whatever is asked is kept below `folder`, which is made. Errors:
/// system_error.
Result<std::unique_ptr<Machine>> record_machine(const std::string& folder);
/// A recorded host. Errors: invalid_argument where `folder` is no record.
Result<std::unique_ptr<Machine>> replay_machine(const std::string& folder);

}  // namespace weir::drivers
