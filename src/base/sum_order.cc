// SPDX-License-Identifier: Apache-2.0

#include "src/base/sum_order.h"

#include <array>
#include <cstddef>

namespace weir {
namespace {

constexpr std::array<std::string_view, 3> kSumOrders = {"run", "any", "ranks"};

}  // namespace

std::string_view name(SumOrder order) { return kSumOrders[static_cast<size_t>(order)]; }

std::optional<SumOrder> sum_order_of(std::string_view name) {
  for (size_t i = 0; i < kSumOrders.size(); ++i)
    if (kSumOrders[i] == name) return static_cast<SumOrder>(i);
  return std::nullopt;
}

}  // namespace weir
