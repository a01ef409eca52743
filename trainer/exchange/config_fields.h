// SPDX-License-Identifier: Apache-2.0
/// Fields of a `config.json` of Hugging Face's, with sentences about those that are wrong. Pure.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "trainer/math/lanes.h"

namespace weir::trainer {

inline constexpr Index kMostLayers = 1000;
inline constexpr Index kLargestSize = Index{1} << 20;

/// invalid_argument for what is no JSON.
Status parse_json(std::string_view text, nlohmann::json& all);

/// A field, or `otherwise` if there is none. Lists and objects, of which no field consists, become their
/// names: deep ones would be copied and printed by as many nested calls.
nlohmann::json field(const nlohmann::json& all, const char* name, const nlohmann::json& otherwise);

/// A whole number from 1 to `most`; otherwise invalid_argument that names the field.
Status read_size(const nlohmann::json& all, const char* name, const nlohmann::json& otherwise, Index most,
                 Index& size);
/// A number above 0, rounded to a float.
Status read_positive(const nlohmann::json& all, const char* name, double otherwise, float& number);
Status read_flag(const nlohmann::json& all, const char* name, bool otherwise, bool& flag);
/// An error unless the field has the only value that this trainer supports.
Status check_fixed(const nlohmann::json& all, const char* name, const nlohmann::json& otherwise,
                   const nlohmann::json& expected);

}  // namespace weir::trainer
