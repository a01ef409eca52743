// SPDX-License-Identifier: Apache-2.0
/// JSON values in the format of Python's module pickle (protocol 2, which Python 2.3 and later read): objects
/// become dicts, arrays lists.
///
/// Pure.
/// Tests: tests/cli/flight_records_test.cc
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir::cli {

/// REQUIRES: texts are valid UTF-8, as those of parsed JSON are.
std::string pickle_of(const nlohmann::ordered_json& value);

}  // namespace weir::cli
