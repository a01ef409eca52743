// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <latch>
#include <map>
#include <thread>
#include <utility>

#include "src/base/exception.h"
#include "src/base/service_thread.h"
#include "src/base/text.h"
#include "src/core/call/operation.h"
#include "src/core/communicator/queries.h"

namespace weir::core {
namespace {

/// Threads that begin together or not at all: a job would wait in vain for one whose thread did not start.
class SideThreads {
 public:
  explicit SideThreads(size_t most) { threads_.reserve(most); }
  ~SideThreads() { join(); }
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  Status add(std::function<void()> body, std::function<void(const Status&)> failed) {
    auto thread = start_thread(
        "weir group",
        [this, body = std::move(body)] {
          decided_.wait();
          if (goes_) body();
        },
        std::move(failed));
    WEIR_TRY(thread.status());
    threads_.push_back(std::move(*thread));
    return {};
  }
  void go() {
    goes_ = true;
    decided_.count_down();
  }
  /// Without go(), no body runs.
  void join() {
    if (!goes_) decided_.count_down();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    goes_ = true;
  }

 private:
  std::latch decided_{1};
  bool goes_ = false;  // written before decided_ counts down, read after it
  std::vector<std::thread> threads_;
};

/// Runs every job on its own thread, since each may wait for the others. Returns the first error in job
/// order, or in_progress if there is no error but a job in progress.
Status run_side_by_side(const std::vector<std::function<Status()>>& jobs) {
  std::vector<Status> results(jobs.size());
  SideThreads threads(jobs.size() - 1);
  for (size_t i = 1; i < jobs.size(); ++i)
    WEIR_TRY(
        threads.add([&, i] { results[i] = jobs[i](); }, [&, i](const Status& why) { results[i] = why; }));
  threads.go();
  results[0] = guarded(jobs[0]);
  threads.join();
  Status worst;
  for (Status& result : results) {
    if (!result.ok() && (worst.ok() || worst.code() == Code::in_progress)) worst = std::move(result);
  }
  return worst;
}

}  // namespace

void Group::fail(const Status& status) {
  if (depth_ > 0 && failed_.ok()) failed_ = status;
}

Status Group::end() {
  return end([this] { return carry_out(); });
}

Status Group::simulate(double& seconds) {
  return end([&] { return predict(seconds); });
}

Status Group::end(const std::function<Status()>& outermost) {
  if (depth_ == 0)
    return {Code::invalid_usage, "ncclGroupEnd: not in a group call: ncclGroupStart must come first"};
  if (--depth_ > 0) return {};
  Status status = std::exchange(failed_, {});
  if (status.ok()) status = guarded(outermost);
  jobs_.clear();
  targets_.clear();
  operations_.clear();
  return status;
}

Status Group::predict(double& seconds) {
  if (!jobs_.empty())
    return {Code::invalid_usage,
            "ncclGroupSimulateEnd : the group holds communicator set-up (init, split), whose time cannot "
            "be predicted; expected communication only"};
  std::vector<std::pair<const Communicator*, std::vector<Operation>>> parts;
  for (size_t i = 0; i < targets_.size(); ++i) {
    const Communicator* const communicator = targets_[i].communicator;
    auto part = std::ranges::find(parts, communicator, [](const auto& p) { return p.first; });
    if (part == parts.end()) part = parts.insert(part, {communicator, {}});
    part->second.push_back(operations_[i]);
  }
  double longest = 0;
  for (const auto& [communicator, operations] : parts) {
    const Result<double> predicted = core::predict(*communicator, operations);
    WEIR_TRY(predicted.status());
    longest = std::max(longest, *predicted);
  }
  seconds = longest;
  return {};
}

Status Group::carry_out() {
  if (!jobs_.empty() && !operations_.empty()) {
    return {
        Code::invalid_usage,
        "ncclGroupEnd: a group holds either communicator set-up (init, split) or communication, not both"};
  }
  if (!jobs_.empty()) return run_side_by_side(jobs_);
  WEIR_TRY(check_own_pairs());
  return operations_.empty() ? Status() : launch_group(targets_, operations_);
}

/// A rank's sends to itself and its receives from itself must match within the group, or it would wait
/// forever.
Status Group::check_own_pairs() const {
  std::map<const Communicator*, std::pair<int, int>> own;  // sends and receives
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Communicator* const communicator = targets_[i].communicator;
    const Operation& operation = operations_[i];
    if (!is_pair(operation) || peer_of(operation) != communicator->rank()) continue;
    auto& [sends, receives] = own[communicator];
    ++(std::holds_alternative<SendOp>(operation) ? sends : receives);
  }
  for (const auto& [communicator, counts] : own) {
    const auto [sends, receives] = counts;
    if (sends == receives) continue;
    return {
        Code::invalid_usage,
        fmt::format("ncclGroupEnd : rank {} sends {} to itself and receives {} from itself; expected as many "
                    "receives as sends in one group",
                    communicator->rank(), plural(sends, "message"), plural(receives, "message"))};
  }
  return {};
}

}  // namespace weir::core
