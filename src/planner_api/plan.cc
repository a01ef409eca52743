// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/plan.h.
#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/plan_file/any_plan.h"
#include "algorithms/sim/simulate.h"
#include "algorithms/sim/ways.h"
#include "src/exec/plan_proof.h"
#include "src/planner_api/bound_object.h"

namespace weir::planner_api {
namespace {

static_assert(static_cast<int>(Operand::Kind::none) == static_cast<int>(ir::Operand::Kind::none));
static_assert(static_cast<int>(Operand::Kind::input) == static_cast<int>(ir::Operand::Kind::input));
static_assert(static_cast<int>(Operand::Kind::output) == static_cast<int>(ir::Operand::Kind::output));
static_assert(static_cast<int>(Operand::Kind::scratch) == static_cast<int>(ir::Operand::Kind::scratch));
static_assert(static_cast<int>(Operand::Kind::value) == static_cast<int>(ir::Operand::Kind::value));

/// The size and the channels for which moves are ordered.
constexpr double kBytes = 1 << 30;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};

Operand operand_of(const ir::Operand& operand) {
  return {static_cast<Operand::Kind>(operand.kind), operand.index};
}

Move move_of(const ir::Move& move) {
  return {move.src,  move.dst,  move.chunks,           move.src_lane,         move.dst_lane,
          move.pull, move.push, operand_of(move.from), operand_of(move.with), operand_of(move.to)};
}

/// What a weirPlan points to. Constant once it is made, but for the moves, which are made when they are asked
/// for first. Never moved: it is pointed into.
class PlanObject : public weirPlan {
 public:
  PlanObject(algorithms::BestPlan best, const DeviceNetwork& request)
      : best_(std::move(best)), network_(request.network), bound_(best_.bound, request) {
    algorithm_text_ = best_.algorithm();
    words_text_ = best_.words();
    time_.set(planner_api::seconds_per_gb(best_.time));
    part_.set(best_.part_of_bound);
    bound = &bound_;
    algorithm = algorithm_text_.c_str();
    words = words_text_.c_str();
    seconds_per_gb = time_.fraction();
    part_of_bound = part_.fraction();
    bus_factor = sim::bus_factor(best_.bound.collective, network_.ranks());
  }
  PlanObject(const PlanObject&) = delete;
  PlanObject& operator=(const PlanObject&) = delete;

  /// Lives as long as this object.
  const Result<ir::Plan>& schedule() const {
    const std::lock_guard lock(mutex_);
    if (!schedule_) {
      auto made = algorithms::schedule(best_, network_, kBytes, kChannels);
      schedule_ = made.ok() ? Result<ir::Plan>(std::move(made->plan)) : made.status();
    }
    return *schedule_;
  }

  const algorithms::Network& network() const { return network_; }

  /// REQUIRES: schedule().ok().
  const Moves& moves() const {
    const ir::Plan& plan = *schedule();
    const std::lock_guard lock(mutex_);
    if (!moves_) {
      for (const ir::Move& move : plan.moves) move_list_.push_back(move_of(move));
      moves_ = Moves{{move_list_.data(), move_list_.size()}, plan.shape.chunks, plan.scratch_chunks};
    }
    return *moves_;
  }

 private:
  const algorithms::BestPlan best_;
  const algorithms::Network network_;
  const BoundObject bound_;
  std::string algorithm_text_;
  std::string words_text_;
  ExactFraction time_;
  ExactFraction part_;
  mutable std::mutex mutex_;
  mutable std::optional<Result<ir::Plan>> schedule_;
  mutable std::vector<Move> move_list_;
  mutable std::optional<Moves> moves_;
};

Result<std::unique_ptr<PlanObject>> find_plan(const weirTopology* topology, Collective collective, int root,
                                              std::span<const int> devices) {
  const auto request = request_of(topology, collective, devices);
  WEIR_TRY(request.status());
  const topology::Graph& graph = request->topology->graph();
  const std::vector<char> between_hosts = algorithms::switches_between_hosts(request->network, graph);
  auto best = algorithms::best_plan({graph, request->network, between_hosts, collective, root});
  WEIR_TRY(best.status());
  return std::make_unique<PlanObject>(std::move(*best), *request);
}

Result<const PlanObject*> plan_of(const weirPlan* handle) {
  if (handle != nullptr) return static_cast<const PlanObject*>(handle);
  return Status(Code::invalid_argument, "the plan is empty; expected one from plan_collective()");
}

/// The moves of a plan, which is not null.
Result<const ir::Plan*> schedule_of(const weirPlan* handle) {
  const auto object = plan_of(handle);
  WEIR_TRY(object.status());
  const Result<ir::Plan>& schedule = (*object)->schedule();
  WEIR_TRY(schedule.status());
  return &*schedule;
}

Result<std::string> write(const weirPlan* handle, PlanFormat format) {
  const auto plan = schedule_of(handle);
  WEIR_TRY(plan.status());
  switch (format) {
    case PlanFormat::text: {
      ir::Plan named = **plan;
      WEIR_TRY(sim::name_ways(named, static_cast<const PlanObject*>(handle)->network()));
      return ir::write_text(named);
    }
    case PlanFormat::msccl_xml: return msccl::write(**plan);
  }
  return Status(
      Code::invalid_argument,
      fmt::format("the format is number {}; expected {} (text) or {} (MSCCL's XML)", static_cast<int>(format),
                  static_cast<int>(PlanFormat::text), static_cast<int>(PlanFormat::msccl_xml)));
}

Status verify(const weirPlan* handle) {
  const auto plan = schedule_of(handle);
  WEIR_TRY(plan.status());
  return exec::prove(**plan);
}

Status verify_text(std::string_view text, const std::string& name) {
  const auto plan = algorithms::read_any_plan(text, name);
  WEIR_TRY(plan.status());
  return exec::prove(*plan);
}

/// Whether it is success; else the sentence is given.
bool judge(const Status& status, weirTextSink fault, void* keeper) {
  if (!status.ok()) give(fault, keeper, status.message());
  return status.ok();
}

}  // namespace
}  // namespace weir::planner_api

const weirPlan* weirPlanFind(const weirTopology* topology, weir::Collective collective, int root,
                             const int* devices, size_t count, weirTextSink error, void* keeper) {
  return weir::planner_api::release(
      weir::planner_api::find_plan(topology, collective, root, {devices, devices == nullptr ? 0 : count}),
      error, keeper);
}

void weirPlanFree(const weirPlan* plan) { delete static_cast<const weir::planner_api::PlanObject*>(plan); }

const weir::Moves* weirPlanMoves(const weirPlan* plan, weirTextSink error, void* keeper) {
  const auto schedule = weir::planner_api::schedule_of(plan);
  if (!weir::planner_api::judge(schedule.status(), error, keeper)) return nullptr;
  return &static_cast<const weir::planner_api::PlanObject*>(plan)->moves();
}

bool weirPlanWrite(const weirPlan* plan, weir::PlanFormat format, weirTextSink text, void* keeper) {
  const auto written = weir::planner_api::write(plan, format);
  weir::planner_api::give(text, keeper, written.ok() ? *written : written.status().message());
  return written.ok();
}

bool weirPlanVerify(const weirPlan* plan, weirTextSink fault, void* keeper) {
  return weir::planner_api::judge(weir::planner_api::verify(plan), fault, keeper);
}

bool weirPlanVerifyText(const char* text, size_t size, const char* name, weirTextSink fault, void* keeper) {
  return weir::planner_api::judge(
      weir::planner_api::verify_text({text, text == nullptr ? 0 : size}, name == nullptr ? "the text" : name),
      fault, keeper);
}
