// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/plan_bytes.h"

#include <utility>
#include <vector>

#include "algorithms/ir/verify.h"

namespace weir::core {
namespace {

using ir::Move;
using ir::Operand;

constexpr uint8_t kPull = 1, kPush = 2, kCompletes = 4;
constexpr size_t kMoveBytes = 34;

/// A move and its fact. Numbers stand one by one, because the types have gaps.
struct PlanStep {
  Move move;
  exec::Fact fact;
};

void put(ByteWriter& out, const Operand& operand) { out.put(operand.kind).put(operand.index); }

void put(ByteWriter& out, const PlanStep& step) {
  const Move& move = step.move;
  const int flags =
      (move.pull ? kPull : 0) | (move.push ? kPush : 0) | (step.fact.completes ? kCompletes : 0);
  out.put(move.src).put(move.dst).put(move.src_lane).put(move.dst_lane);
  out.put(static_cast<uint8_t>(flags)).put(move.chunks).put(step.fact.part);
  put(out, move.from);
  put(out, move.with);
  put(out, move.to);
}

Operand get_operand(ByteReader& in) {
  const auto kind = in.get<Operand::Kind>();
  return {kind, in.get<uint32_t>()};
}

PlanStep get_step(ByteReader& in) {
  PlanStep step;
  Move& move = step.move;
  move.src = in.get<Rank>();
  move.dst = in.get<Rank>();
  move.src_lane = in.get<uint8_t>();
  move.dst_lane = in.get<uint8_t>();
  const auto flags = in.get<uint8_t>();
  move.pull = (flags & kPull) != 0;
  move.push = (flags & kPush) != 0;
  step.fact.completes = (flags & kCompletes) != 0;
  move.chunks = in.get<uint32_t>();
  step.fact.part = in.get<uint32_t>();
  move.from = get_operand(in);
  move.with = get_operand(in);
  move.to = get_operand(in);
  return step;
}

/// Whether ranks, lanes and earlier moves exist.
bool stays_inside(const Move& move, const ir::Plan& plan, size_t id) {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < plan.shape.ranks; };
  const auto is_operand = [&](const Operand& operand) {
    return operand.kind <= Operand::Kind::value &&
           (operand.kind != Operand::Kind::value || operand.index < id);
  };
  return is_rank(move.src) && is_rank(move.dst) && move.src_lane < ir::kMaxLanes &&
         move.dst_lane < ir::kMaxLanes && move.chunks > 0 && is_operand(move.from) && is_operand(move.with) &&
         is_operand(move.to);
}

}  // namespace

Bytes write_plan(const ProvenPlan& proven) {
  const ir::Plan& plan = proven.plan;
  ByteWriter out;
  out.put_string(plan.algorithm).put(plan.shape.kind).put(plan.shape.ranks).put(plan.shape.root);
  out.put(plan.shape.chunks).put(plan.scratch_chunks).put(plan.least_bytes).put(plan.most_bytes);
  out.put(static_cast<uint32_t>(plan.moves.size()));
  for (size_t id = 0; id < plan.moves.size(); ++id) put(out, {plan.moves[id], proven.facts[id]});
  return out.take();
}

std::optional<ProvenPlan> read_plan(BytesView bytes) {
  ByteReader in(bytes);
  ProvenPlan proven;
  ir::Plan& plan = proven.plan;
  plan.algorithm = in.get_string();
  plan.shape.kind = in.get<Collective>();
  plan.shape.ranks = in.get<int>();
  plan.shape.root = in.get<Rank>();
  plan.shape.chunks = in.get<uint32_t>();
  plan.scratch_chunks = in.get<uint32_t>();
  plan.least_bytes = in.get<uint64_t>();
  plan.most_bytes = in.get<uint64_t>();
  const size_t count = in.count(kMoveBytes);
  if (!in.ok() || !ir::check_shape(plan.shape, plan.scratch_chunks).ok()) return std::nullopt;
  plan.moves.reserve(count);
  proven.facts.reserve(count);
  for (size_t id = 0; id < count; ++id) {
    const PlanStep step = get_step(in);
    if (!in.ok() || !stays_inside(step.move, plan, id)) return std::nullopt;
    plan.moves.push_back(step.move);
    proven.facts.push_back(step.fact);
  }
  if (in.remaining() > 0) return std::nullopt;
  return proven;
}

Bytes write_plans(const std::vector<ir::Plan>& plans) {
  ByteWriter out;
  out.put(static_cast<uint32_t>(plans.size()));
  for (const ir::Plan& plan : plans)
    out.put_bytes(write_plan({plan, std::vector<exec::Fact>(plan.moves.size())}));
  return out.take();
}

std::optional<std::vector<ir::Plan>> read_plans(BytesView bytes) {
  ByteReader in(bytes);
  const size_t count = in.count(sizeof(uint32_t));
  std::vector<ir::Plan> plans;
  for (size_t i = 0; i < count && in.ok(); ++i) {
    auto plan = read_plan(in.get_bytes());
    if (!in.ok() || !plan) return std::nullopt;
    plans.push_back(std::move(plan->plan));
  }
  if (!in.ok() || in.remaining() > 0) return std::nullopt;
  return plans;
}

}  // namespace weir::core
