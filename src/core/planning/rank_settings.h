// SPDX-License-Identifier: Apache-2.0
/// Settings that must not differ between the ranks of a communicator: those that both ends of a channel use,
/// and those of rank 0 that apply to all ranks.
///
/// Each rank tells, by name, the ones that it has changed. Plain values and functions of them: thread-safe.
/// Tests: tests/core/rank_settings_test.cc, tests/library/mistakes_test.cc
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/options.h"
#include "src/base/status.h"

namespace weir::core {

struct RankSettings {
  std::map<std::string, std::string> changed;  ///< values by name; those left at their default are not in it

  static RankSettings of(const Options& options);
  void put(ByteWriter& out) const;
  static RankSettings get(ByteReader& in);
  /// The default if it was not changed; empty for an unknown name.
  std::string value(const std::string& name) const;
};

/// invalid_usage, with the same message on all ranks, if a setting differs that must be the same: the message
/// has its name, its values and their ranks.
Status check_same(std::span<const RankSettings> by_rank);

/// The settings that decide whom a rank's transports reach, by name. `network`: what the program has chosen.
std::map<std::string, std::string> settings_of_routes(const Options& options, const std::string& network);

/// A sentence for each value that has no effect because rank 0's applies to all ranks.
std::vector<std::string> overruled(std::span<const RankSettings> by_rank);

}  // namespace weir::core
