// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/drivers/rocm_smi.h"

namespace weir::drivers {

NLOHMANN_JSON_SERIALIZE_ENUM(RocmSmiLink::Type, {{RocmSmiLink::Type::unknown, "unknown"},
                                                 {RocmSmiLink::Type::pcie, "pcie"},
                                                 {RocmSmiLink::Type::xgmi, "xgmi"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RocmSmiLink, to, type, hops, weight, least_mb_per_s, most_mb_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RocmSmiGpu, address, partition, name, unique_id, numa_node,
                                   compute_partition, memory_partition, links)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RocmSmi, version, gpus)

std::string write_record(const RocmSmi& smi) {
  return nlohmann::json(smi).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<RocmSmi> read_rocm_smi_record(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<RocmSmi>();
  } catch (const nlohmann::json::exception& error) {  // the JSON library reports errors only by exceptions
    return Status(Code::invalid_argument,
                  fmt::format("cannot parse the record of ROCm SMI: {}", error.what()));
  }
}

}  // namespace weir::drivers
