// SPDX-License-Identifier: Apache-2.0
/// Looks for NaNs and infinities in the inputs of collectives (WEIR_CHECK_VALUES). Sums spread them to all
/// ranks, where nobody sees any more where they came from.
///
/// Only for memory of the host. Not thread-safe: belongs to the thread that carries operations out.
/// Tests: tests/api/value_check_test.cc
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/core/call/operation.h"
#include "src/core/diagnosis/recorder.h"
#include "src/device/float_check.h"

namespace weir::core {

class ValueCheck {
 public:
  /// `rank`: described for messages. `recorder` counts the calls; it outlives the object. `refuses`: a bad
  /// call is an error; else it is only warned of.
  ValueCheck(std::string rank, Rank number, int ranks, Recorder& recorder, bool refuses)
      : rank_(std::move(rank)), number_(number), ranks_(ranks), recorder_(recorder), refuses_(refuses) {}

  /// Whether bad calls are errors: their inputs have to be looked at before anything of them is sent.
  bool refuses() const { return refuses_; }
  /// Whether the operation's input has a NaN or an infinity.
  bool is_bad(const CollectiveOp& operation) const {
    if (!reads_input(operation, number_)) return false;
    const size_t count = elements(operation);
    return device::index_of_nan_or_inf(operation.type, operation.input, count) < count;
  }
  /// Counts call number `call`, and warns of it if it is time to. invalid_argument if it is to be refused.
  /// REQUIRES: is_bad(operation).
  Status note(const CollectiveOp& operation, uint64_t call);

 private:
  size_t elements(const CollectiveOp& operation) const {
    return operation.count * (has_many_in(operation.kind) ? static_cast<size_t>(ranks_) : 1);
  }

  const std::string rank_;
  const Rank number_;
  const int ranks_;
  Recorder& recorder_;
  const bool refuses_;
  uint64_t warn_at_ = 1;  ///< number of bad calls at which the next warning comes
};

}  // namespace weir::core
