// SPDX-License-Identifier: Apache-2.0
/// Launcher: runs processes of a job, and ends them together.
/// Tests: tests/cli/launcher_test.cc, tests/netlab/hosts_test.py
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cli/child.h"
#include "src/cli/line_relay.h"

namespace weir::cli {

struct LaunchedProcess {
  std::string name;    ///< in messages, such as "rank 3"
  std::string prefix;  ///< of each line of output, if it is captured
  ChildSpec spec;
};

struct LaunchPolicy {
  bool keep_going = false;  ///< a process that a signal killed does not end the others
  std::chrono::seconds grace{
      10};  ///< from a signal to the launcher until SIGKILL of its processes; 0: no limit
  /// Descriptor from which further signals are read, a byte each; its end is SIGTERM. Not owned; -1: none.
  int orders = -1;
};

/// When a process dies (by a signal, or with an exit code other than 0), the others get SIGTERM, and SIGKILL
/// two seconds later. With `keep_going` only exit codes other than 0 end the others; the launcher ignores
/// processes that a signal killed, and kills those that are stopped once all others have ended. SIGINT,
/// SIGTERM and SIGHUP, unless ignored, are passed on to all; what has not ended after `grace` is killed, as
/// is all by a second one. SIGUSR1 and SIGUSR2 are passed on, too, and nothing follows from them. Processes
/// with an input (ChildSpec) get signals but SIGKILL as bytes of it. When run() returns, no process that they
/// started is left.
class Launcher {
 public:
  Launcher(std::vector<LaunchedProcess> processes, LaunchPolicy policy);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// Returns the exit code of the process that died first (its own, or 128 plus the signal); 0 if none died,
  /// or with `keep_going` if signals killed some and others exited with 0. Fails if a program cannot be
  /// started. Call it once. REQUIRES: this process has one thread and no other children.
  Result<int> run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    pid_t pid;
    int input;  ///< for signals; -1: none
    bool ended = false;
    bool stopped = false;
  };

  Status start_all();
  Status prepare_signals();
  void wait_for_something();
  void read_signals();
  void read_orders();
  void pass_on(int signal);
  void find_ended();
  void note_end(size_t index, bool killed, int status);
  void note_stop(Running& process);
  bool only_stopped_are_left() const;
  void signal_all(int signal);
  void end_what_is_left();
  size_t running() const;

  const std::vector<LaunchedProcess> processes_;
  LaunchPolicy policy_;
  std::vector<Running> running_;  ///< index: as processes_
  std::vector<LineRelay> relays_;
  int signals_ = -1;  ///< signalfd
  int code_ = 0;
  int missed_ = 0;              ///< exit code if no process exits with 0
  bool ended_well_ = false;     ///< whether any process exited with 0
  bool kills_stopped_ = false;  ///< whether processes that are stopped have been killed
  int passed_on_ = 0;           ///< number of signals received from outside
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace weir::cli
