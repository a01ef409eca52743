// SPDX-License-Identifier: Apache-2.0
// Groups of the C interface; src/core/communicator/group.h explains them.
#include <fmt/format.h>

#include "src/api/group.h"
#include "src/api/process.h"
#include "src/base/per_thread.h"
#include "src/core/communicator/group.h"

namespace weir::api {

constinit thread_local ThreadGroup* open_group = nullptr;

namespace {

std::atomic<uint64_t> threads_seen{0};

}  // namespace

/// The thread's group, the communicators that it uses, and their set-up steps.
struct ThreadGroup {
  using Job = std::function<Status()>;

  /// Set-up steps on one communicator, carried out in the order issued.
  struct Steps {
    ncclComm* handle;
    std::vector<Job> jobs;

    Status operator()() const {
      for (const Job& job : jobs) WEIR_TRY(job());
      return {};
    }
  };

  core::Group group;
  uint64_t number = ++threads_seen << 32;  ///< number of the group begun last; unique among all groups
  std::vector<ncclComm*> members;
  std::vector<Steps> steps;
  std::vector<std::shared_ptr<device::HostStream>> streams;  ///< streams of its operations
};

namespace {

/// The thread's group, whether it is open or not.
ThreadGroup& thread_group() {
  static PerThread<ThreadGroup> groups;
  return groups.get();
}

void join(ThreadGroup& group, ncclComm* handle) {
  if (handle->state->group == group.number) return;
  handle->state->group = group.number;
  group.members.push_back(handle);
}

/// An error if the members' current state does not allow the group.
Status check_members(const std::vector<ncclComm*>& members) {
  for (const ncclComm* member : members) {
    if (member->core->config().blocking != members.front()->core->config().blocking) {
      return {Code::invalid_argument,
              "ncclGroupEnd : the group has blocking and non-blocking communicators; expected only one kind"};
    }
  }
  return {};
}

Status end_outermost(ThreadGroup& group, double* simulated) {
  std::vector<ncclComm*> members;
  members.swap(group.members);
  size_t entered = 0;
  while (entered < members.size() && enter(members[entered])) ++entered;
  if (entered < members.size()) {
    group.group.fail(explain_no_entry(members[entered], "ncclGroupEnd"));
  } else {
    if (Status status = check_members(members); !status.ok()) group.group.fail(status);
  }
  const Status added = guarded([&] {
    for (ThreadGroup::Steps& steps : group.steps) group.group.add_job(std::move(steps));
    return Status();
  });
  if (!added.ok()) group.group.fail(added);
  group.steps.clear();
  const Status status = simulated != nullptr ? group.group.simulate(*simulated) : group.group.end();
  for (size_t i = 0; i < entered; ++i) leave(members[i]);
  group.streams.clear();
  members.clear();
  members.swap(group.members);  // returns the memory for use by the next group
  return status;
}

}  // namespace

ncclResult_t finish_error(const Status& status) noexcept {
  if (open_group != nullptr && status.code() != Code::in_progress) open_group->group.fail(status);
  return report(status);
}

void add_to_group(ThreadGroup& group, ncclComm* handle, core::Operation&& operation) {
  join(group, handle);
  group.group.add(*handle->core, {}, std::move(operation));
}

Status run_or_add(ncclComm* handle, core::Operation&& operation, const core::StreamPlace& place,
                  std::shared_ptr<device::HostStream> stream) {
  if (open_group == nullptr) return handle->core->run({&operation, 1}, place);
  ThreadGroup& group = *open_group;
  join(group, handle);
  if (stream != nullptr && (group.streams.empty() || group.streams.back() != stream)) {
    group.streams.push_back(std::move(stream));
  }
  group.group.add(*handle->core, place, std::move(operation));
  return {};
}

Status set_up(ncclComm* handle, ThreadGroup::Job job) {
  if (open_group == nullptr) return job();
  ThreadGroup& group = *open_group;
  join(group, handle);
  for (ThreadGroup::Steps& steps : group.steps) {
    if (steps.handle == handle) {
      steps.jobs.push_back(std::move(job));
      return {};
    }
  }
  group.steps.push_back({handle, {std::move(job)}});
  return {};
}

static void start_group() {
  if (open_group == nullptr) {
    open_group = &thread_group();
    ++open_group->number;
  }
  open_group->group.start();
}

/// Leaves one level; returns what core::Group::end() returns. With `simulated` nothing is carried out; at the
/// outermost level it is set to the group's predicted time in seconds.
static Status end_group(double* simulated = nullptr) {
  ThreadGroup& group = open_group != nullptr ? *open_group : thread_group();
  if (group.group.depth() != 1) return group.group.end();
  open_group = nullptr;
  return end_outermost(group, simulated);
}

Status run_group(const std::function<Status()>& body) {
  start_group();
  Status status = guarded(body);
  if (!status.ok()) open_group->group.fail(status);
  Status ended = end_group();
  return status.ok() ? ended : status;
}

}  // namespace weir::api

using namespace weir::api;

ncclResult_t pncclGroupStart() {
  return report([] {
    start_group();
    return weir::Status();
  });
}
WEIR_WEAK_ALIAS(ncclGroupStart);

ncclResult_t pncclGroupEnd() {
  return report([&] { return end_group(); });
}
WEIR_WEAK_ALIAS(ncclGroupEnd);

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  if (simInfo == nullptr) return pncclGroupEnd();
  if (simInfo->magic != 0x74685283) {
    return finish([&] {
      return weir::Status(weir::Code::invalid_argument,
                          "ncclGroupSimulateEnd : simInfo was not made with NCCL_SIM_INFO_INITIALIZER");
    });
  }
  constexpr double kMicroseconds = 1e6;
  double seconds = -1;
  const weir::Status status = weir::guarded([&] { return end_group(&seconds); });
  const float time =
      status.ok() && seconds >= 0 ? static_cast<float>(seconds * kMicroseconds) : NCCL_UNDEF_FLOAT;
  const size_t capacity = offsetof(ncclSimInfo_t, estimatedTime) + sizeof(time);
  if (simInfo->size >= capacity) simInfo->estimatedTime = time;
  return report(status);
}
WEIR_WEAK_ALIAS(ncclGroupSimulateEnd);
