// SPDX-License-Identifier: Apache-2.0
// Suspending and resuming communicators in the C interface, and their memory statistics.
#include <fmt/format.h>

#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/process.h"

namespace weir::api {
namespace {

Status suspend(ncclComm* comm, int flags) {
  constexpr const char* kFunction = "ncclCommSuspend";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  if (flags != NCCL_SUSPEND_MEM)
    return {Code::invalid_argument,
            fmt::format("{} : invalid flags {}; expected NCCL_SUSPEND_MEM", kFunction, flags)};
  return set_up(comm, [core = comm->core] { return core->suspend(); });
}

Status resume(ncclComm* comm) {
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, "ncclCommResume");
  return set_up(comm, [core = comm->core] { return core->resume(); });
}

Status memory(ncclComm* comm, int stat, uint64_t* value) {
  constexpr const char* kFunction = "ncclCommMemStats";
  if (comm != nullptr && value == nullptr) return null_argument(kFunction, "value");
  if (comm != nullptr && (stat < ncclStatGpuMemSuspend || stat > ncclStatGpuMemTotal))
    return {
        Code::invalid_argument,
        fmt::format("{} : invalid statistic {}; expected 0 to 3, one of ncclCommMemStat_t", kFunction, stat)};
  return look_at(comm, kFunction, [&](const core::Communicator& core, const HandleState&) {
    switch (stat) {
      case ncclStatGpuMemSuspended:
        *value = core.lifecycle().phase() == core::Lifecycle::Phase::suspended ? 1 : 0;
        break;
      case ncclStatGpuMemPersist: *value = 0; break;  // all that is counted is given back
      default: *value = core.memory_bytes();
    }
  });
}

}  // namespace
}  // namespace weir::api

using namespace weir::api;

ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags) {
  return finish([&] { return suspend(comm, flags); });
}
WEIR_WEAK_ALIAS(ncclCommSuspend);

ncclResult_t pncclCommResume(ncclComm_t comm) {
  return finish([&] { return resume(comm); });
}
WEIR_WEAK_ALIAS(ncclCommResume);

ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value) {
  return report([&] { return memory(comm, number(stat), value); });
}
WEIR_WEAK_ALIAS(ncclCommMemStats);
