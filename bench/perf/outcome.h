// SPDX-License-Identifier: Apache-2.0
/// Outcome: the result of functions of the bench that can fail, in nccl-tests' output format.
///
/// A failure has an exit code, one sentence, and the source locations that it passed. Values; distinct
/// objects may be used from distinct threads.
/// may be used from distinct threads.
#pragma once

#include <nccl.h>

#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace weir::perf {

/// Exit codes of the process; numbers as in nccl-tests.
enum class ExitCode : int {
  success = 0,
  internal = 1,
  device = 2,
  nccl = 3,
  timeout = 4,
  not_implemented = 5,
  usage = 6,
  wrong = 7,  ///< wrong values were found, or the bandwidth is too low
};

class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  static Outcome failure(ExitCode code, std::string sentence,
                         std::source_location where = std::source_location::current());

  bool ok() const { return failure_ == nullptr; }
  ExitCode code() const { return failure_ ? failure_->code : ExitCode::success; }
  /// Error message; empty on success.
  std::string message() const { return failure_ ? failure_->sentence : std::string(); }
  /// The same failure with one more source location.
  Outcome through(std::source_location where) &&;
  /// The lines to print: what failed and where, then one line per source location.
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

/// A failure with the library's error string for `result` and its last error, if there is one.
Outcome nccl_failure(ncclResult_t result, std::source_location where = std::source_location::current());

inline Outcome nccl(ncclResult_t result, std::source_location where = std::source_location::current()) {
  if (result == ncclSuccess) [[likely]]
    return Outcome();
  return nccl_failure(result, where);
}

/// Name of this host up to the first dot.
std::string host_name();

}  // namespace weir::perf

/// Returns the failure of `expression` (an Outcome) from the enclosing function, if it is one.
#define WEIR_TRY(expression)                                                     \
  do {                                                                           \
    if (::weir::perf::Outcome weir_outcome_ = (expression); !weir_outcome_.ok()) \
      return std::move(weir_outcome_).through(std::source_location::current());  \
  } while (false)
