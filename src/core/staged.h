/// How a communicator works on memory of a GPU with plans that know only host memory: copied into pinned
/// memory, carried out there, copied back, on a thread of the communicator's own, in the order of the
/// callers' streams. No multiprocessor is used, and no stream spins.
///
/// A call goes through prepare(), begin(), then (of several communicators in one group: after all have begun)
/// end(), on the caller's thread; submitted launches are carried out one after the other on the other.
/// Memory is found in prepare(): from begin() on nothing waits for the driver.
///
/// Large collectives are cut into pieces (cut.h) where any rank of the communicator uses a GPU: ranks on host
/// memory then go the same way.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/core/ferry.h"
#include "src/core/launch.h"
#include "src/core/own_gpu.h"
#include "src/core/pairs.h"
#include "src/core/streams.h"

namespace weir::core {

class Staged {
 public:
  struct Parts {
    Rank rank = 0;
    int ranks = 1;
    size_t message_bytes = 0;      ///< of sends
    device::Gpus* gpus = nullptr;  ///< null: this process uses none
    device::Gpu* gpu = nullptr;    ///< of the communicator; null: as `gpus`
    Pairs* pairs = nullptr;
    const std::atomic<bool>* aborted = nullptr;
    /// Carries operations on host memory out, on the thread of launches.
    std::function<Status(std::span<const Operation>)> run;
  };
  /// What `parts` names outlives it. Costs nothing before it is used.
  explicit Staged(const Parts& parts) : parts_(parts) {}
  /// After stop(). Waits a while for streams that have not seen yet that their last call is done.
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// Whether any of the operations is cut.
  bool cuts(std::span<const Operation> operations) const;

  /// Checks places, and makes memory and flags for the operations. Errors: invalid_usage where the places do
  /// not go together; those of the driver.
  Result<std::shared_ptr<Launch>> prepare(std::vector<Operation> operations, std::span<const Place> places);
  /// Queues on each stream that the call begins. A launch that calls back has `submit` set before.
  Status begin(const std::shared_ptr<Launch>& launch);
  /// Queues on each stream that it goes on when the call is done.
  Status end(const Launch& launch);

  /// The thread that carries launches out.
  device::HostStream& thread() { return *thread_; }
  /// On that thread. Streams go on only after launch.finish().
  Status carry_out(const Launch& launch);
  /// Carries out what was submitted, then ends the thread; what streams come to later is done at once and
  /// does nothing. Again is nothing.
  void stop();
  /// Of a launch that is over, captured or not.
  void leave(const Launch& launch);
  /// Waits until all that was begun, but for graphs, is over, or until the communicator is aborted.
  void wait_idle() const;
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }

 private:
  /// What operations go through: a GPU's, or (pieces of a rank on host memory) of host memory alone.
  struct Engine {
    explicit Engine(device::Gpu* gpu) : staging(gpu) {}

    Staging staging;
    Pinned scalar;
    std::unique_ptr<CopyQueue> in;
    std::unique_ptr<CopyQueue> out;
    std::unique_ptr<Ferry> ferry;
  };
  /// Flags of one stream and the number of its last call.
  struct StreamFlags {
    device::GpuFlag begun;
    device::GpuFlag done;
    device::GpuFlag passed;
    uint32_t calls = 0;
  };

  Status check(std::span<const Operation> operations, std::span<const Place> places) const;
  Result<Engine*> engine(bool on_gpu);
  Result<std::unique_ptr<Engine>> make_engine(device::Gpu* gpu);
  Status reserve(const Launch& launch);
  Status take_marks(Launch& launch, std::span<const Place> places);
  Result<StreamFlags> take_flags();
  OutOfReach out_of_reach(const Operation& operation) const;
  bool is_away(const void* address) const;
  Status wait_for_streams(const Launch& launch) const;
  Status carry_out_collective(Operation operation, OutOfReach away, Engine& engine);
  Status carry_out_pairs(std::span<const Operation> operations, Engine& engine);
  Status read_factor(Reduction& reduction, DataType type, Engine& engine);
  void settle_streams();

  const Parts parts_;
  std::unique_ptr<device::HostStream> thread_;
  std::shared_ptr<Gate> gate_;
  std::unique_ptr<Engine> gpu_engine_;
  std::unique_ptr<Engine> host_engine_;
  std::unordered_map<device::GpuStream, StreamFlags> streams_;
  bool calls_back_ = false;  ///< something was captured
  device::GpuFlag order_;    ///< between streams, since then
  uint32_t ordered_ = 0;     ///< calls
  device::GpuStream last_ = nullptr;
  std::atomic<int64_t> pending_{0};
};

}  // namespace weir::core
