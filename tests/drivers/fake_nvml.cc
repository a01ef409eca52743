// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 for tests: 2 GPUs with 2 NVLinks to each other and one to a switch that cannot be seen;
// the second is divided by MIG and does not tell its PCIe width. WEIR_FAKE_NVML=broken makes the start fail.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/drivers/nvml_table.h"

using weir::drivers::NvmlDevice;
using weir::drivers::NvmlField;
using weir::drivers::NvmlPciInfo;

namespace {

constexpr int kNotSupported = 3;
char gpus[2], partitions[2];

int number_of(NvmlDevice device) { return device == &gpus[1] ? 1 : 0; }
bool is_partition(NvmlDevice device) { return device == &partitions[0] || device == &partitions[1]; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return getenv("WEIR_FAKE_NVML") != nullptr ? 9 : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "?"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return snprintf(text, size, "999.1"), 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) { return *device = &gpus[index], 0; }
int nvmlDeviceGetName(NvmlDevice device, char* text, unsigned size) {
  return snprintf(text, size, is_partition(device) ? "NVIDIA H100 MIG 3g.40gb" : "NVIDIA H100"), 0;
}
int nvmlDeviceGetUUID(NvmlDevice device, char* text, unsigned size) {
  const bool partition = is_partition(device);
  const int number =
      partition ? static_cast<int>(static_cast<char*>(device) - partitions) : number_of(device);
  return snprintf(text, size, "%s-%d", partition ? "MIG" : "GPU", number), 0;
}
int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* pci) {
  return snprintf(pci->address, sizeof(pci->address), "00000000:%dB:00.0", number_of(device) + 1), 0;
}
int nvmlDeviceGetCudaComputeCapability(NvmlDevice, int* major, int* minor) {
  return *major = 9, *minor = 0, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice, unsigned* value) { return *value = 4, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice device, unsigned* value) {
  return number_of(device) == 1 ? kNotSupported : (*value = 8, 0);
}
int nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice, unsigned* value) { return *value = 16, 0; }
int nvmlDeviceGetNvLinkState(NvmlDevice, unsigned link, int* up) {
  return link >= 4 ? kNotSupported : (*up = link != 3, 0);
}
int nvmlDeviceGetNvLinkVersion(NvmlDevice, unsigned, unsigned* version) { return *version = 4, 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice, unsigned link, int* type) {
  return *type = link == 2 ? 2 : 0, 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned link, NvmlPciInfo* pci) {
  memset(pci, 0, sizeof(*pci));
  if (link == 2) return memset(pci->address, 0xff, 5), 0;  // as seen on real ones
  return snprintf(pci->address, sizeof(pci->address), "00000000:%dB:00.0", 2 - number_of(device)), 0;
}
int nvmlDeviceGetMigMode(NvmlDevice device, unsigned* current, unsigned* pending) {
  return *current = *pending = static_cast<unsigned>(number_of(device)), 0;
}
int nvmlDeviceGetMaxMigDeviceCount(NvmlDevice, unsigned* count) { return *count = 7, 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice, unsigned index, NvmlDevice* device) {
  return index >= 2 ? kNotSupported : (*device = &partitions[index], 0);
}
int nvmlDeviceGetFieldValues(NvmlDevice, int count, NvmlField* fields) {
  for (int i = 0; i < count; ++i) fields[i].result = kNotSupported;
  return 0;
}
}
