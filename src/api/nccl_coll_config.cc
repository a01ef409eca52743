// SPDX-License-Identifier: Apache-2.0
// Collectives with options of their own (ncclCollConfig_t).
#include <fmt/format.h>

#include <utility>

#include "src/api/coll_config.h"
#include "src/api/collective.h"
#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/core/communicator/selected_plans.h"

namespace weir::api {
namespace {

core::CallOptions options_of(const ncclCollConfig_t& config) {
  core::CallOptions options;
  if (config.algSelection != nullptr) options.algorithms = config.algSelection;
  options.required = config.forceAlgSelection != 0;
  if (config.minCTAs > 0) options.least_rings = static_cast<size_t>(config.minCTAs);
  if (config.maxCTAs > 0) options.most_rings = static_cast<size_t>(config.maxCTAs);
  return options;
}

/// Sets the plan that the config asks for. Arguments that are wrong are left to issue_collective().
Status take_plan(const char* function, core::CollectiveOp& call, int type, ncclComm_t comm,
                 const core::CallOptions& options) {
  if (options == core::CallOptions()) return {};
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, function);
  const core::Communicator& communicator = *comm->core;
  const bool is_root = call.root >= 0 && call.root < communicator.size();
  if (static_cast<unsigned>(type) >= kDataTypes || !is_root || call.count == 0) return {};
  if (comm->state->selected_plans == nullptr)
    comm->state->selected_plans = std::make_unique<core::SelectedPlans>();
  const size_t bytes = call.count * size_of(static_cast<DataType>(type));
  auto plan = comm->state->selected_plans->find(communicator, call.kind, call.root, bytes, options);
  if (!plan.ok()) return {plan.status().code(), fmt::format("{} : {}", function, plan.status().message())};
  call.plan = *plan;
  return {};
}

core::CollectiveOp call_of(Collective kind, const void* input, void* output, size_t count, int root = 0) {
  core::CollectiveOp call;
  call.kind = kind;
  call.input = input;
  call.output = output;
  call.count = count;
  call.root = root;
  return call;
}

/// A config that is wrong does not make the caller's group fail, as in NCCL: it is read before the call is.
ncclResult_t issue_with(const char* function, core::CollectiveOp call, int type, int op, ncclComm_t comm,
                        cudaStream_t stream, const ncclCollConfig_t* config) {
  core::CallOptions options;
  if (config != nullptr) {
    const ncclResult_t read = report([&]() -> Status {
      const auto own = read_coll_config(function, config);
      WEIR_TRY(own.status());
      options = options_of(*own);
      call.profiler_tag = own->userProfilerTag;
      return {};
    });
    if (read != ncclSuccess) return read;
  }
  return finish([&]() -> Status {
    WEIR_TRY(take_plan(function, call, type, comm, options));
    return issue_collective(call, type, op, comm, stream);
  });
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                  const ncclCollConfig_t* config) {
  return issue_with("ncclAllReduceConfig", call_of(Collective::all_reduce, sendbuff, recvbuff, count),
                    number(datatype), number(op), comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclAllReduceConfig);

ncclResult_t pncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                  int root, ncclComm_t comm, cudaStream_t stream,
                                  const ncclCollConfig_t* config) {
  return issue_with("ncclBroadcastConfig", call_of(Collective::broadcast, sendbuff, recvbuff, count, root),
                    number(datatype), ncclSum, comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclBroadcastConfig);

ncclResult_t pncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                               ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                               const ncclCollConfig_t* config) {
  return issue_with("ncclReduceConfig", call_of(Collective::reduce, sendbuff, recvbuff, count, root),
                    number(datatype), number(op), comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclReduceConfig);

ncclResult_t pncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                  ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                  const ncclCollConfig_t* config) {
  return issue_with("ncclAllGatherConfig", call_of(Collective::all_gather, sendbuff, recvbuff, sendcount),
                    number(datatype), ncclSum, comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclAllGatherConfig);

ncclResult_t pncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                      ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                      cudaStream_t stream, const ncclCollConfig_t* config) {
  return issue_with("ncclReduceScatterConfig",
                    call_of(Collective::reduce_scatter, sendbuff, recvbuff, recvcount), number(datatype),
                    number(op), comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclReduceScatterConfig);

ncclResult_t pncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return issue_with("ncclAlltoAllConfig", call_of(Collective::all_to_all, sendbuff, recvbuff, count),
                    number(datatype), ncclSum, comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclAlltoAllConfig);

ncclResult_t pncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                               int root, ncclComm_t comm, cudaStream_t stream,
                               const ncclCollConfig_t* config) {
  return issue_with("ncclGatherConfig", call_of(Collective::gather, sendbuff, recvbuff, count, root),
                    number(datatype), ncclSum, comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclGatherConfig);

ncclResult_t pncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                int root, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t* config) {
  return issue_with("ncclScatterConfig", call_of(Collective::scatter, sendbuff, recvbuff, count, root),
                    number(datatype), ncclSum, comm, stream, config);
}
WEIR_WEAK_ALIAS(ncclScatterConfig);
