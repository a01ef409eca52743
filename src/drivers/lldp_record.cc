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
  } catch (const nlohmann::json::exception& error) {  // the library has no other way to say what is wrong
    return Status(Code::invalid_argument,
                  fmt::format("the record of lldpd cannot be read: {}", error.what()));
  }
}

}  // namespace weir::drivers
