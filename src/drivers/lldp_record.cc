// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/drivers/lldp.h"

namespace weir::drivers {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LldpNeighbor, interface, chassis, chassis_name, port, is_switch)

std::string write_record(const std::vector<LldpNeighbor>& neighbors) {
  return nlohmann::json(neighbors).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<std::vector<LldpNeighbor>> read_lldp_record(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<std::vector<LldpNeighbor>>();
  } catch (const nlohmann::json::exception& error) {  // the JSON library reports errors only by exceptions
    return Status(Code::invalid_argument, fmt::format("cannot parse the record of lldpd: {}", error.what()));
  }
}

}  // namespace weir::drivers
