// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/protocols.h"

#include <algorithm>
#include <optional>

#include "algorithms/cost/lists.h"
#include "src/base/text.h"

namespace weir::core {
namespace {

constexpr std::string_view kNames[] = {"LL", "LL128", "Simple"};

std::optional<cost::Names> meaning(std::string_view word) {
  for (const std::string_view name : kNames)
    if (equals_ignoring_case(name, word)) return cost::Names{name};
  return std::nullopt;
}

}  // namespace

Result<Protocols> Protocols::parse(std::string_view text) {
  const auto refused = cost::left_out(
      text, {"protocol", {std::begin(kNames), std::end(kNames)}, "LL, LL128, Simple", meaning});
  WEIR_TRY(refused.status());
  Protocols protocols;
  for (size_t kind = 0; kind < kCollectives; ++kind) {
    const auto allowed = [&](std::string_view name) {
      return std::ranges::find((*refused)[kind], name) == (*refused)[kind].end();
    };
    protocols.fast[kind] = allowed("LL") || allowed("LL128");
    protocols.simple[kind] = allowed("Simple");
  }
  return protocols;
}

}  // namespace weir::core
