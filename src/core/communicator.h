/// A communicator: one rank's view of a set of ranks that do collectives together.
///
/// Life: constructed, it knows nothing of its peers; connect() meets them (bootstrap, transports); run()
/// carries out operations; finalize() waits for what is under way; the destructor frees.
///
/// Threads: one thread at a time may call connect, run, finalize and split from it. state(), net_counters(),
/// abort(), rank() and size() may be called from any thread at any time, also while another is inside
/// connect() or run(), and abort() makes that other thread return soon with an error. Streams carry
/// operations out on threads of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/core/admission.h"
#include "src/core/operation.h"
#include "src/core/turnstile.h"
#include "src/core/unique_id.h"
#include "transports/transports.h"
#include "weir/status.h"

namespace weir {
class Door;
}
namespace weir::device {
class HostStream;
}

namespace weir::core {

class Bootstrap;
class Runtime;
struct Connected;

/// What a user may configure per communicator (ncclConfig_t after checking; environment already applied).
struct Config {
  bool blocking = true;  ///< false: connect and run return in_progress at once and go on in the background
  std::string name;      ///< for messages; may be empty
  NetworkChoice network;
};

class Communicator {
 public:
  /// A communicator of `ranks` ranks, not connected. `runtime` must outlive it.
  Communicator(Runtime& runtime, const UniqueId& id, int ranks, Rank rank, Config config);
  /// The part of a split that the parent's rank will belong to, not connected; connecting is collective over
  /// the parent, which must live until then. color < 0: takes part in the split, and ends with size() 0.
  Communicator(Communicator& parent, int color, int key, Config config);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Meets the other ranks. Names the culprit when one of them is missing, dead, stopped or different. Not
  /// blocking: in_progress, and state() tells the rest.
  Status connect();
  /// Carries out operations that belong together (one call, or one group): collectives in the order given,
  /// sends and receives side by side. With a stream, or not blocking: queues them and returns; with a stream
  /// it waits first while more is queued than Options::admitted_* allow. Else returns when done.
  Status run(std::span<const Operation> operations, device::HostStream* stream);
  /// Waits until everything queued is done; not blocking: in_progress while something is.
  Status finalize();
  /// Ends whatever is under way, here and soon, with an error. Does not wait.
  void abort();

  /// Success, in_progress, or the first error. An error stays.
  Status state() const;
  /// What its transports have carried over networks so far, calibration included, over all of them. Does not
  /// wait for operations. An error that says why, where it has not met its peers (yet).
  Result<NetCounters> net_counters() const;
  Rank rank() const { return rank_; }
  int size() const { return ranks_; }
  const Config& config() const { return config_; }

 private:
  friend Status run_together(std::span<const struct Target> targets, std::span<const Operation> operations);

  struct SplitFrom {
    Communicator* parent;
    int color;
    int key;
  };
  /// Operations of one communicator and their place in its line.
  struct Share {
    Communicator* communicator;
    std::vector<Operation> operations;
    uint64_t ticket;
    Admission::Load load;  ///< that was admitted
  };

  Status connect_now();
  Status join_root();
  Status join_split();
  Status build(std::shared_ptr<Door> door, std::unique_ptr<Bootstrap> bootstrap);
  Status usable() const;
  Status run_in_turn(std::span<const Operation> operations, device::HostStream* stream);
  /// Carries shares of several communicators out together, each in its turn, on this thread.
  static Status carry_out(std::span<Share> shares);
  /// What goes to a stream, with its place in line; waits until it is admitted.
  Share queue(std::vector<Operation> operations);
  Result<device::HostStream*> background();
  void set_state(const Status& status);
  void log_counters() const;

  Runtime& runtime_;
  const UniqueId id_;
  const std::optional<SplitFrom> split_;
  int ranks_;
  Rank rank_;
  const Config config_;
  uint32_t splits_ = 0;  ///< begun from this communicator; the same number on all its ranks
  bool queued_ = false;  ///< something was queued once: from then on every operation waits for its turn
  std::atomic<bool> aborted_{false};
  std::atomic<int> code_{static_cast<int>(Code::invalid_usage)};  ///< of state_, for the quick look of run()
  mutable std::mutex mutex_;
  Status state_;
  Turnstile turns_;
  Admission admission_;
  std::unique_ptr<Connected> connected_;
  std::unique_ptr<device::HostStream> background_;
};

/// Where an operation of a group goes.
struct Target {
  Communicator* communicator = nullptr;
  device::HostStream* stream = nullptr;

  bool operator==(const Target&) const = default;
};

/// Carries out what one thread issued in one group, targets[i] telling where operations[i] goes: one or
/// several communicators of this process. Their ranks may depend on each other, so they advance together.
/// Streams as in Communicator::run. REQUIRES: at least one operation.
Status run_together(std::span<const Target> targets, std::span<const Operation> operations);

}  // namespace weir::core
