// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "src/drivers/rocm_smi_table.h"
#ifdef WEIR_HAS_ROCM_SMI
#include <rocm_smi/rocm_smi.h>
#endif

namespace weir::drivers {
namespace {

// weir's own declarations are checked against the published header where it is installed.
#ifdef WEIR_HAS_ROCM_SMI
static_assert(RSMI_STATUS_SUCCESS == 0);
static_assert(RSMI_IOLINK_TYPE_PCIEXPRESS == int(RocmSmiLink::Type::pcie) &&
              RSMI_IOLINK_TYPE_XGMI == int(RocmSmiLink::Type::xgmi));
static_assert(sizeof(RSMI_IO_LINK_TYPE) == sizeof(int) && sizeof(rsmi_status_t) == sizeof(int));
static_assert(sizeof(rsmi_version_t) == sizeof(RocmSmiVersion));
static_assert(offsetof(rsmi_version_t, build) == offsetof(RocmSmiVersion, build));
static_assert(std::is_same_v<decltype(&rsmi_dev_pci_id_get), rsmi_status_t (*)(uint32_t, uint64_t*)>);
static_assert(
    std::is_same_v<decltype(&rsmi_topo_get_link_weight), rsmi_status_t (*)(uint32_t, uint32_t, uint64_t*)>);
static_assert(std::is_same_v<decltype(&rsmi_topo_get_link_type),
                             rsmi_status_t (*)(uint32_t, uint32_t, uint64_t*, RSMI_IO_LINK_TYPE*)>);
static_assert(std::is_same_v<decltype(&rsmi_minmax_bandwidth_get),
                             rsmi_status_t (*)(uint32_t, uint32_t, uint64_t*, uint64_t*)>);
#endif

constexpr uint32_t kMostRocmSmiGpus = 1024;
constexpr uint64_t kMostMbPerS = uint64_t{1} << 40;  // larger values are not valid bandwidths

/// Reads the properties of one GPU. Fields that it does not report keep their defaults.
class RocmSmiGpuReader {
 public:
  RocmSmiGpuReader(const RocmSmiTable& table, uint32_t number) : table_(table), number_(number) {}

  RocmSmiGpu read(uint32_t count) {
    RocmSmiGpu gpu;
    uint64_t id = 0;
    if (table_.pci_id(number_, &id) == 0) {
      gpu.address = fmt::format("{:04x}:{:02x}:{:02x}.0", id >> 32, id >> 8 & 0xff, id >> 3 & 0x1f);
      // Newer libraries store the partition in separate bits of the id, older ones in the bits of the PCI
      // function.
      gpu.partition = static_cast<int>(std::max(id >> 28 & 0xf, id & 7));
    }
    char name[128] = {};
    if (table_.name != nullptr && table_.name(number_, name, sizeof(name) - 1) == 0) gpu.name = name;
    if (table_.unique_id == nullptr || table_.unique_id(number_, &gpu.unique_id) != 0) gpu.unique_id = 0;
    int32_t numa = -1;
    if (table_.numa_affinity != nullptr && table_.numa_affinity(number_, &numa) == 0)
      gpu.numa_node = std::max(numa, -1);
    gpu.compute_partition = text(table_.compute_partition);
    gpu.memory_partition = text(table_.memory_partition);
    for (uint32_t to = 0; to < count; ++to) {
      if (to != number_) gpu.links.push_back(read_link(to));
    }
    return gpu;
  }

 private:
  std::string text(int (*function)(uint32_t, char*, uint32_t)) const {
    char buffer[32] = {};
    return function != nullptr && function(number_, buffer, sizeof(buffer) - 1) == 0 ? buffer : "";
  }

  RocmSmiLink read_link(uint32_t to) const {
    RocmSmiLink link;
    link.to = static_cast<int>(to);
    uint64_t hops = 0, weight = 0, least = 0, most = 0;
    int type = 0;
    if (table_.link_type(number_, to, &hops, &type) == 0) {
      link.hops = static_cast<int64_t>(std::min<uint64_t>(hops, INT32_MAX));
      if (type == 1 || type == 2) link.type = static_cast<RocmSmiLink::Type>(type);
    }
    if (table_.link_weight(number_, to, &weight) == 0)
      link.weight = static_cast<int64_t>(std::min<uint64_t>(weight, INT32_MAX));
    if (table_.bandwidths != nullptr && table_.bandwidths(number_, to, &least, &most) == 0 &&
        most < kMostMbPerS && least <= most) {
      link.least_mb_per_s = static_cast<int64_t>(least);
      link.most_mb_per_s = static_cast<int64_t>(most);
    }
    return link;
  }

  const RocmSmiTable& table_;
  const uint32_t number_;
};

}  // namespace

Result<RocmSmi> read_rocm_smi() {
  // The numbers are those of ROCm's releases; Debian's package uses 1.
  Result<Library> library = Library::open("librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                          "librocm_smi64.so.1", "librocm_smi64.so");
  if (!library.ok())
    return Status(Code::system_error, fmt::format("no ROCm SMI library: {}", library.status().message()));
  RocmSmiTable table;
  if (!table.find_in(*library))
    return Status(Code::system_error,
                  "librocm_smi64.so lacks functions that weir needs; expected ROCm 4.0 or newer");
  const auto say = [&](const char* what, int code) {
    const char* words = nullptr;
    const bool told = table.status_string != nullptr && table.status_string(code, &words) == 0;
    return Status(Code::system_error,
                  fmt::format("ROCm SMI could not {}: {}", what,
                              told && words != nullptr ? words : fmt::format("error {}", code)));
  };
  if (const int code = table.init(0); code != 0) return say("start", code);
  RocmSmi smi;
  RocmSmiVersion version{};
  if (table.version != nullptr && table.version(&version) == 0)
    smi.version = fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  uint32_t count = 0;
  const int code = table.count(&count);
  count = code == 0 ? std::min(count, kMostRocmSmiGpus) : 0;
  for (uint32_t i = 0; i < count; ++i) smi.gpus.push_back(RocmSmiGpuReader(table, i).read(count));
  table.shutdown();
  if (code != 0) return say("count the GPUs", code);
  return smi;
}

}  // namespace weir::drivers
