// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/plan_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/rank_order.h"
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
      rank_order_(algorithms::layout_by_rank(layout_.order.size())),
      links_(links),
      scratch_(std::move(scratch)),
      selector_(selector),
      proven_(proven),
      pace_share_(pace_share) {}

Result<SelectedPlan> PlanCache::find(Collective kind, Rank root, size_t bytes) {
  if (const SelectedPlan known = hit(kind, root, bytes); known.plan != nullptr) return known;
  // All sizes of a class (from a power of two to the next) share a plan and its tiles, but for loaded plans.
  Selector::Choice choice = selector_.choose(kind, root, bytes);
  SelectedPlan chosen;
  if (choice.loaded != nullptr) {
    auto loaded = prepare(*choice.loaded);
    WEIR_TRY(loaded.status());
    chosen = *loaded;
    WEIR_INFO(tuning, "{}: {} bytes -> the plan of {}, in tiles of {} bytes", name(kind), bytes,
              choice.loaded->name, chosen.tile_bytes);
  } else {
    auto made = prepare(choice, kind, root);
    WEIR_TRY(made.status());
    chosen = *made;
    WEIR_INFO(tuning, "{}: {} bytes -> {} in {} chunks", name(kind), bytes, chosen.plan->algorithm,
              chosen.plan->program->shape.chunks);
  }
  chosen.least = choice.sizes.least;
  chosen.most = choice.sizes.most;
  hits_[static_cast<size_t>(kind)][static_cast<size_t>(std::bit_width(bytes))] = chosen;
  return chosen;
}

Result<SelectedPlan> PlanCache::prepare(Selector::Choice choice, Collective kind, Rank root) {
  if (choice.entry == nullptr) {
    return Status(Code::internal_error,
                  fmt::format("there is no plan for {} over {} ranks", name(kind), ranks_));
  }
  const algorithms::Layout& layout = layout_for(choice);
  if (choice.rings > 0) choice.entry = algorithms::find(layout.rings.empty() ? "ring" : "ring_set", kind);
  const ir::Shape shape{kind, ranks_, root, algorithms::default_chunks(*choice.entry, ranks_, layout)};
  const std::string algorithm(choice.entry->algorithm);
  auto plan = prepare(Recipe{algorithm, choice.entry->algorithm.data(), shape, choice.rings,
                             [&] { return ordered(emit_proven(algorithm, shape, layout)); }});
  WEIR_TRY(plan.status());
  return SelectedPlan{*plan, tile_bytes(**plan, static_cast<size_t>(choice.tile_divisor))};
}

Result<SelectedPlan> PlanCache::prepare(const ir::LoadedPlan& loaded) {
  auto plan =
      prepare(Recipe{loaded.key, "loaded plan", loaded.plan.shape, 0, [&] { return ordered(loaded.plan); }});
  WEIR_TRY(plan.status());
  const uint64_t message_bytes = loaded.plan.message_bytes;
  const size_t slot_bytes = selector_.environment().slot_bytes;
  const size_t divisor = message_bytes == 0 ? 1 : std::max<size_t>(slot_bytes / message_bytes, 1);
  return SelectedPlan{*plan, tile_bytes(**plan, divisor)};
}

size_t PlanCache::tile_bytes(const Prepared& plan, size_t divisor) {
  const size_t part = plan.run->most_tile_bytes() / divisor;
  return std::max(part / kTileAlignment, size_t{1}) * kTileAlignment;
}

Result<ir::Plan> PlanCache::ordered(Result<ir::Plan> plan) const {
  if (!plan.ok() || selector_.order() != SumOrder::ranks) return plan;
  const Status order = ir::check_rank_order(*plan);
  if (order.ok()) return plan;
  return Status(Code::invalid_usage,
                fmt::format("the plan {} of {} is not run, because the order of sums is that of the ranks "
                            "(WEIR_ORDER=ranks): {}",
                            plan->algorithm, name(plan->shape.kind), order.message()));
}

const algorithms::Layout& PlanCache::layout_for(const Selector::Choice& choice) {
  if (choice.in_rank_order) return rank_order_;
  if (choice.rings == 0) return layout_;
  const auto [found, added] = layouts_.try_emplace(choice.rings, layout_);
  if (added) limit_rings(found->second, choice.rings, choice.rings);
  return found->second;
}

Result<Prepared*> PlanCache::prepare(const Recipe& recipe) {
  const auto known = std::find_if(prepared_.begin(), prepared_.end(), [&](const auto& p) {
    return p->algorithm == recipe.algorithm && p->program->shape == recipe.shape;
  });
  if (known != prepared_.end()) return known->get();

  auto made = make(recipe);
  WEIR_TRY(made.status());
  if (prepared_.size() >= kMost) {
    hits_ = {};
    prepared_.clear();
    scratches_.clear();
  }
  prepared_.push_back(std::move(*made));
  return prepared_.back().get();
}

Result<std::unique_ptr<Prepared>> PlanCache::make(const Recipe& recipe) {
  auto proven = proven_.of({recipe.algorithm, recipe.shape, recipe.rings}, recipe.emit);
  WEIR_TRY(proven.status());
  const ir::Plan& plan = (*proven)->plan;
  auto program = exec::lower(plan, (*proven)->facts, self_);
  WEIR_TRY(program.status());
  auto prepared = std::make_unique<Prepared>();
  prepared->algorithm = recipe.algorithm;
  prepared->plan = recipe.plan;
  prepared->root = recipe.shape.root;
  prepared->program = std::make_unique<exec::Program>(std::move(*program));
  // Also for ranks that are only read.
  const bool pulls = std::ranges::any_of(plan.moves, &ir::Move::pull);
  auto binding = bind(*prepared->program, pulls);
  WEIR_TRY(binding.status());
  if (pace_share_ > 0) {
    binding->paces = paces_of(plan, *prepared->program, pace_share_, layout_.order, selector_.environment());
  }
  prepared->run = std::make_unique<exec::Run>(*prepared->program, std::move(*binding));
  return prepared;
}

Result<exec::Binding> PlanCache::bind(const exec::Program& program, bool pulls) {
  exec::Binding binding;
  for (const exec::Channel& channel : program.channels) {
    WEIR_TRY(links_.open(channel, links_.sizes().plan));
    binding.senders.push_back(links_.sender(channel));
    binding.receivers.push_back(links_.receiver(channel));
  }
  size_t capacity = links_.sizes().plan.bytes / program.message_chunks;
  if (pulls) {
    if (scratch_.peers.empty())
      return Status(
          Code::invalid_usage,
          "in the plan ranks read each other's scratch, and not all ranks of this communicator share "
          "memory; expected a plan without pulls");
    capacity = std::min(capacity, scratch_.bytes / std::max(program.scratch_chunks, 1u));
    binding.scratch = scratch_.own;
    binding.peer_scratch = scratch_.peers;
  }
  binding.tile_bytes = capacity / kTileAlignment * kTileAlignment;
  if (binding.tile_bytes == 0) {
    return Status(Code::invalid_usage,
                  fmt::format("a message of {} chunks does not fit a slot of {} bytes; raise WEIR_SLOT_BYTES",
                              program.message_chunks, links_.sizes().plan.bytes));
  }
  if (!pulls && program.scratch_chunks > 0) {
    binding.scratch = scratches_.emplace_back(program.scratch_chunks * binding.tile_bytes).data();
  }
  return binding;
}

}  // namespace weir::core
