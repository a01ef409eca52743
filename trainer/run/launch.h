// SPDX-License-Identifier: Apache-2.0
/// Whether this process starts the ranks of a run, or is one of them.
/// Tests: tests/trainer/launch_test.cc
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "weir/launched.h"

namespace weir::trainer {

/// What start_ranks() puts before the arguments of the ranks, with the descriptor of shared_errors.h: so they
/// know that --ranks and --hosts are those by which they were started.
inline constexpr std::string_view kStarted = "--started=";

/// What `weir run` is asked to start.
struct Launch {
  int ranks = 0;          ///< 0: as many as `hosts` says
  std::string hosts{};    ///< as `weir run --hosts` takes them; empty: this machine
  bool regroups = false;  ///< ranks that die do not end the others
  int spares = 0;         ///< further processes, which take the places of ranks that die
  std::string job{};      ///< addresses of a running job, separated by commas, that the processes join
  bool started = false;   ///< start_ranks() has started this process

  bool asked() const { return ranks != 0 || !hosts.empty(); }
};

/// Whether this process is to start the ranks. By `variables`, another launcher may have started it: then it
/// is one of that launcher's ranks. Pure. Errors: invalid_argument if `launch` asks for other ranks than
/// those.
Result<bool> starts_ranks(const Launch& launch, const Lookup& variables);

/// Replaces this process by `weir run`, found beside the program, which starts it again as the ranks of
/// `launch` with the same arguments, and gives them any time after a signal. Returns only if that is
/// impossible, with the reason.
Status start_ranks(const Launch& launch, char** arguments);

}  // namespace weir::trainer
