// SPDX-License-Identifier: Apache-2.0
/// Device collectives: a communicator's calls on GPUs that can access each other's memory. The host only
/// queues kernels, which wait for each other on the GPUs. In a group the collectives run first, in order,
/// then all sends and receives at once.
///
/// A single call on one stream is queued on that stream. Other calls are queued on the communicator's own
/// stream, and events order them after and before the work on the callers' streams. Several ranks may thus
/// share one stream in a group, if all calls of the group pass prepare(), enter() and queue() before any
/// passes leave(). If a caller's stream is being captured, the communicator's own becomes part of the graph.
/// Two calls of a communicator never overlap: a call on another stream than the last call waits for that one.
///
/// Threads: one at a time; abort(), idle() and wait_idle() at any time.
/// Tests: tests/core/device_collectives_test.cc
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/call/streams.h"
#include "src/core/gpu/device_monitor.h"
#include "src/core/gpu/device_pairs.h"
#include "src/core/gpu/device_plans.h"
#include "src/core/gpu/peer_access.h"
#include "src/core/gpu/proxy.h"
#include "src/core/placement/local_gpu.h"
#include "src/core/staged/segmentation.h"
#include "src/device/gpu_sharing.h"

namespace weir::core {

class DeviceCollectives {
 public:
  struct Dependencies {
    Rank rank = 0;
    int ranks = 1;
    bool check = true;  ///< signatures travel with operations
    device::Gpus* gpus = nullptr;
    const std::atomic<bool>* aborted = nullptr;
    /// To ranks of other hosts; nobody else uses their transports.
    const Routes* routes = nullptr;
    algorithms::Layout layout;
    /// Who asks about peers, of a scope of its own.
    std::unique_ptr<Bootstrap> bootstrap;
    /// Called once, by another thread, with the first error of a call.
    std::function<void(const Status&)> fail;
  };
  /// A call between its steps.
  struct Call {
    std::vector<Operation> operations;  ///< collectives first
    size_t collectives = 0;
    std::vector<StreamPlace> places;
    std::vector<DevicePlans::Chosen> chosen;  ///< of each operation; null: nothing is to be done
    std::vector<exec::Work> works;
    DevicePairs pairs;
    bool captured = false;
    device::GpuStream stream = nullptr;  ///< where it is queued
    bool own = true;                     ///< that is the communicator's own
  };

  /// Errors: those of the driver.
  static Result<std::unique_ptr<DeviceCollectives>> create(Dependencies dependencies,
                                                           std::unique_ptr<GpuPeerAccess> peer_access);
  /// Waits until the communicator's stream is empty, a while after an abort.
  ~DeviceCollectives();
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  /// The access, once nothing of this object is used any more, and whether its stream is idle.
  static std::pair<std::unique_ptr<GpuPeerAccess>, bool> end(
      std::unique_ptr<DeviceCollectives> device_collectives);

  /// Memory of its GPU that it holds.
  size_t gpu_bytes() const { return peer_access_->memory_bytes(); }
  /// Whether sends and receives go this way, too; the same on all ranks.
  bool exchanges() const { return peer_access_->executor().exchanges(); }
  /// Checks, and makes what the operations need. REQUIRES: collectives alone unless exchanges(). Errors:
  /// invalid_usage for streams or memory of other GPUs; those of the driver.
  /// `alone`: nothing else of a group is to be queued before it ends.
  Result<Call> prepare(std::vector<Operation> operations, std::vector<StreamPlace> places, bool alone);
  /// Instead of the other steps: the call is not made. REQUIRES: nothing was prepared after it.
  void forget(const Call& call) { sequence_ -= static_cast<uint32_t>(call.collectives); }
  /// The communicator's stream comes after what is queued at the places.
  Status enter(const Call& call);
  Status queue(Call& call);
  /// The places come after the call; those that are no streams: waits.
  /// After an error: as give_up().
  Status leave(const Call& call);
  /// After an error of enter() or queue(), or where another call of the group has one: other ranks would wait
  /// for this one, so the communicator ends with `why` on all of them, and nothing waits for the call. A
  /// captured call was not made: it would run only if the capture went well.
  void give_up(const Call& call, const Status& why);

  /// What is queued ends soon, and so does what comes later.
  void abort();
  /// Of all that was queued, but for graphs.
  bool idle() const;
  /// Until idle(), or aborted.
  void wait_idle() const;

 private:
  /// Memory of the GPU for buffers that it does not address, kept from call to call.
  struct Bounce {
    std::byte* memory = nullptr;
    size_t bytes = 0;
  };
  /// Where the bytes of an operation are while it runs.
  struct Buffers {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* factor = nullptr;
  };

  DeviceCollectives(Dependencies dependencies, std::unique_ptr<GpuPeerAccess> peer_access);
  Status make();
  bool is_away(const void* address) const;
  Result<std::byte*> bounce(size_t bytes);
  Status lay_out(Call& call);
  Status lay_out(const Operation& operation, Call& call);
  Status place_buffers(const Operation& operation, exec::Work& work);
  Status bring(const Operation& operation, const exec::Work& work, device::GpuStream stream);
  Status take_back(const Operation& operation, const exec::Work& work, device::GpuStream stream);
  size_t input_bytes(const Operation& operation) const;
  size_t output_bytes(const Operation& operation) const;
  void enter_from_host(device::HostStream* host, uint32_t value);
  void leave_to_host(device::HostStream* host, uint32_t value);
  bool reached(uint32_t value) const;
  void begin(const Call& call);
  void watch(const Call& call, uint32_t value);
  Status let_places_go_on(const Call& call);

  Dependencies dependencies_;
  std::unique_ptr<GpuPeerAccess> peer_access_;
  device::Gpu& gpu_;
  const LocalGpu own_;
  DevicePlans plans_;
  std::array<device::Scalar, kDataTypes> average_factors_{};
  device::GpuEvent entered_ = nullptr;
  device::GpuEvent left_ = nullptr;
  device::GpuEvent last_ = nullptr;  ///< the end of the last call that was not captured
  Pinned flags_;
  device::GpuFlag begun_;  ///< a host stream has come so far
  device::GpuFlag done_;   ///< the number of the last call that is done
  std::atomic<uint32_t> calls_{0};
  std::atomic<int> on_host_{0};  ///< tasks in streams of the host
  std::atomic<bool> aborted_{false};
  uint32_t sequence_ = 0;
  std::vector<Bounce> bounces_;
  size_t next_bounce_ = 0;        ///< of the call that is prepared
  std::unique_ptr<Proxy> proxy_;  ///< null: all ranks are on one host
  std::unique_ptr<DeviceMonitor> monitor_;
};

}  // namespace weir::core
