// SPDX-License-Identifier: Apache-2.0
/// Outcome: how every function of the bench that can fail says so, in the form that nccl-tests prints.
///
/// A failure is an exit code, one sentence, and the places it passed on its way up. Values; distinct objects
/// may be used from distinct threads.
#pragma once

#include <nccl.h>

#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace weir::perf {

/// What the process returns; the numbers are those of nccl-tests.
enum class ExitCode : int {
  success = 0,
  internal = 1,
  device = 2,
  nccl = 3,
  timeout = 4,
  not_implemented = 5,
  usage = 6,
  wrong = 7,  ///< wrong values were found, or too little bandwidth
};

class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  static Outcome failure(ExitCode code, std::string sentence,
                         std::source_location where = std::source_location::current());

  bool ok() const { return failure_ == nullptr; }
  ExitCode code() const { return failure_ ? failure_->code : ExitCode::success; }
  /// The sentence; empty on success.
  std::string message() const { return failure_ ? failure_->sentence : std::string(); }
  /// The same failure, having passed one more place.
  Outcome through(std::source_location where) &&;
  /// The lines to print: what failed and where, then one line per place it passed.
  std::string report() const;

 private:
  struct Failure {
    ExitCode code;
    std::string sentence;
    std::source_location origin;
    std::vector<std::source_location> passed;
  };
  std::unique_ptr<Failure> failure_;
};

/// A failure with the library's own words for `result` and its last error, when there is one.
Outcome nccl_failure(ncclResult_t result, std::source_location where = std::source_location::current());

inline Outcome nccl(ncclResult_t result, std::source_location where = std::source_location::current()) {
  if (result == ncclSuccess) [[likely]]
    return Outcome();
  return nccl_failure(result, where);
}

/// The name of this host up to its first dot.
std::string host_name();

}  // namespace weir::perf

/// Leaves the enclosing function with the failure of `expression` (an Outcome), if it is one.
#define WEIR_TRY(expression)                                                     \
  do {                                                                           \
    if (::weir::perf::Outcome weir_outcome_ = (expression); !weir_outcome_.ok()) \
      return std::move(weir_outcome_).through(std::source_location::current());  \
  } while (false)
