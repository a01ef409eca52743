// SPDX-License-Identifier: Apache-2.0
/// Rates that were measured on this machine before, in a file per kind of communicator.
///
/// Thread-safe between processes: files appear whole or not at all. Nothing here fails: what cannot be read
/// is as if it was not there, with a line in the log, and what cannot be written is measured again.
#pragma once

#include <optional>
#include <string>

#include "algorithms/cost/rates.h"

namespace weir::core {

class RateCache {
 public:
  /// `folder` may be empty: then nothing is known or kept. `about`, one line, says what the rates depend on:
  /// the file carries it, and counts only for the same.
  RateCache(std::string folder, std::string about);

  std::optional<cost::Rates> read() const;
  void write(const cost::Rates& rates) const;

 private:
  std::string folder_;
  std::string about_;
  std::string head_;  ///< first line of the file
  std::string file_;
};

}  // namespace weir::core
