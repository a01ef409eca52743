// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/drivers/nvml.h"

namespace weir::drivers {

NLOHMANN_JSON_SERIALIZE_ENUM(NvmlLink::Remote, {{NvmlLink::Remote::unknown, "unknown"},
                                                {NvmlLink::Remote::gpu, "gpu"},
                                                {NvmlLink::Remote::processor, "processor"},
                                                {NvmlLink::Remote::nvswitch, "nvswitch"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlLink, remote, address, version)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlPartition, uuid, profile)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlGpu, address, name, uuid, major, minor, pcie_generation, pcie_width,
                                   most_pcie_generation, most_pcie_width, links, mig, partitions, c2c_links,
                                   c2c_mb_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nvml, driver, gpus)

std::string write_record(const Nvml& nvml) {
  return nlohmann::json(nvml).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Nvml> read_nvml_record(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<Nvml>();
  } catch (const nlohmann::json::exception& error) {  // the JSON library reports errors only by exceptions
    return Status(Code::invalid_argument, fmt::format("cannot parse the record of NVML: {}", error.what()));
  }
}

}  // namespace weir::drivers
