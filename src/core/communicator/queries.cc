// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/queries.h"

#include <algorithm>

#include "src/core/call/operation_summary.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"

namespace weir::core {
namespace {

/// Sends and receives that go side by side: no sooner than the longest of them, nor than the work that this
/// rank has with all (algorithms/cost/profile.h says who pays for what).
class PairTime {
 public:
  explicit PairTime(const Resources& resources) : resources_(resources) {}

  void add(const Operation& operation) {
    const cost::Rates& rates = resources_.selector->environment().rates;
    const auto& peers = resources_.bootstrap->peers();
    const auto self = static_cast<size_t>(resources_.bootstrap->rank());
    const auto peer = static_cast<size_t>(peer_of(operation));
    const auto bytes = static_cast<double>(bytes_of(operation));
    if (peer == self) {
      work_ += rates.gamma * bytes / 2;  // a send and its receive are one copy
      return;
    }
    const cost::ChannelRates& channel = peers[peer].host == peers[self].host ? rates.inside : rates.between;
    const double messages = std::max(1.0, bytes / resources_.links->sizes().pair.bytes);
    longest_ = std::max(longest_, channel.alpha + channel.beta * bytes);
    work_ += (messages * channel.overhead + channel.beta * bytes) / 2;
  }
  double seconds() const { return std::max(longest_, work_); }

 private:
  const Resources& resources_;
  double longest_ = 0;
  double work_ = 0;
};

Result<double> seconds_of(const CollectiveOp& operation, Resources& resources) {
  const size_t bytes = operation.count * size_of(operation.type);
  if (bytes == 0) return 0.0;
  const double copies = operation.bias != nullptr || resources.bootstrap->size() == 1
                            ? resources.selector->environment().rates.gamma * static_cast<double>(bytes)
                            : 0;
  if (resources.bootstrap->size() == 1) return copies;
  const cost::CostTable& table = resources.selector->table(operation.kind);
  const cost::Estimate& best = table.at(bytes).best;
  if (best.entry == nullptr)
    return Status(Code::internal_error,
                  "there is no plan for " + describe(operation) + ", so its time cannot be predicted");
  return table.seconds(best.entry->algorithm, bytes) + copies;
}

}  // namespace

Result<std::vector<Presence>> presences_of(const Communicator& communicator) {
  if (communicator.resources() == nullptr) return why_not_connected(communicator);
  return communicator.resources()->bootstrap->presences();
}

Result<std::vector<RankPlace>> places_of(const Communicator& communicator) {
  if (communicator.resources() == nullptr) return why_not_connected(communicator);
  return communicator.resources()->peer_table->cluster.places();
}

Result<SumOrder> order_of(const Communicator& communicator) {
  if (communicator.resources() == nullptr) return why_not_connected(communicator);
  return communicator.resources()->peer_table->order;
}

Status set_stuck_timeout(const Communicator& communicator, int64_t ms) {
  if (communicator.resources() == nullptr) return why_not_connected(communicator);
  communicator.resources()->bootstrap->watchdog().set_stuck_ms(ms);
  return {};
}

Result<double> predict(const Communicator& communicator, std::span<const Operation> operations) {
  WEIR_TRY(communicator.lifecycle().usable());
  Resources& resources = *communicator.resources();
  if (resources.pace != nullptr) return resources.pace->seconds(operations);
  if (resources.gpus_somewhere)
    return Status(
        Code::invalid_usage,
        "ncclGroupSimulateEnd does not support communicators in which a rank uses a GPU: the costs of "
        "operations are not known there; measure them instead");
  double seconds = 0;
  PairTime pairs(resources);
  for (const Operation& operation : operations) {
    const auto* const collective = std::get_if<CollectiveOp>(&operation);
    if (collective == nullptr) {
      pairs.add(operation);
      continue;
    }
    const Result<double> one = seconds_of(*collective, resources);
    WEIR_TRY(one.status());
    seconds += *one;
  }
  return seconds + pairs.seconds();
}

}  // namespace weir::core
