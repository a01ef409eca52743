#include "src/core/group.h"

#include <thread>

namespace weir::core {
namespace {

/// Runs every job on a thread of its own: each may wait for the others. The first error in job order;
/// in_progress if that is the worst there is.
Status run_side_by_side(const std::vector<std::function<Status()>>& jobs) {
  std::vector<Status> results(jobs.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < jobs.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = jobs[i](); });
  }
  results[0] = jobs[0]();
  for (std::thread& thread : threads) thread.join();
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
  if (depth_ == 0)
    return {Code::invalid_usage, "ncclGroupEnd: not in a group call: ncclGroupStart must come first"};
  if (--depth_ > 0) return {};
  Status status = std::exchange(failed_, {});
  if (status.ok()) status = carry_out();
  jobs_.clear();
  targets_.clear();
  operations_.clear();
  return status;
}

Status Group::carry_out() {
  if (!jobs_.empty() && !operations_.empty()) {
    return {
        Code::invalid_usage,
        "ncclGroupEnd: a group holds either communicator set-up (init, split) or communication, not both"};
  }
  if (!jobs_.empty()) return run_side_by_side(jobs_);
  return operations_.empty() ? Status() : run_together(targets_, operations_);
}

}  // namespace weir::core
