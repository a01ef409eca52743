// SPDX-License-Identifier: Apache-2.0
/// The functions of librocm_smi64.so that are used, declared here because no ROCm is needed to build: names,
/// numbers and layouts are those of its published header (rocm_smi/rocm_smi.h), enumerations as int.
/// Tests: tests/drivers/rocm_smi_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

struct RocmSmiVersion {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
  const char* build;
};

struct RocmSmiTable {
  int (*init)(uint64_t) = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(uint32_t*) = nullptr;
  int (*pci_id)(uint32_t, uint64_t*) = nullptr;
  int (*link_type)(uint32_t, uint32_t, uint64_t*, int*) = nullptr;
  int (*link_weight)(uint32_t, uint32_t, uint64_t*) = nullptr;
  // A library may lack any of the functions below.
  int (*status_string)(int, const char**) = nullptr;
  int (*version)(RocmSmiVersion*) = nullptr;
  int (*name)(uint32_t, char*, size_t) = nullptr;
  int (*unique_id)(uint32_t, uint64_t*) = nullptr;
  int (*numa_affinity)(uint32_t, int32_t*) = nullptr;
  int (*bandwidths)(uint32_t, uint32_t, uint64_t*, uint64_t*) = nullptr;  // since 5.0
  int (*compute_partition)(uint32_t, char*, uint32_t) = nullptr;          // since 5.5
  int (*memory_partition)(uint32_t, char*, uint32_t) = nullptr;           // since 5.6

  /// Looks up all functions; returns false if the library lacks a required one.
  bool find_in(const Library& library) {
    library.find("rsmi_status_string", status_string);
    library.find("rsmi_version_get", version);
    library.find("rsmi_dev_name_get", name);
    library.find("rsmi_dev_unique_id_get", unique_id);
    library.find("rsmi_topo_numa_affinity_get", numa_affinity);
    library.find("rsmi_minmax_bandwidth_get", bandwidths);
    library.find("rsmi_dev_compute_partition_get", compute_partition);
    library.find("rsmi_dev_memory_partition_get", memory_partition);
    return library.find("rsmi_init", init) && library.find("rsmi_shut_down", shutdown) &&
           library.find("rsmi_num_monitor_devices", count) && library.find("rsmi_dev_pci_id_get", pci_id) &&
           library.find("rsmi_topo_get_link_type", link_type) &&
           library.find("rsmi_topo_get_link_weight", link_weight);
  }
};

}  // namespace weir::drivers
