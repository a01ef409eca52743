// SPDX-License-Identifier: Apache-2.0
// The back ends of a communicator, once it has met its peers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "algorithms/catalogue/planned.h"
#include "algorithms/cluster/hosts.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/communicator/resources.h"
#include "src/core/placement/near_ports.h"
#include "src/exec/gpu/segment_table.h"
#include "topology/model/assumed_rates.h"

namespace weir::core {
namespace {

std::string proxied_words(const exec::gpu::ProxyRings* rings) {
  if (rings == nullptr) return "";
  return fmt::format(", with proxies to {} rank{} of other hosts", rings->peers(),
                     rings->peers() == 1 ? "" : "s");
}

/// Of a GPU in this process, if the program says how many the driver is to make; else as many as CUDA makes.
int hardware_queues() {
  for (const char* const name : {"CUDA_DEVICE_MAX_CONNECTIONS", "GPU_MAX_HW_QUEUES"})
    if (const char* const text = std::getenv(name); text != nullptr) return std::max(std::atoi(text), 1);
  return 8;
}

std::unique_ptr<StagedBackend> make_staged_backend(const BackendOwner& owner, const Resources& resources) {
  Staged::Dependencies dependencies;
  dependencies.rank = resources.bootstrap->rank();
  dependencies.ranks = resources.bootstrap->size();
  dependencies.gpus = owner.gpus;
  dependencies.gpu = owner.gpu;
  dependencies.waits = hardware_queues() < resources.gpu_sharers;
  dependencies.aborted = &owner.lifecycle.aborted();
  dependencies.pace = resources.pace.get();
  dependencies.run = [execution = resources.execution.get()](std::span<const Operation> operations) {
    Execution* const one = execution;
    one->begin(operations);
    return drive({&one, 1});
  };
  return std::make_unique<StagedBackend>(dependencies, owner.queue, owner.lifecycle);
}

/// Ranks of this host on this rank's GPU, in whatever process.
ptrdiff_t sharers_on_host(const Resources& resources) {
  const auto& peers = resources.bootstrap->peers();
  const std::vector<PeerInfo>& infos = resources.peer_table->peer_infos;
  const auto self = static_cast<size_t>(resources.bootstrap->rank());
  ptrdiff_t sharers = 0;
  for (size_t rank = 0; rank < peers.size(); ++rank)
    sharers += rank == self || (peers[rank].host == peers[self].host && infos[rank].gpu == infos[self].gpu);
  return sharers;
}

GpuPeerAccess::Dependencies offer_of(const BackendOwner& owner, const Resources& resources) {
  Runtime& runtime = owner.runtime;
  const Options& options = runtime.options();
  GpuPeerAccess::Dependencies offered;
  offered.bootstrap = resources.bootstrap.get();
  offered.gpus = owner.gpus;
  offered.gpu = owner.gpu;
  offered.kernels = &runtime.kernels();
  const SharedSettings& shared_settings = resources.peer_table->shared_settings;
  offered.budget = &runtime.block_budget();
  offered.sharers = static_cast<uint32_t>(sharers_on_host(resources));
  offered.sharers_here = static_cast<uint32_t>(std::max(resources.gpu_sharers, 1));
  offered.hardware_queues = static_cast<uint32_t>(hardware_queues());
  offered.alone = resources.gpu_sharers == resources.bootstrap->size();
  offered.least_blocks = static_cast<uint32_t>(shared_settings.least_rings);
  offered.most_blocks =
      static_cast<uint32_t>(std::min<size_t>(shared_settings.most_rings, BlockBudget::kMost));
  offered.process = runtime.process();
  offered.path = resources.pace != nullptr ? "staged" : options.gpu_path;  // that is where times are kept
  offered.segment_bytes = static_cast<size_t>(options.gpu_segment_bytes);
  offered.routes = resources.routes.get();
  offered.adapters.allows = [&runtime, &options, gpu = owner.gpu](const std::string& adapter) -> Status {
    const auto host = runtime.local_host().host();
    WEIR_TRY(host.status());
    return is_near_enough(**host, gpu->address(), adapter, options.gdr_level);
  };
  offered.adapters.read = options.gdr_read;
  return offered;
}

void log_access(const GpuPeerAccess& access, const device::Gpu& gpu, Rank rank) {
  const std::string size = bytes_words(static_cast<double>(access.segment_bytes()));
  if (access.by_streams())
    WEIR_INFO(init, "GPUs: rank {} runs collectives as stream operations on {}, using {} of its memory", rank,
              gpu.description(), size);
  else
    WEIR_INFO(init,
              "GPUs: rank {} runs collectives as kernels on {}, using {} of its memory and up to {} blocks{}",
              rank, gpu.description(), size, access.blocks(), proxied_words(access.proxied()));
}

/// A kernel that waits for another rank's lets nothing begin that is behind it in its hardware queue. Calls
/// of one thread are queued so that this does no harm; those of several threads need a queue for each stream.
void warn_of_few_queues(int sharers, const device::Gpu& gpu) {
  const int queues = hardware_queues();
  if (sharers < 2 || queues >= 2 * sharers) return;  // two streams each: the program's and the library's
  WEIR_WARN(
      "{} ranks of this process are on {}, for which the driver has {} hardware queues: ranks that call from "
      "threads of their own may wait for each other for ever; set CUDA_DEVICE_MAX_CONNECTIONS (HIP: "
      "GPU_MAX_HW_QUEUES) to {} or more before the process starts",
      sharers, gpu.description(), queues, 2 * sharers);
}

/// The same ranks again, in a scope of their own, for those who ask about peers while kernels wait.
Result<std::unique_ptr<Bootstrap>> device_bootstrap(const BackendOwner& owner, Bootstrap& bootstrap) {
  std::vector<Rank> everybody(static_cast<size_t>(bootstrap.size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const uint64_t uid = uid_in_job(static_cast<uint32_t>(bootstrap.uid() >> 32),
                                  hash_text(fmt::format("{:x} kernels", bootstrap.uid())));
  auto own = Bootstrap::subset(bootstrap, everybody, uid, &owner.lifecycle.aborted());
  WEIR_TRY(own.status());
  (*own)->activity().tell_about(owner.config.name + " (kernels)", owner.gpu->description(),
                                owner.gpu->index());
  (*own)->activity().set_stage(Activity::Stage::connected);
  owner.runtime.activities().pair(bootstrap.uid(), uid);
  return own;
}

/// The layout of the hosts, with the network between the GPUs instead of that between hosts, and plans for
/// it.
algorithms::Layout device_layout(const Resources& resources) {
  algorithms::Layout layout = resources.plans->layout();
  layout.network.reset();
  layout.plans = nullptr;
  const JobTopology& cluster = resources.peer_table->cluster;
  std::vector<std::string> addresses;
  for (const PeerInfo& peer_info : resources.peer_table->peer_infos) addresses.push_back(peer_info.gpu);
  const std::vector<topology::Index> gpus = cluster.gpus_of(addresses);
  if (gpus.size() < 2) return layout;
  const bool single =
      std::ranges::adjacent_find(cluster.hosts, std::ranges::not_equal_to()) == cluster.hosts.end();
  const bool logs = resources.bootstrap->rank() == 0;
  topology::Graph graph = cluster.graph;
  if (single) {
    const std::string assumed = topology::assume_rates(graph);
    if (logs && !assumed.empty()) WEIR_INFO(graph, "assumed rates of links: {}", assumed);
  }
  auto network = algorithms::network_of(graph, gpus);
  if (!network.ok()) {
    if (logs)
      WEIR_INFO(graph, "no plans are made for the links between the GPUs: {}", network.status().message());
    return layout;
  }
  const std::vector<char> between = algorithms::switches_between_hosts(*network, graph);
  algorithms::join(layout, std::move(*network), between, exec::gpu::GpuSegmentTable::kRings,
                   [&](const auto& make) { return resources.peer_table->trees.of("GPUs", make); });
  return layout;
}

/// Meets the others on their GPUs, where all ranks are on some; null: they do not reach each other's memory.
/// Collective.
Result<std::unique_ptr<DeviceBackend>> make_device_backend(const BackendOwner& owner,
                                                           const Resources& resources) {
  Bootstrap& bootstrap = *resources.bootstrap;
  auto joined = GpuPeerAccess::join(offer_of(owner, resources));
  WEIR_TRY(joined.status());
  if (joined->access == nullptr) {
    if (bootstrap.rank() == 0)
      WEIR_INFO(init, "GPUs: collectives go through pinned memory: {}", joined->why_not);
    return std::unique_ptr<DeviceBackend>();
  }
  log_access(*joined->access, *owner.gpu, bootstrap.rank());
  if (!joined->access->by_streams() && bootstrap.rank() == 0)
    warn_of_few_queues(resources.gpu_sharers, *owner.gpu);
  auto own = device_bootstrap(owner, bootstrap);
  WEIR_TRY(own.status());
  DeviceCollectives::Dependencies dependencies;
  dependencies.rank = bootstrap.rank();
  dependencies.ranks = bootstrap.size();
  dependencies.check = owner.runtime.options().check;
  dependencies.gpus = owner.gpus;
  dependencies.aborted = &owner.lifecycle.aborted();
  dependencies.routes = resources.routes.get();
  dependencies.layout = device_layout(resources);
  dependencies.order = resources.peer_table->order;
  dependencies.loaded = resources.loaded_plans.get();
  dependencies.bootstrap = std::move(*own);
  dependencies.fail = [lifecycle = &owner.lifecycle, activity = &bootstrap.activity()](const Status& status) {
    activity->fail({-1, status});  // for those who wait for this rank's sends
    lifecycle->fail(status, false);
  };
  const GpuPeerAccess& access = *joined->access;
  auto made = DeviceCollectives::create(std::move(dependencies), std::move(joined->access));
  WEIR_TRY(made.status());
  LingeringPeerAccess& lingering = owner.runtime.lingering_peer_access();
  lingering.enter(access);
  return std::make_unique<DeviceBackend>(std::move(*made), owner.lifecycle,
                                         [&lingering](std::unique_ptr<GpuPeerAccess> access, bool idle) {
                                           lingering.leave(std::move(access), idle);
                                         });
}

}  // namespace

Status Resources::make_backends(const BackendOwner& owner) {
  host = std::make_unique<HostBackend>(HostBackend::Dependencies{bootstrap->size(), execution.get(),
                                                                 &owner.queue, &owner.lifecycle, pace.get()});
  if (pace != nullptr) owner.queue.set_used();  // all calls go through the back ends
  if (gpus_somewhere) {
    staged = make_staged_backend(owner, *this);
    owner.queue.set_used();  // operations may have to be divided
    auto made = make_device_backend(owner, *this);
    WEIR_TRY(made.status());
    device = std::move(*made);
  }
  bootstrap->end_set_up();
  return {};
}

void Resources::abort() {
  bootstrap->activity().set_stage(Activity::Stage::aborted);
  for (Backend* backend : backends())
    if (backend != nullptr) backend->abort();
}

void Resources::wait_idle() {
  for (Backend* backend : backends())
    if (backend != nullptr) backend->wait_idle();
}

void Resources::end_gpu_backends() {
  device.reset();
  staged.reset();
}

uint64_t Resources::memory_bytes() const {
  return (segment != nullptr ? segment->used_bytes() : 0) + (device != nullptr ? device->gpu_bytes() : 0);
}

}  // namespace weir::core
