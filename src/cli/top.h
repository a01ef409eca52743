// SPDX-License-Identifier: Apache-2.0
/// weir top: how many bytes per second go along each link between ranks, now.
#pragma once

#include <string>
#include <vector>

#include "src/survey/survey.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct TopArguments {
  survey::Request request;
  double seconds = 1;  ///< between looks
  bool once = false;   ///< one table, then end
};

/// All channels from a rank to another one over one transport, between two looks.
struct LinkRate {
  std::string communicator;
  Rank from = 0;
  Rank to = 0;
  std::string transport;
  int channels = 0;
  double bytes_per_s = 0;
  double messages_per_s = 0;
  uint64_t bytes = 0;  ///< in all
};

/// Of two looks at the same processes, the busiest first. A link that only its receiver tells of counts by
/// what that has received.
std::vector<LinkRate> rates_between(const std::vector<survey::Asked>& before,
                                    const std::vector<survey::Asked>& after);

/// The subcommand top.
void add_top(CLI::App& app, TopArguments& arguments);
/// The exit code.
int run_top(TopArguments arguments);

}  // namespace weir::cli
