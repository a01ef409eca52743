// SPDX-License-Identifier: Apache-2.0
/// The functions of libnvidia-ml.so.1 that are used, declared here because no toolkit is needed to build:
/// names, numbers and layouts are those of NVML's ABI, version 1 of each structure.
/// Tests: tests/drivers/nvml_test.cc
#pragma once

#include "src/drivers/library.h"

namespace weir::drivers {

using NvmlDevice = void*;

struct NvmlPciInfo {
  char address_of_old[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device;
  unsigned pci_subsystem;
  char address[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

/// One query of nvmlDeviceGetFieldValues.
struct NvmlField {
  unsigned id;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int result;
  union {
    double number;
    unsigned small;
    unsigned long long large;
  } value;
};
static_assert(sizeof(NvmlField) == 40);

struct NvmlTable {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*pci_info)(NvmlDevice, NvmlPciInfo*) = nullptr;
  // A library may lack any of the functions below.
  int (*compute_capability)(NvmlDevice, int*, int*) = nullptr;
  int (*pcie_generation)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width)(NvmlDevice, unsigned*) = nullptr;
  int (*most_pcie_generation)(NvmlDevice, unsigned*) = nullptr;
  int (*most_pcie_width)(NvmlDevice, unsigned*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned, int*) = nullptr;
  int (*link_version)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*link_remote_type)(NvmlDevice, unsigned, int*) = nullptr;
  int (*link_remote_pci)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;
  int (*mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*mig_count)(NvmlDevice, unsigned*) = nullptr;
  int (*mig_handle)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
  int (*field_values)(NvmlDevice, int, NvmlField*) = nullptr;

  /// Looks up all functions; returns false if the library lacks a required one.
  bool find_in(const Library& library) {
    library.find("nvmlErrorString", error_string);
    library.find("nvmlSystemGetDriverVersion", driver_version);
    library.find("nvmlDeviceGetCudaComputeCapability", compute_capability);
    library.find("nvmlDeviceGetCurrPcieLinkGeneration", pcie_generation);
    library.find("nvmlDeviceGetCurrPcieLinkWidth", pcie_width);
    library.find("nvmlDeviceGetMaxPcieLinkGeneration", most_pcie_generation);
    library.find("nvmlDeviceGetMaxPcieLinkWidth", most_pcie_width);
    library.find("nvmlDeviceGetNvLinkState", link_state);
    library.find("nvmlDeviceGetNvLinkVersion", link_version);
    library.find("nvmlDeviceGetNvLinkRemoteDeviceType", link_remote_type);
    library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", link_remote_pci);
    library.find("nvmlDeviceGetMigMode", mig_mode);
    library.find("nvmlDeviceGetMaxMigDeviceCount", mig_count);
    library.find("nvmlDeviceGetMigDeviceHandleByIndex", mig_handle);
    library.find("nvmlDeviceGetFieldValues", field_values);
    return library.find("nvmlInit_v2", init) && library.find("nvmlShutdown", shutdown) &&
           library.find("nvmlDeviceGetCount_v2", count) &&
           library.find("nvmlDeviceGetHandleByIndex_v2", handle) && library.find("nvmlDeviceGetName", name) &&
           library.find("nvmlDeviceGetUUID", uuid) && library.find("nvmlDeviceGetPciInfo_v3", pci_info);
  }
};

}  // namespace weir::drivers
