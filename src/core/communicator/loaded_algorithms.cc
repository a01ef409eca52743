// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/loaded_algorithms.h"

#include <fmt/format.h>

#include <utility>

#include "algorithms/ir/loaded_plan.h"
#include "src/core/planning/plan_files.h"
#include "src/exec/plan_proof.h"

namespace weir::core {
namespace {

Status unknown(int handle) {
  return {Code::invalid_argument,
          fmt::format("no schedule has the handle {}; expected one that mscclLoadAlgo returned", handle)};
}

}  // namespace

bool was_loaded(const ir::LoadedPlan& plan) { return !plan.name.empty(); }

LoadedAlgorithms& LoadedAlgorithms::of_process() {
  static auto* const kAlgorithms = new LoadedAlgorithms;
  return *kAlgorithms;
}

Result<int> LoadedAlgorithms::load(const std::string& file) {
  auto read = read_plan_file(file);
  WEIR_TRY(read.status());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const ir::LoadedPlan>& plan = plans_[read->key];
  if (plan == nullptr) {
    // Channels hold at least so many messages, whatever the communicator.
    if (const Status proof = exec::prove(read->plan, exec::kProvenSlots); !proof.ok()) {
      plans_.erase(read->key);
      return Status(Code::invalid_usage,
                    fmt::format("{} is not loaded, because its plan is wrong: {}", file, proof.message()));
    }
    plan = std::make_unique<const ir::LoadedPlan>(std::move(*read));
  }
  handles_[next_] = plan.get();
  return next_++;
}

const ir::LoadedPlan* LoadedAlgorithms::keep(ir::LoadedPlan plan) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const ir::LoadedPlan>& kept = plans_[plan.key];
  if (kept == nullptr) kept = std::make_unique<const ir::LoadedPlan>(std::move(plan));
  return kept.get();
}

Status LoadedAlgorithms::unload(int handle) {
  const std::lock_guard lock(mutex_);
  return handles_.erase(handle) > 0 ? Status() : unknown(handle);
}

Result<CollectiveOp> LoadedAlgorithms::call_of(int handle, int ranks, Rank root) const {
  const std::lock_guard lock(mutex_);
  const auto known = handles_.find(handle);
  if (known == handles_.end()) return unknown(handle);
  const ir::Shape& shape = known->second->plan.shape;
  if (shape.ranks != ranks)
    return Status(Code::invalid_argument,
                  fmt::format("the schedule of {} is for {} ranks, and the communicator has {}",
                              known->second->name, shape.ranks, ranks));
  if (has_root(shape.kind) && shape.root != root)
    return Status(Code::invalid_argument,
                  fmt::format("the schedule of {} has the root {}; the call has root {}", known->second->name,
                              shape.root, root));
  CollectiveOp call;
  call.kind = shape.kind;
  call.root = has_root(shape.kind) ? shape.root : 0;
  call.plan = known->second;
  return call;
}

}  // namespace weir::core
