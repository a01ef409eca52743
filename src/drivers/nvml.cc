// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/drivers/nvml_table.h"

namespace weir::drivers {
namespace {

constexpr unsigned kMostNvmlGpus = 1024;
constexpr unsigned kMostNvlinks = 36;     // more than any GPU has
constexpr unsigned kC2cLinkCount = 170;   // NVML_FI_DEV_C2C_LINK_COUNT
constexpr unsigned kC2cMostMbPerS = 172;  // NVML_FI_DEV_C2C_LINK_GET_MAX_BW

/// Converts "00000000:3B:00.0" to the kernel's notation; empty for a malformed address.
std::string address_words(const NvmlPciInfo& pci) {
  std::string text(pci.address, std::find(std::begin(pci.address), std::end(pci.address), '\0'));
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](unsigned char c) { return std::isxdigit(c) || c == ':' || c == '.'; });
  const size_t colon = text.find(':');
  if (!plain || colon == std::string::npos || text.find(':', colon + 1) == std::string::npos) return "";
  if (colon > 4) text.erase(0, colon - 4);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Reads the properties of one GPU. Fields that it does not report keep their defaults.
class NvmlGpuReader {
 public:
  NvmlGpuReader(const NvmlTable& table, NvmlDevice device) : table_(table), device_(device) {}

  NvmlGpu read() {
    NvmlGpu gpu;
    NvmlPciInfo pci{};
    if (table_.pci_info(device_, &pci) == 0) gpu.address = address_words(pci);
    gpu.name = text(table_.name, device_);
    gpu.uuid = text(table_.uuid, device_);
    if (table_.compute_capability != nullptr &&
        table_.compute_capability(device_, &gpu.major, &gpu.minor) != 0)
      gpu.major = gpu.minor = 0;
    gpu.pcie_generation = number(table_.pcie_generation);
    gpu.pcie_width = number(table_.pcie_width);
    gpu.most_pcie_generation = number(table_.most_pcie_generation);
    gpu.most_pcie_width = number(table_.most_pcie_width);
    read_links(gpu);
    read_partitions(gpu);
    read_c2c(gpu);
    return gpu;
  }

 private:
  static std::string text(int (*function)(NvmlDevice, char*, unsigned), NvmlDevice device) {
    char buffer[128] = {};
    return function(device, buffer, sizeof(buffer) - 1) == 0 ? buffer : "";
  }
  int number(int (*function)(NvmlDevice, unsigned*)) const {
    unsigned value = 0;
    return function != nullptr && function(device_, &value) == 0 && value < 1000 ? static_cast<int>(value)
                                                                                 : 0;
  }

  void read_links(NvmlGpu& gpu) const {
    if (table_.link_state == nullptr) return;
    for (unsigned i = 0; i < kMostNvlinks; ++i) {
      int up = 0;
      if (table_.link_state(device_, i, &up) != 0 || up != 1) continue;
      NvmlLink& link = gpu.links.emplace_back();
      int type = 255;
      if (table_.link_remote_type != nullptr && table_.link_remote_type(device_, i, &type) == 0 &&
          type >= 0 && type <= 2)
        link.remote = static_cast<NvmlLink::Remote>(type);
      NvmlPciInfo pci{};
      if (table_.link_remote_pci != nullptr && table_.link_remote_pci(device_, i, &pci) == 0)
        link.address = address_words(pci);
      unsigned version = 0;
      if (table_.link_version != nullptr && table_.link_version(device_, i, &version) == 0)
        link.version = static_cast<int>(version);
    }
  }

  void read_partitions(NvmlGpu& gpu) const {
    unsigned current = 0, pending = 0, most = 0;
    if (table_.mig_mode == nullptr || table_.mig_mode(device_, &current, &pending) != 0 || current == 0)
      return;
    gpu.mig = true;
    if (table_.mig_count == nullptr || table_.mig_handle == nullptr || table_.mig_count(device_, &most) != 0)
      return;
    for (unsigned i = 0; i < std::min(most, 64u); ++i) {
      NvmlDevice partition = nullptr;
      if (table_.mig_handle(device_, i, &partition) != 0) continue;
      const std::string name = text(table_.name, partition);  // "NVIDIA A100-SXM4-40GB MIG 3g.20gb"
      const size_t at = name.rfind("MIG ");
      gpu.partitions.push_back(
          {text(table_.uuid, partition), at == std::string::npos ? name : name.substr(at + 4)});
    }
  }

  void read_c2c(NvmlGpu& gpu) const {
    if (table_.field_values == nullptr) return;
    NvmlField fields[2] = {};
    fields[0].id = kC2cLinkCount;
    fields[1].id = kC2cMostMbPerS;
    if (table_.field_values(device_, 2, fields) != 0 || fields[0].result != 0 || fields[1].result != 0)
      return;
    if (fields[0].value.small > 64) return;
    gpu.c2c_links = static_cast<int>(fields[0].value.small);
    gpu.c2c_mb_per_s = static_cast<double>(fields[1].value.small);
  }

  const NvmlTable& table_;
  const NvmlDevice device_;
};

}  // namespace

Result<Nvml> read_nvml() {
  Result<Library> library = Library::open("libnvidia-ml.so.1");
  if (!library.ok())
    return Status(Code::system_error, fmt::format("no NVIDIA driver: {}", library.status().message()));
  NvmlTable table;
  if (!table.find_in(*library))
    return Status(Code::system_error,
                  "libnvidia-ml.so.1 lacks functions that weir needs; expected a driver of 2017 or newer");
  const auto say = [&](const char* what, int code) {
    return Status(Code::system_error,
                  fmt::format("NVML could not {}: {}", what,
                              table.error_string != nullptr ? table.error_string(code)
                                                            : fmt::format("error {}", code)));
  };
  if (const int code = table.init(); code != 0) return say("start", code);
  Nvml nvml;
  char version[96] = {};
  if (table.driver_version != nullptr && table.driver_version(version, sizeof(version) - 1) == 0)
    nvml.driver = version;
  unsigned count = 0;
  const int code = table.count(&count);
  for (unsigned i = 0; code == 0 && i < std::min(count, kMostNvmlGpus); ++i) {
    NvmlDevice device = nullptr;
    // A GPU that cannot be queried still gets an entry, so that the others keep their numbers.
    nvml.gpus.push_back(table.handle(i, &device) == 0 ? NvmlGpuReader(table, device).read() : NvmlGpu());
  }
  table.shutdown();
  if (code != 0) return say("count the GPUs", code);
  return nvml;
}

}  // namespace weir::drivers
