// SPDX-License-Identifier: Apache-2.0
/// Predicted times of plans that kernels run, on the links between the GPUs.
///
/// A plan is simulated on the network with a fixed cost per message. The same arguments give the same bits on
/// all ranks. Pure.
/// Tests: tests/core/plan_times_test.cc
#pragma once

#include <cstddef>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"

namespace weir::core {

class PlanTimes {
 public:
  /// `network`: its rank r is rank r of the plans.
  explicit PlanTimes(algorithms::Network network) : network_(std::move(network)) {}

  /// Seconds for blocks of `bytes`, in messages of at most `message_bytes`. Errors: those of sim::simulate().
  Result<double> of_messages(const ir::Plan& plan, size_t bytes, size_t message_bytes) const;
  /// The least that any execution of the plan can take: the time of its most loaded link. Errors: those of
  /// sim::loads_of().
  Result<double> of_links(const ir::Plan& plan, size_t bytes) const;

 private:
  const algorithms::Network network_;
};

}  // namespace weir::core
