// SPDX-License-Identifier: Apache-2.0
/// The resources of a connected communicator rank, in the order of construction; destroyed in reverse order.
///
/// Resources::build makes them, collectively over the bootstrap. Used by one thread at a time.
/// Tests: tests/api/life_test.cc
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/host.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/call/config.h"
#include "src/core/call/lifecycle.h"
#include "src/core/call/operation_queue.h"
#include "src/core/channels/link_speeds.h"
#include "src/core/channels/links.h"
#include "src/core/channels/network_report.h"
#include "src/core/channels/profiler_feed.h"
#include "src/core/channels/routes.h"
#include "src/core/communicator/runtime.h"
#include "src/core/execution/execution.h"
#include "src/core/execution/host_backend.h"
#include "src/core/execution/pairs.h"
#include "src/core/execution/value_check.h"
#include "src/core/gpu/device_backend.h"
#include "src/core/placement/job_topology.h"
#include "src/core/planning/common.h"
#include "src/core/planning/host_board.h"
#include "src/core/planning/peer_info.h"
#include "src/core/planning/plan_cache.h"
#include "src/core/planning/selector.h"
#include "src/core/planning/tuning_result.h"
#include "src/core/pretended/pretended_pace.h"
#include "src/core/staged/staged_backend.h"
#include "src/exec/allocations.h"
#include "src/exec/shm_collectives.h"
#include "transports/memory/segment.h"
#include "transports/transports.h"

namespace weir::core {

/// Data about all ranks, computed from their exchanged PeerInfo, the same on all ranks. The ranks of a
/// process share one object and only read it, except `board`, `tables`, `trees`, `plans` and
/// `pretended_times`, which are thread-safe.
struct PeerTable {
  std::vector<PeerInfo> peer_infos;    ///< infos by rank
  std::vector<std::string> overruled;  ///< sentences about settings that have no effect
  SumOrder order = SumOrder::run;
  SharedSettings shared_settings;
  JobTopology cluster;
  std::vector<int> pretended_places;  ///< devices of the ranks, by their numbers in the cluster that the job
                                      ///< pretends to run on; empty: it does not pretend
  std::unique_ptr<HostBoard> board;
  SharedTables tables;
  SharedTrees trees;
  ProvenPlans plans;
  std::unique_ptr<PretendedTimes> pretended_times = nullptr;  ///< null: the job does not pretend
};

/// The communicator for which back ends are made; all of it outlives them.
struct BackendOwner {
  Runtime& runtime;
  const Config& config;
  device::Gpus* gpus;  ///< null: none
  device::Gpu* gpu;    ///< likewise
  Lifecycle& lifecycle;
  OperationQueue& queue;
};

struct Resources {
  static constexpr size_t kBackends = 3;

  std::shared_ptr<Listener> listener;
  std::unique_ptr<Bootstrap> bootstrap;
  std::shared_ptr<PeerTable> peer_table;
  std::optional<device::SharedMemory> board_memory;  ///< only in the process that made it
  std::unique_ptr<Segment> segment;
  std::vector<std::unique_ptr<Transport>> transports;
  std::unique_ptr<NetworkReport> network_report;
  std::unique_ptr<Routes> routes;
  std::unique_ptr<ProfilerFeed> profile;  ///< null: no profiler plugin
  std::unique_ptr<Links> links;
  std::unique_ptr<exec::Allocations> allocations;  ///< null outside an island, like shm_collectives
  std::unique_ptr<exec::ShmCollectives> shm_collectives;
  std::bitset<kCollectives> exchanged;          ///< collectives that shm_collectives carries out
  std::unique_ptr<drivers::Tuner> tuner;        ///< null: no tuner plugin
  std::unique_ptr<TuningResult> tuning_result;  ///< result of rank 0's tuner, on all ranks; null: it has none
  std::shared_ptr<const ir::LoadedPlans> loaded_plans;  ///< plans from files; null: there are none
  std::unique_ptr<Selector> selector;
  std::unique_ptr<PlanCache> plans;
  std::unique_ptr<Pairs> pairs;
  std::unique_ptr<OneSidedTask> one_sided;
  std::unique_ptr<LinkSpeeds> speeds;
  std::unique_ptr<ValueCheck> values;  ///< null: WEIR_CHECK_VALUES is off, or the rank uses a GPU
  std::unique_ptr<Execution> execution;
  std::unique_ptr<PretendedPace> pace;  ///< null: the job does not pretend to run on another cluster
  std::unique_ptr<WindowRegistry::Registration>
      registration;             ///< registration of its windows; null before register_windows()
  int local_ranks = 0;          ///< ranks on this machine, even if NCCL_HOSTID divides it into several hosts
  int local_cores = 0;          ///< cores that the local ranks may use together
  bool kernel_reads = true;     ///< PeerInfo::kernel_reads of all local ranks
  int gpu_sharers = 0;          ///< ranks of this process on this rank's GPU, itself included
  bool gpus_somewhere = false;  ///< true: the process of some rank uses GPUs
  uint32_t splits = 0;          ///< splits begun from this communicator; the same number on all its ranks
  std::unique_ptr<HostBackend> host;
  std::unique_ptr<StagedBackend> staged;  ///< null where no rank uses a GPU
  std::unique_ptr<DeviceBackend> device;  ///< null where collectives are not carried out on GPUs

  /// Builds all members from `segment` on. Collective. If it fails here, the other ranks are told.
  static Result<std::unique_ptr<Resources>> build(Runtime& runtime, std::shared_ptr<Listener> listener,
                                                  std::unique_ptr<Bootstrap> bootstrap, const Config& config,
                                                  const device::Gpu* gpu);
  /// Lets other ranks write to `space` from now on.
  void register_windows(WindowRegistry& windows, std::shared_ptr<WindowSpace> space);
  /// Makes the back ends. Collective; the last step.
  Status make_backends(const BackendOwner& owner);
  /// The back ends in the order in which they take operations; null: this communicator has none of the kind.
  std::array<Backend*, kBackends> backends() const { return {device.get(), staged.get(), host.get()}; }
  /// Ends what the back ends carry out, soon, with an error.
  void abort();
  /// Waits until the back ends have nothing queued or under way.
  void wait_idle();
  /// Ends those on GPUs, in that order; the one on host memory ends with this object.
  void end_gpu_backends();
  /// Bytes of memory that it holds for this rank: pages in use of the memory that ranks of a host share, and
  /// what it took of its GPU.
  uint64_t memory_bytes() const;
  /// One line for the log: ranks on this machine, cores, transports and the use of shared memory.
  std::string describe() const;

 private:
  Status assemble(Runtime& runtime, const Config& config, const device::Gpu* gpu);
  /// `no_segment`: why there is no segment, if there is none.
  Status find_routes(Runtime& runtime, const NetworkChoice& network, const device::Gpu* gpu,
                     const std::string& no_segment);
  void warn_of_substitutes(const Options& options) const;
  void join_island(Runtime& runtime, const std::vector<exec::ExchangeArea>& exchange_areas,
                   const std::vector<Doorbell*>& doorbells);
  Status meet(Runtime& runtime, const Config& config, const device::Gpu* gpu);
  void count_neighbours();
  uint32_t rendezvous_bytes() const;
  algorithms::Layout layout() const;
  void make_execution(const Options& options);
  void make_selector(const algorithms::Layout& layout, const SharedScratch& scratch);
  Status settle(Runtime& runtime, const Config& config);
  cost::Rates stated_rates() const;
  Status settle_rates(const Options& options);
  Status take_tuning_result();
  Status take_loaded_plans(const Config& config, const std::string& path);
  void limit_senders(Runtime& runtime) const;
};

}  // namespace weir::core
