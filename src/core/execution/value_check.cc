// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/value_check.h"

#include <fmt/format.h>

#include "src/base/log.h"
#include "src/core/call/operation_summary.h"

namespace weir::core {

Status ValueCheck::note(const CollectiveOp& operation, uint64_t call) {
  recorder_.note_bad_values();
  const uint64_t calls = recorder_.bad_values();
  if (!refuses_ && calls < warn_at_) return {};
  const auto* const input = static_cast<const std::byte*>(operation.input);
  const size_t bad = device::index_of_nan_or_inf(operation.type, input, elements(operation));
  const std::string words = fmt::format(
      "{} has {} as element {} of sendbuff in {} as call {} of the communicator (WEIR_CHECK_VALUES)", rank_,
      device::nan_or_inf_text(operation.type, input + bad * size_of(operation.type)), bad,
      describe(summary_of(operation)), call);
  if (refuses_) return {Code::invalid_argument, words + "; expected finite values"};
  warn_at_ *= 10;  // who trains with NaNs has one in each call
  WEIR_WARN("{}; it is bad call {} of this rank, the next warning comes at {}", words, calls, warn_at_);
  return {};
}

}  // namespace weir::core
