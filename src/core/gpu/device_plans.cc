// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/device_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/direct.h"
#include "algorithms/catalogue/ordered.h"
#include "algorithms/catalogue/planned.h"
#include "algorithms/ir/rank_order.h"
#include "algorithms/ir/verify.h"
#include "src/base/log.h"
#include "src/exec/check.h"
#include "src/exec/gpu/segment_table.h"
#include "src/exec/lower.h"

namespace weir::core {
namespace {

// Assumptions about GPUs behind the limits below; none was measured. A message costs about 2 us, whatever its
// size: the store, the wait of the other side for it, a barrier on each side. A block moves about 20 GB/s.
// Packets save one of the two waits, at half the speed.

/// Up to this many bytes per block, waiting dominates and packets pay.
constexpr size_t kPacketsUpTo = size_t{16} << 10;
/// Up to this many bytes sent by a rank, one message to each other rank is faster than several hops.
constexpr size_t kOneShotUpTo = size_t{128} << 10;
/// Shards of small messages: more blocks would wait without moving anything.
constexpr uint32_t kPacketShards = 4;
/// Minimum bytes of a chunk per shard: they take ten times as long as a message's fixed cost.
constexpr size_t kShardBytes = size_t{16} << 10;
constexpr size_t kPacketShardBytes = size_t{1} << 10;

constexpr std::string_view kDirect = "direct";
constexpr std::string_view kPlanned = "planned";

/// Bytes that a rank sends with one_shot.
size_t sent_bytes(int ranks, size_t bytes) { return bytes * static_cast<size_t>(ranks - 1); }

/// The algorithms that sum in rank order, the best one for the size first; the last one needs the fewest
/// channels.
std::vector<std::string_view> ordered_algorithms(Collective kind, int ranks, size_t bytes) {
  if (kind == Collective::reduce_scatter) return {"one_shot", "chain"};
  if (sent_bytes(ranks, bytes) <= kOneShotUpTo) return {"one_shot", "all_pairs", "chain"};
  return {"all_pairs", "one_shot", "chain"};
}

std::string_view algorithm_for(Collective kind, int ranks, size_t bytes) {
  const bool small = sent_bytes(ranks, bytes) <= kOneShotUpTo;
  switch (kind) {
    case Collective::gather:
    case Collective::scatter: return "one_shot";
    case Collective::all_to_all: return small ? "one_shot" : "pairwise";
    default: return small ? "one_shot" : "ring";
  }
}

std::string_view other_algorithm(Collective kind, std::string_view first) {
  if (first != "one_shot") return "one_shot";
  switch (kind) {
    case Collective::gather:
    case Collective::scatter: return "binomial";
    case Collective::all_to_all: return "pairwise";
    default: return "ring";
  }
}

/// The network of a layout, with the node of each rank instead of each position.
algorithms::Network by_rank(const algorithms::Layout& layout) {
  algorithms::Network network = *layout.network;
  for (size_t place = 0; place < layout.order.size(); ++place)
    network.rank_nodes[static_cast<size_t>(layout.order[place])] = layout.network->rank_nodes[place];
  return network;
}

}  // namespace

DevicePlans::DevicePlans(Dependencies dependencies) : dependencies_(std::move(dependencies)) {
  const algorithms::Layout& layout = dependencies_.layout;
  if (layout.network && layout.plans != nullptr && !layout.plans->empty())
    times_ = std::make_unique<PlanTimes>(by_rank(layout));
}

/// A network needs few blocks, so that the others stay free for the rest of the GPU's work.
std::vector<DeviceChoice> DevicePlans::choices(Collective kind, int ranks, size_t bytes, Means means,
                                               SumOrder order) {
  const bool packets = bytes <= kPacketsUpTo && means != Means::proxies;
  const exec::gpu::RunParameters way{
      packets ? exec::gpu::RingProtocol::packet : exec::gpu::RingProtocol::bandwidth,
      packets ? kPacketShards : exec::gpu::GpuSegmentTable::kRings};
  if (order == SumOrder::ranks && reduces(kind)) {
    std::vector<DeviceChoice> ordered;
    for (const std::string_view algorithm : ordered_algorithms(kind, ranks, bytes))
      ordered.push_back({algorithm, way});
    return ordered;
  }
  const std::string_view first = algorithm_for(kind, ranks, bytes);
  std::vector<DeviceChoice> all{{first, way}, {other_algorithm(kind, first), way}};
  if (means == Means::direct && !packets && ranks > 1)
    all.insert(all.begin(),
               {kDirect, {exec::gpu::RingProtocol::bandwidth, exec::gpu::GpuSegmentTable::kSignalRings}});
  return all;
}

size_t DevicePlans::tile_bytes(const exec::gpu::Ready& ready, size_t bytes, uint32_t chunks) {
  constexpr size_t kUnit = 512;
  const size_t chunk = bytes / chunks + 1;
  const size_t least =
      std::min(ready.tile_bytes < kShardBytes ? kPacketShardBytes : kShardBytes, ready.tile_bytes);
  const size_t part = (chunk / ready.shards + kUnit) / kUnit * kUnit;
  return std::clamp(part, least, ready.tile_bytes);
}

/// A plan of WEIR_PLAN_FILE that kernels cannot run gives way to the library's choice; one of a call does
/// not.
std::vector<DeviceChoice> DevicePlans::candidates(Collective kind, Rank root, size_t bytes, bool scales,
                                                  const ir::LoadedPlan* asked) {
  const exec::gpu::RunParameters slots{exec::gpu::RingProtocol::bandwidth,
                                       exec::gpu::GpuSegmentTable::kRings};
  if (asked != nullptr) return {{asked->key, slots, asked}};
  const Means means = dependencies_.far                 ? Means::proxies
                      : dependencies_.direct && !scales ? Means::direct
                                                        : Means::slots;
  std::vector<DeviceChoice> all = choices(kind, dependencies_.ranks, bytes, means, dependencies_.order);
  if (const auto trees = faster_trees(kind, bytes, all.front())) all.insert(all.begin(), *trees);
  if (dependencies_.loaded == nullptr) return all;
  if (const ir::LoadedPlan* const loaded = dependencies_.loaded->find(kind, root, bytes); loaded != nullptr)
    all.insert(all.begin(), {loaded->key, slots, loaded});
  return all;
}

std::optional<DeviceChoice> DevicePlans::faster_trees(Collective kind, size_t bytes,
                                                      const DeviceChoice& other) {
  if (times_ == nullptr || keeps_rank_order(kind) ||
      algorithms::planned_for(kind, dependencies_.ranks, dependencies_.layout) == nullptr)
    return std::nullopt;
  const DeviceChoice trees{kPlanned,
                           {exec::gpu::RingProtocol::bandwidth, exec::gpu::GpuSegmentTable::kRings}};
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  const auto [known, added] = trees_faster_.try_emplace({kind, size_class, other.algorithm}, false);
  if (added) {
    const auto faster = are_trees_faster(trees, other, kind, std::bit_floor(bytes));
    if (faster.ok())
      known->second = *faster;
    else
      WEIR_INFO(tuning, "{} on GPUs: no planned trees: {}", name(kind), faster.status().message());
  }
  return known->second ? std::optional(trees) : std::nullopt;
}

/// What reads other ranks' buffers has no messages whose costs could be simulated: its links alone count.
Result<bool> DevicePlans::are_trees_faster(const DeviceChoice& trees, const DeviceChoice& other,
                                           Collective kind, size_t bytes) {
  const Made& made = make(trees, kind, 0);
  WEIR_TRY(made.status);
  const auto first = plan_of(trees, kind, 0);
  WEIR_TRY(first.status());
  const auto second = plan_of(other, kind, 0);
  WEIR_TRY(second.status());
  const auto own = times_->of_messages(*first, bytes, made.message_bytes);
  WEIR_TRY(own.status());
  const auto others = other.algorithm == kDirect ? times_->of_links(*second, bytes)
                                                 : times_->of_messages(*second, bytes, made.message_bytes);
  WEIR_TRY(others.status());
  WEIR_INFO(tuning, "{} on GPUs: from {} bytes: planned {:.1f} us, {} {:.1f} us", name(kind), bytes,
            *own * 1e6, other.algorithm, *others * 1e6);
  return *own < *others;
}

Result<DevicePlans::Chosen> DevicePlans::find(Collective kind, Rank root, size_t bytes, bool scales,
                                              const ir::LoadedPlan* asked) {
  if (dependencies_.ranks == 1 || !has_root(kind)) root = 0;
  Status trouble;
  for (const DeviceChoice& choice : candidates(kind, root, bytes, scales, asked)) {
    const Made& made = make(choice, kind, root);
    if (made.ready != nullptr) return Chosen{made.ready.get(), tile_bytes(*made.ready, bytes, made.chunks)};
    trouble = made.status;
    if (trouble.code() != Code::invalid_argument) break;
  }
  return trouble;
}

const DevicePlans::Made& DevicePlans::make(const DeviceChoice& choice, Collective kind, Rank root) {
  const Key key{choice.algorithm, kind, root, choice.way.protocol};
  if (const auto known = made_.find(key); known != made_.end()) return known->second;
  auto made = emit(choice, kind, root);
  Made entry;
  if (made.ok()) {
    entry = std::move(*made);
    const bool packets = choice.way.protocol == exec::gpu::RingProtocol::packet;
    WEIR_INFO(tuning, "{} on GPUs: {} {}, {} shards, tiles of {} bytes", name(kind), choice.algorithm,
              choice.algorithm == kDirect ? "in place"
              : packets                   ? "in packets"
                                          : "in slots",
              entry.ready->shards, entry.ready->tile_bytes);
  } else {
    entry.status = made.status();
    WEIR_INFO(tuning, "{} on GPUs: cannot use {}: {}", name(kind), choice.algorithm, entry.status.message());
  }
  return made_.emplace(key, std::move(entry)).first->second;
}

Result<ir::Plan> DevicePlans::plan_of(const DeviceChoice& choice, Collective kind, Rank root) const {
  if (choice.loaded != nullptr) return choice.loaded->plan;
  const int ranks = dependencies_.ranks;
  if (choice.algorithm == kDirect) return algorithms::direct(kind, ranks, root);
  const algorithms::Entry* const entry = algorithms::find(choice.algorithm, kind);
  if (entry == nullptr)
    return Status(Code::internal_error,
                  fmt::format("there is no algorithm {} for {}", choice.algorithm, name(kind)));
  const bool in_rank_order = !dependencies_.far && choice.algorithm != kPlanned;
  if (in_rank_order || keeps_rank_order(kind))
    return algorithms::emit(choice.algorithm, {kind, ranks, root, algorithms::default_chunks(*entry, ranks)});
  const uint32_t chunks = algorithms::default_chunks(*entry, ranks, dependencies_.layout);
  return algorithms::emit_in_order(choice.algorithm, {kind, ranks, root, chunks}, dependencies_.layout);
}

Result<DevicePlans::Made> DevicePlans::emit(const DeviceChoice& choice, Collective kind, Rank root) {
  auto plan = plan_of(choice, kind, root);
  WEIR_TRY(plan.status());
  Made made;
  made.chunks = plan->shape.chunks;
  const auto wrong = [&](const Status& proof) {
    return Status(Code::internal_error,
                  fmt::format("the {} plan for {} over {} ranks is wrong and was not run: {}",
                              choice.algorithm, name(kind), dependencies_.ranks, proof.message()));
  };
  if (const Status proof = ir::verify(*plan); !proof.ok()) return wrong(proof);
  if (keeps_rank_order(kind)) WEIR_TRY(ir::check_rank_order(*plan));
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < dependencies_.ranks; ++rank) {
    auto program = exec::lower(*plan, rank, exec::Peers::buffers);
    WEIR_TRY(program.status());
    programs.push_back(std::move(*program));
  }
  exec::CheckOptions options{exec::gpu::GpuSegmentTable::kSlots};
  if (const Status proof = exec::check(programs, options); !proof.ok()) return wrong(proof);
  if (choice.algorithm == kDirect && ir::has_in_place(kind)) {
    options.placement = ir::Placement::in_place;
    if (const Status proof = exec::check(programs, options); !proof.ok()) return wrong(proof);
  }
  auto ready = dependencies_.executor->prepare(*plan, programs, choice.way);
  WEIR_TRY(ready.status());
  made.ready = std::move(*ready);
  uint32_t most = 1;
  for (const ir::Move& move : plan->moves) most = std::max(most, move.chunks);
  made.message_bytes = made.ready->tile_bytes * most;
  return made;
}

}  // namespace weir::core
