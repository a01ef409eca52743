// SPDX-License-Identifier: Apache-2.0
/// weir top: the current data rate of operations, and between each pair of ranks.
/// Tests: tests/cli/ps_test.cc, tests/cli/top_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/survey/survey.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct TopArguments {
  survey::SurveyRequest request;
  double seconds = 1;  ///< interval between samples; s
  bool once = false;   ///< print one table, then exit
};

/// All channels from one rank to another over one transport, between two samples.
struct LinkRate {
  std::string communicator;
  Rank from = 0;
  Rank to = 0;
  std::string transport;
  int channels = 0;
  double bytes_per_s = 0;
  double messages_per_s = 0;
  uint64_t bytes = 0;  ///< total of all samples
};

/// Compares two samples of the same processes; the fastest link first. The receiver's counts apply only if
/// the sender's are missing.
std::vector<LinkRate> rates_between(const std::vector<survey::QueriedProcess>& before,
                                    const std::vector<survey::QueriedProcess>& after);

/// All operations of one kind of a communicator, between two samples; those of the rank that made most.
struct CallRate {
  std::string communicator;
  Collective kind = Collective::send_recv;
  double calls_per_s = 0;
  double bytes_per_s = 0;  ///< of their sizes, as nccl-tests counts these
  double bytes = 0;        ///< total of all samples
};

/// Compares two samples of the same processes; the most bytes first. Empty where recording is off. Counts
/// what went through shared memory, too, which no channel carries.
std::vector<CallRate> calls_between(const std::vector<survey::QueriedProcess>& before,
                                    const std::vector<survey::QueriedProcess>& after);

void add_top(CLI::App& app, TopArguments& arguments);
/// Returns the exit code.
int run_top(TopArguments arguments);

}  // namespace weir::cli
