// SPDX-License-Identifier: Apache-2.0
// A librocm_smi64.so for tests: the two dies of an MI250, joined by 4 links, and a third GPU that one link
// joins to the first and only PCIe to the second; it does not tell its NUMA node and has no partition modes.
// WEIR_FAKE_ROCM_SMI=broken makes the start fail.
#include <cstdio>
#include <cstdlib>

#include "src/drivers/rocm_smi_table.h"

using weir::drivers::RocmSmiVersion;

namespace {

constexpr int kNotSupported = 2, kInitError = 8;
constexpr int kPcie = 1, kXgmi = 2;

int links(uint32_t from, uint32_t to) {
  if (from + to == 1) return 4;
  return from + to == 2 ? 1 : 0;
}

}  // namespace

extern "C" {

int rsmi_init(uint64_t) { return getenv("WEIR_FAKE_ROCM_SMI") != nullptr ? kInitError : 0; }
int rsmi_shut_down() { return 0; }
int rsmi_status_string(int code, const char** words) {
  return *words = code == kInitError ? "An error occurred during initialization" : "?", 0;
}
int rsmi_version_get(RocmSmiVersion* version) { return *version = {6, 1, 2, "fake"}, 0; }
int rsmi_num_monitor_devices(uint32_t* count) { return *count = 3, 0; }
int rsmi_dev_pci_id_get(uint32_t gpu, uint64_t* id) {
  // The last one is partition 2 of its GPU, in domain 1.
  return *id = gpu == 2 ? uint64_t{1} << 32 | 2u << 28 | 0xd1 << 8 : (0x1b + gpu) << 8 | 1 << 3, 0;
}
int rsmi_dev_name_get(uint32_t gpu, char* text, size_t size) {
  return snprintf(text, size, "AMD Instinct MI250X %u", gpu), 0;
}
int rsmi_dev_unique_id_get(uint32_t gpu, uint64_t* id) { return *id = 0xfedcba9876543210 + gpu, 0; }
int rsmi_topo_numa_affinity_get(uint32_t gpu, int32_t* node) {
  return gpu == 2 ? kNotSupported : (*node = static_cast<int>(gpu), 0);
}
int rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t* hops, int* type) {
  const bool joined = links(from, to) > 0;
  return *hops = joined ? 1 : 2, *type = joined ? kXgmi : kPcie, 0;
}
int rsmi_topo_get_link_weight(uint32_t from, uint32_t to, uint64_t* weight) {
  return *weight = links(from, to) > 0 ? 15 : 72, 0;
}
int rsmi_minmax_bandwidth_get(uint32_t from, uint32_t to, uint64_t* least, uint64_t* most) {
  const int count = links(from, to);
  if (count == 0) return kNotSupported;
  return *least = 50000, *most = static_cast<uint64_t>(count) * 50000, 0;
}
int rsmi_dev_compute_partition_get(uint32_t gpu, char* text, uint32_t size) {
  return gpu == 2 ? kNotSupported : (snprintf(text, size, "SPX"), 0);
}
int rsmi_dev_memory_partition_get(uint32_t gpu, char* text, uint32_t size) {
  return gpu == 2 ? kNotSupported : (snprintf(text, size, "NPS1"), 0);
}
}
