// SPDX-License-Identifier: Apache-2.0
/// Rates that were measured on this machine before, in one file per kind of communicator.
///
/// Processes may use the same files: they are replaced atomically. An unreadable file counts as missing, with
/// a line in the log.
/// Tests: tests/core/rate_cache_test.cc
#pragma once

#include <optional>
#include <string>

#include "algorithms/cost/rates.h"
#include "src/base/status.h"

namespace weir::core {

class RateCache {
 public:
  /// `folder` may be empty: then nothing is read or written. `about`: one line that describes what the rates
  /// depend on; it is stored in the file, whose rates are used only if it is the same.
  RateCache(std::string folder, std::string about);

  std::optional<cost::Rates> read() const;
  /// Errors: system_error, with a sentence for users, if the file cannot be written.
  Status write(const cost::Rates& rates) const;

 private:
  std::string folder_;
  std::string about_;
  std::string head_;  ///< first line of the file
  std::string file_;
};

}  // namespace weir::core
