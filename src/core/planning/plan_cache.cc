// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/plan_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/catalogue/catalogue.h"
#include "src/base/log.h"
#include "src/core/planning/pace.h"
#include "src/core/planning/proven_plan.h"
#include "src/core/planning/ring_file.h"
#include "src/exec/lower.h"

namespace weir::core {
namespace {

constexpr size_t kTileAlignment = exec::kGrainBytes;  // all tiles begin at cache lines

}  // namespace

PlanCache::PlanCache(Rank self, algorithms::Layout layout, Links& links, SharedScratch scratch,
                     Selector& selector, ProvenPlans& proven, double pace_share)
    : self_(self),
      ranks_(static_cast<int>(layout.order.size())),
      layout_(std::move(layout)),
      links_(links),
      scratch_(std::move(scratch)),
      selector_(selector),
      proven_(proven),
      pace_share_(pace_share) {}

Result<SelectedPlan> PlanCache::find(Collective kind, Rank root, size_t bytes) {
  if (const SelectedPlan known = hit(kind, root, bytes); known.plan != nullptr) return known;
  // All sizes of a class (from a power of two to the next) share a plan and its tiles.
  Selector::Choice choice = selector_.choose(kind, bytes);
  if (choice.entry == nullptr) {
    return Status(Code::internal_error,
                  fmt::format("there is no plan for {} over {} ranks", name(kind), ranks_));
  }
  const algorithms::Layout& layout = layout_with(choice.rings);
  if (choice.rings > 0) choice.entry = algorithms::find(layout.rings.empty() ? "ring" : "ring_set", kind);
  const ir::Shape shape{kind, ranks_, root, algorithms::default_chunks(*choice.entry, ranks_, layout)};
  auto plan = prepare(choice.entry->algorithm, shape, choice.rings);
  WEIR_TRY(plan.status());
  const size_t part = (*plan)->run->most_tile_bytes() / static_cast<size_t>(choice.tile_divisor);
  const SelectedPlan chosen{*plan, std::max(part / kTileAlignment, size_t{1}) * kTileAlignment};
  WEIR_INFO(tuning, "{}: {} bytes -> {} in {} chunks", name(kind), bytes, choice.entry->algorithm,
            shape.chunks);
  hits_[static_cast<size_t>(kind)][static_cast<size_t>(std::bit_width(bytes))] = chosen;
  return chosen;
}

const algorithms::Layout& PlanCache::layout_with(size_t rings) {
  if (rings == 0) return layout_;
  const auto [found, added] = layouts_.try_emplace(rings, layout_);
  if (added) limit_rings(found->second, rings, rings);
  return found->second;
}

Result<Prepared*> PlanCache::prepare(std::string_view algorithm, const ir::Shape& shape, size_t rings) {
  const auto known = std::find_if(prepared_.begin(), prepared_.end(), [&](const auto& p) {
    return p->algorithm == algorithm && p->program->shape == shape;
  });
  if (known != prepared_.end()) return known->get();

  auto made = make(std::string(algorithm), shape, rings);
  WEIR_TRY(made.status());
  if (prepared_.size() >= kMost) {
    hits_ = {};
    prepared_.clear();
    scratches_.clear();
  }
  prepared_.push_back(std::move(*made));
  return prepared_.back().get();
}

Result<std::unique_ptr<Prepared>> PlanCache::make(const std::string& algorithm, const ir::Shape& shape,
                                                  size_t rings) {
  const algorithms::Layout& layout = layout_with(rings);
  auto proven = proven_.of({algorithm, shape, rings}, [&] { return emit_proven(algorithm, shape, layout); });
  WEIR_TRY(proven.status());
  const ir::Plan& plan = (*proven)->plan;
  auto program = exec::lower(plan, (*proven)->facts, self_);
  WEIR_TRY(program.status());
  auto prepared = std::make_unique<Prepared>();
  prepared->algorithm = algorithm;
  prepared->plan = algorithms::find(algorithm, shape.kind)->algorithm.data();
  prepared->root = shape.root;
  prepared->program = std::make_unique<exec::Program>(std::move(*program));
  auto binding = bind(*prepared->program);
  WEIR_TRY(binding.status());
  if (pace_share_ > 0) {
    binding->paces = paces_of(plan, *prepared->program, pace_share_, layout_.order, selector_.environment());
  }
  prepared->run = std::make_unique<exec::Run>(*prepared->program, std::move(*binding));
  return prepared;
}

Result<exec::Binding> PlanCache::bind(const exec::Program& program) {
  exec::Binding binding;
  for (const exec::Channel& channel : program.channels) {
    WEIR_TRY(links_.open(channel, links_.sizes().plan_bytes));
    binding.senders.push_back(links_.sender(channel));
    binding.receivers.push_back(links_.receiver(channel));
  }
  const bool pulls = std::any_of(program.places.begin(), program.places.end(), [](const exec::Place& place) {
    return place.kind == exec::Place::Kind::peer_scratch;
  });
  size_t capacity = links_.sizes().plan_bytes / program.message_chunks;
  if (pulls) {
    capacity = std::min(capacity, scratch_.bytes / program.scratch_chunks);
    binding.scratch = scratch_.own;
    binding.peer_scratch = scratch_.peers;
  }
  binding.tile_bytes = capacity / kTileAlignment * kTileAlignment;
  if (binding.tile_bytes == 0) {
    return Status(Code::invalid_usage,
                  fmt::format("a message of {} chunks does not fit a slot of {} bytes; raise WEIR_SLOT_BYTES",
                              program.message_chunks, links_.sizes().plan_bytes));
  }
  if (!pulls && program.scratch_chunks > 0) {
    binding.scratch = scratches_.emplace_back(program.scratch_chunks * binding.tile_bytes).data();
  }
  return binding;
}

}  // namespace weir::core
