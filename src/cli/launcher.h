// SPDX-License-Identifier: Apache-2.0
/// Launcher: runs a program as several local ranks, and ends them together.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cli/binding.h"
#include "src/cli/child.h"
#include "src/cli/line_relay.h"

namespace weir::cli {

struct LaunchRequest {
  std::vector<std::string> command;
  int ranks = 1;
  int nodes = 1;  ///< more than 1: simulates that many hosts with equal shares of the ranks (NCCL_HOSTID)
  std::vector<int>
      host_ranks;  ///< number of ranks of each pretended host (LOCAL_RANK); empty: none is pretended
  std::vector<std::pair<std::string, std::string>> environment;  ///< further variables of all ranks
  BindMode bind = BindMode::automatic;
  bool keep_going = false;         ///< a rank that a signal killed does not end the other ranks
  bool plain = false;              ///< pass output on unchanged, without the prefix "[rank] "
  std::chrono::seconds grace{10};  ///< from a signal to the launcher until SIGKILL of its ranks; 0: no limit
  std::optional<std::string>
      comm_id;          ///< NCCL_COMM_ID; nullopt: a free port of the loopback interface; empty: unset
  std::string preload;  ///< library for LD_PRELOAD; empty: none
  std::string heap;     ///< another one, loaded before it; empty: none
  std::vector<std::string> stand_ins;  ///< further ones, loaded last: stand-ins of a vendor's libraries
};

/// Each rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and NCCL_COMM_ID,
/// and WEIR_SECRET with random bits if the launcher chooses that address and no secret is set. When a rank
/// dies (by a signal, or with an exit code other than 0), the others get SIGTERM, and SIGKILL two seconds
/// later. With `keep_going` only exit codes other than 0 end the others; the launcher ignores ranks that a
/// signal killed, and kills ranks that are stopped once all others have ended. SIGINT, SIGTERM and SIGHUP,
/// unless ignored, are passed on to all ranks; what has not ended after `grace` is killed, as is all by a
/// second one. SIGUSR1 and SIGUSR2 are passed on, too, and nothing follows from them. When run() returns, no
/// process that the ranks started is left.
class Launcher {
 public:
  explicit Launcher(LaunchRequest request);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// Returns the exit code of the rank that died first (its own, or 128 plus the signal); 0 if none died, or
  /// with `keep_going` if signals killed some ranks and others exited with 0. Fails if the program cannot be
  /// started. Call it once. REQUIRES: this process has one thread and no other children.
  Result<int> run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    pid_t pid;
    bool ended = false;
    bool stopped = false;
  };

  Status start_all();
  Status prepare_signals();
  void wait_for_something();
  void read_signals();
  void find_ended();
  void note_end(int rank, bool killed, int status);
  void note_stop(Rank& rank);
  bool only_stopped_are_left() const;
  void signal_all(int signal);
  void end_what_is_left();
  size_t running() const;

  const LaunchRequest request_;
  std::vector<Rank> ranks_;
  std::vector<LineRelay> relays_;
  int signals_ = -1;  ///< signalfd
  int code_ = 0;
  int missed_ = 0;              ///< exit code if no rank exits with 0
  bool ended_well_ = false;     ///< whether any rank exited with 0
  bool kills_stopped_ = false;  ///< whether ranks that are stopped have been killed
  int passed_on_ = 0;           ///< number of signals received from outside
  std::optional<Clock::time_point> kill_at_;
};

/// Two ports of the loopback interface on which nobody listens now.
Result<std::pair<int, int>> free_ports();

}  // namespace weir::cli
