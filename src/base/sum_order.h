// SPDX-License-Identifier: Apache-2.0
/// What a communicator promises about the order in which it sums (docs/determinism.md).
///
/// Constant data and pure functions: thread-safe.
/// Tests: tests/base/sum_order_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

enum class SumOrder : uint8_t {
  run,    ///< the same in every run of the job: it follows from topology, settings and shipped rates
  any,    ///< whatever is fastest: measured rates count
  ranks,  ///< that of the ranks, for any size, algorithm, transport and distribution over hosts
};

/// "run", "any" or "ranks", as in WEIR_ORDER.
std::string_view name(SumOrder order);
/// The order with that name; nullopt: there is none.
std::optional<SumOrder> sum_order_of(std::string_view name);

}  // namespace weir
