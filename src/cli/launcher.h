// SPDX-License-Identifier: Apache-2.0
/// Launcher: runs a program as several local ranks, and ends them together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/binding.h"
#include "src/cli/child.h"
#include "src/cli/line_relay.h"
#include "weir/status.h"

namespace weir::cli {

struct LaunchRequest {
  std::vector<std::string> command;
  int ranks = 1;
  int nodes = 1;  ///< several: as if the ranks were on that many hosts, in equal shares (NCCL_HOSTID)
  BindMode bind = BindMode::automatic;
  bool keep_going = false;             ///< ranks that a signal has killed are not the end of the others
  bool plain = false;                  ///< output goes out as it is, without "[rank] "
  std::optional<std::string> comm_id;  ///< NCCL_COMM_ID; nothing: a free port of the loopback; empty: unset
  std::string preload;                 ///< library for LD_PRELOAD; empty: none
};

/// Each rank sees RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and NCCL_COMM_ID.
/// When one dies (by a signal, or with a code other than 0) the others get SIGTERM, and two seconds later
/// SIGKILL. With `keep_going` that holds for codes other than 0 only: who is killed by a signal is missed by
/// nobody here, and ranks that are stopped by a signal are killed when all others have ended. SIGINT, SIGTERM
/// and SIGHUP, where they are not ignored, are passed on to all; a second one kills. Nothing that the ranks
/// have started is left when run() returns.
class Launcher {
 public:
  explicit Launcher(LaunchRequest request);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// The exit code of the rank that died first: its own, or 128 plus the signal; 0 if none did, or with
  /// `keep_going` if a signal killed them and others ended well. Fails if the program cannot be started.
  /// Once. REQUIRES: this process has one thread and no other children.
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
  int signals_ = -1;  ///< a signalfd
  int code_ = 0;
  int missed_ = 0;              ///< what code_ is if nobody ends well
  bool ended_well_ = false;     ///< somebody
  bool kills_stopped_ = false;  ///< those that nobody else would end
  int passed_on_ = 0;           ///< signals that came from outside
  std::optional<Clock::time_point> kill_at_;
};

/// Two ports of the loopback that nobody listens at now.
Result<std::pair<int, int>> free_ports();

}  // namespace weir::cli
