// SPDX-License-Identifier: Apache-2.0
// Calls of communicators whose collectives go by kernels.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"
#include "src/core/communicator/runtime.h"
#include "src/core/gpu/device_collectives.h"
#include "src/core/placement/near_ports.h"

namespace weir::core {
namespace {

std::string proxied_words(const exec::gpu::ProxyRings* rings) {
  if (rings == nullptr) return "";
  return fmt::format(", with proxies to {} rank{} of other hosts", rings->peers(),
                     rings->peers() == 1 ? "" : "s");
}

}  // namespace

Status Communicator::make_device_collectives() {
  Bootstrap& bootstrap = *resources_->bootstrap;
  const Options& options = runtime_.options();
  GpuPeerAccess::Dependencies offered;
  offered.bootstrap = &bootstrap;
  offered.gpus = gpus_;
  offered.gpu = gpu_;
  offered.kernels = &runtime_.kernels();
  offered.process = runtime_.process();
  offered.path = options.gpu_path;
  offered.segment_bytes = static_cast<size_t>(options.gpu_segment_bytes);
  offered.routes = resources_->routes.get();
  offered.adapters.allows = [this, &options](const std::string& adapter) -> Status {
    const auto host = runtime_.local_host().host();
    WEIR_TRY(host.status());
    return is_near_enough(**host, gpu_->address(), adapter, options.gdr_level);
  };
  offered.adapters.read = options.gdr_read;
  auto joined = GpuPeerAccess::join(offered);
  WEIR_TRY(joined.status());
  if (joined->access == nullptr) {
    if (rank_ == 0) WEIR_INFO(init, "GPUs: collectives go through pinned memory: {}", joined->why_not);
    return {};
  }
  const std::string size = bytes_words(static_cast<double>(joined->access->segment_bytes()));
  if (joined->access->by_streams()) {
    WEIR_INFO(init, "GPUs: rank {} runs collectives as stream operations on {}, using {} of its memory",
              rank_, gpu_->description(), size);
  } else {
    WEIR_INFO(
        init, "GPUs: rank {} runs collectives as kernels on {}, using {} of its memory and up to {} blocks{}",
        rank_, gpu_->description(), size, joined->access->blocks(), proxied_words(joined->access->proxied()));
  }
  std::vector<Rank> everybody;
  for (Rank rank = 0; rank < ranks_; ++rank) everybody.push_back(rank);
  const uint64_t uid = uid_in_job(static_cast<uint32_t>(bootstrap.uid() >> 32),
                                  hash_text(fmt::format("{:x} kernels", bootstrap.uid())));
  auto own = Bootstrap::subset(bootstrap, everybody, uid, &aborted_);
  WEIR_TRY(own.status());
  (*own)->activity().tell_about(config_.name + " (kernels)", gpu_->description(), gpu_->index());
  (*own)->activity().set_stage(Activity::Stage::connected);
  DeviceCollectives::Dependencies dependencies;
  dependencies.rank = rank_;
  dependencies.ranks = ranks_;
  dependencies.check = options.check;
  dependencies.gpus = gpus_;
  dependencies.aborted = &aborted_;
  dependencies.routes = resources_->routes.get();
  dependencies.layout = resources_->plans->layout();
  dependencies.bootstrap = std::move(*own);
  dependencies.fail = [this, activity = &bootstrap.activity()](const Status& status) {
    activity->fail({-1, status});  // for those who wait for this rank's sends
    set_state(status);
  };
  runtime_.lingering_peer_access().enter(joined->access->uid());
  auto made = DeviceCollectives::create(std::move(dependencies), std::move(joined->access));
  WEIR_TRY(made.status());
  device_collectives_ = std::move(*made);
  return {};
}

void Communicator::end_device_collectives() {
  if (device_collectives_ == nullptr) return;
  auto [peer_access, idle] = DeviceCollectives::end(std::move(device_collectives_));
  runtime_.lingering_peer_access().leave(std::move(peer_access), idle);
}

bool Communicator::runs_on_device(const Operation& operation) const {
  return device_collectives_ != nullptr &&
         (operation.kind != Collective::send_recv || device_collectives_->exchanges());
}

/// Where sends and receives do not go along, they go beside the collectives, staged.
Status Communicator::run_on_device(std::span<const Operation> operations, const StreamPlace& place) {
  std::vector<Operation> collectives(operations.begin(), operations.end());
  const auto rest = std::stable_partition(collectives.begin(), collectives.end(),
                                          [this](const Operation& one) { return runs_on_device(one); });
  std::vector<Operation> pairs(rest, collectives.end());
  collectives.erase(rest, collectives.end());
  const auto run_pairs = [&] { return place.on_gpu ? run_staged(pairs, place) : run(pairs, place.host); };
  if (collectives.empty()) return run_pairs();
  WEIR_TRY(usable());
  auto call = device_collectives_->prepare(std::move(collectives), {place}, pairs.empty());
  WEIR_TRY(call.status());
  Status queued = device_collectives_->enter(*call);
  if (queued.ok()) queued = device_collectives_->queue(*call);
  if (!queued.ok()) {
    device_collectives_->give_up(*call, queued);
    return queued;
  }
  const Status beside = pairs.empty() ? Status() : run_pairs();
  WEIR_TRY(device_collectives_->leave(*call));
  if (!place.on_gpu && place.host == nullptr) WEIR_TRY(usable());
  return beside;
}

}  // namespace weir::core
