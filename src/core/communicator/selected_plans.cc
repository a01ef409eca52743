// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/selected_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/filter.h"
#include "algorithms/ir/loaded_plan.h"
#include "src/base/log.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/loaded_algorithms.h"
#include "src/core/communicator/resources.h"
#include "src/core/planning/proven_plan.h"

namespace weir::core {
namespace {

/// The algorithms that a options allows.
Result<cost::Names> names_of(const CallOptions& options) {
  if (!options.algorithms.empty()) return cost::selected_algorithms(options.algorithms);
  cost::Names names;
  for (const algorithms::Entry& entry : algorithms::catalogue()) names.push_back(entry.algorithm);
  return names;
}

}  // namespace

Result<const ir::LoadedPlan*> SelectedPlans::make(const Communicator& communicator, Collective kind,
                                                  Rank root, size_t bytes, const CallOptions& options) const {
  const auto names = names_of(options);
  WEIR_TRY(names.status());
  const Resources* const resources = communicator.resources();
  // Of one rank there is nothing to plan; the call itself says why a communicator is not connected.
  if (communicator.size() == 1 || resources == nullptr || resources->selector == nullptr) return nullptr;
  const Selector& selector = *resources->selector;
  const bool without_plan = resources->exchanged[static_cast<size_t>(kind)] ||
                            !selector.changes_rings(options.least_rings, options.most_rings);
  if (options.algorithms.empty() && without_plan) return nullptr;
  auto selected = selector.select(
      kind, bytes,
      [&](const algorithms::Entry& entry) {
        return std::ranges::find(*names, entry.algorithm) != names->end();
      },
      options.least_rings, options.most_rings);
  if (selected.entry == nullptr)
    return Status(Code::invalid_argument,
                  fmt::format("no algorithm of '{}' can be used for {} over {} ranks here",
                              options.algorithms, weir::name(kind), communicator.size()));
  const std::string algorithm(selected.entry->algorithm);
  const algorithms::Layout layout = selector.order() == SumOrder::ranks && reduces(kind)
                                        ? algorithms::layout_by_rank(selected.layout.order.size())
                                        : std::move(selected.layout);
  const uint32_t chunks = algorithms::default_chunks(*selected.entry, communicator.size(), layout);
  auto plan = emit_proven(algorithm, {kind, communicator.size(), has_root(kind) ? root : 0, chunks}, layout);
  WEIR_TRY(plan.status());
  WEIR_INFO(tuning, "{} of {} bytes: '{}' asks for, and gets, {}", weir::name(kind), bytes,
            options.algorithms, algorithm);
  return LoadedAlgorithms::of_process().keep(ir::loaded("", std::move(*plan)));
}

Result<const ir::LoadedPlan*> SelectedPlans::find(const Communicator& communicator, Collective kind,
                                                  Rank root, size_t bytes, const CallOptions& options) {
  const Key key{kind,
                has_root(kind) ? root : 0,
                static_cast<int>(std::bit_width(bytes)),
                options.algorithms,
                options.required,
                options.least_rings,
                options.most_rings};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  auto made = make(communicator, kind, root, bytes, options);
  if (!made.ok() && made.status().code() == Code::invalid_argument && !options.required) {
    WEIR_INFO(tuning, "{}: {}; the library chooses", weir::name(kind), made.status().message());
    made = nullptr;
  }
  WEIR_TRY(made.status());
  if (communicator.resources() != nullptr) known_[key] = *made;
  return *made;
}

}  // namespace weir::core
