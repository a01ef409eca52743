/// A communicator: one rank's view of a set of ranks that do collectives together.
///
/// Life: make() gives an object that knows nothing of its peers; connect() meets them (bootstrap, transports);
/// run() carries out operations; finalize() waits for what is under way; the destructor frees.
///
/// Threads: one thread at a time may call connect, run, split and finalize. state(), abort(), rank() and size()
/// may be called from any thread at any time, also while another is inside connect() or run(), and abort() makes
/// that other thread return soon with an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/core/operation.h"
#include "src/core/unique_id.h"
#include "weir/status.h"

namespace weir::device {
class HostStream;
}

namespace weir::core {

class Runtime;

/// What a user may configure per communicator (ncclConfig_t after checking; environment already applied).
struct Config {
  bool blocking = true;
  std::string name;  ///< for messages; may be empty
};

class Communicator {
 public:
  /// A communicator of `ranks` ranks, not connected. `runtime` must outlive it.
  static std::unique_ptr<Communicator> make(Runtime& runtime, const UniqueId& id, int ranks, Rank rank,
                                            const Config& config);
  /// The part of a split that `parent`'s rank belongs to; collective over the parent (call connect() on every
  /// rank). `color` < 0: takes part, and connect() leaves size() at 0.
  static std::unique_ptr<Communicator> make_split(Communicator& parent, int color, int key, const Config& config);
  virtual ~Communicator() = default;

  /// Meets the other ranks. Blocks. Names the culprit when one of them is missing, dead, stopped or different.
  virtual Status connect() = 0;
  /// Carries out operations that belong together (one call, or one group): collectives in the order given, sends
  /// and receives of the span together. With a stream: queues them and returns. Without: returns when done.
  virtual Status run(std::span<const Operation> operations, device::HostStream* stream) = 0;
  /// Waits until everything queued is done.
  virtual Status finalize() = 0;
  /// Ends whatever is under way, here and soon, with an error. Never blocks.
  virtual void abort() = 0;

  /// Success, in_progress, or the first error.
  virtual Status state() const = 0;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual const Config& config() const = 0;
};

/// Carries out operations of several communicators of this process that one thread issued in one group: their
/// ranks may depend on each other, so they advance together. Streams as in Communicator::run.
struct Issue {
  Communicator* communicator = nullptr;
  device::HostStream* stream = nullptr;
  Operation operation;
};
Status run_together(std::span<const Issue> issues);

}  // namespace weir::core
