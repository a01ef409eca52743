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
    bool check = true;  ///< true: signatures are sent with operations and compared
    device::Gpus* gpus = nullptr;
    const std::atomic<bool>* aborted = nullptr;
    /// Routes to ranks of other hosts; only this object uses their transports.
    const Routes* routes = nullptr;
    algorithms::Layout layout;
    SumOrder order = SumOrder::run;
    const ir::LoadedPlans* loaded = nullptr;  ///< the user's plans, which outlive this; null: none
    /// Bootstrap of its own scope, through which the monitor asks about peers.
    std::unique_ptr<Bootstrap> bootstrap;
    /// Called once, by the monitor's thread, with the first error of a call.
    std::function<void(const Status&)> fail;
  };
  /// The state of a call from prepare() to leave().
  struct Call {
    std::vector<Operation> operations;  ///< operations, collectives first
    size_t collectives = 0;
    std::vector<StreamPlace> places;
    std::vector<DevicePlans::Chosen> chosen;  ///< plan of each operation; null: it has nothing to do
    std::vector<exec::Work> works;
    DevicePairs pairs;
    bool captured = false;
    device::GpuStream stream = nullptr;  ///< stream on which the call is queued
    bool own = true;                     ///< true: `stream` is the communicator's own
    size_t next = 0;                     ///< operation that queue() continues
    size_t part = 0;                     ///< part of it that is next
    bool begun = false;                  ///< true: it has a number
  };

  /// Errors: those of the driver.
  static Result<std::unique_ptr<DeviceCollectives>> create(Dependencies dependencies,
                                                           std::unique_ptr<GpuPeerAccess> peer_access);
  /// Ends the threads of the monitor and the proxy, and frees events and buffers.
  ~DeviceCollectives();
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  /// Ends the object: waits for its stream for a limited time, and returns the peer access and whether the
  /// stream is idle.
  static std::pair<std::unique_ptr<GpuPeerAccess>, bool> end(
      std::unique_ptr<DeviceCollectives> device_collectives);

  /// Memory of the GPU that it holds; bytes.
  size_t gpu_bytes() const { return peer_access_->memory_bytes(); }
  /// Returns whether sends and receives are carried out here, too; the same on all ranks.
  bool exchanges() const { return peer_access_->executor().exchanges(); }
  /// Checks the operations and allocates what they need. REQUIRES: only collectives unless exchanges().
  /// Errors: invalid_usage for streams or memory of other GPUs; those of the driver. `alone`: no other call
  /// of a group is queued before this one is finished.
  Result<Call> prepare(std::vector<Operation> operations, std::vector<StreamPlace> places, bool alone);
  /// Drops a prepared call instead of queuing it. REQUIRES: no call was prepared after it.
  void forget(const Call& call) { sequence_ -= static_cast<uint32_t>(call.collectives); }
  /// Orders the call's stream after the work that is queued at the places.
  Status enter(const Call& call);
  /// Queues a part of the call, and returns whether parts are left (Queued::queue_part).
  Result<bool> queue(Call& call);
  /// Orders the places after the call; waits for the call if a place is no stream. After an error it calls
  /// give_up().
  Status leave(const Call& call);
  /// Call it after an error of enter() or queue(), of this call or of another one of the group. Other ranks
  /// would wait for this one, so the communicator fails with `why` on all ranks, and no stream waits for the
  /// call. A captured call is only dropped, because its graph does not run.
  void give_up(const Call& call, const Status& why);

  /// Ends all queued and all later calls soon, with an error.
  void abort();
  /// Returns whether all queued calls except those of graphs are done.
  bool idle() const;
  /// Waits until idle(), or until the communicator is aborted.
  void wait_idle() const;

 private:
  struct Memory;
  /// The addresses of an operation's data while it runs.
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
  void begin(Call& call);
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
  device::GpuEvent last_ = nullptr;  ///< end of the last call that was not captured
  const std::shared_ptr<Memory> memory_;
  device::GpuFlag begun_;  ///< number of the last call that a host stream has reached
  device::GpuFlag done_;   ///< number of the last call that is done
  std::atomic<uint32_t> calls_{0};
  std::atomic<int> on_host_{0};  ///< number of tasks queued on host streams
  std::atomic<bool> aborted_{false};
  uint32_t sequence_ = 0;
  size_t next_bounce_ = 0;        ///< next unused one of Memory::bounces, for the call that is prepared
  std::unique_ptr<Proxy> proxy_;  ///< null: all ranks are on one host
  std::unique_ptr<DeviceMonitor> monitor_;
};

}  // namespace weir::core
