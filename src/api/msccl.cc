// SPDX-License-Identifier: Apache-2.0
// RCCL's functions that load a schedule from a file and run it.
#pragma GCC visibility push(default)
#define WEIR_NO_HIP
#include "rccl/rccl.h"
#pragma GCC visibility pop

#include <fmt/format.h>

#include <limits>

#include "src/api/collective.h"
#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/core/communicator/loaded_algorithms.h"

using namespace weir;
using namespace weir::api;
using core::LoadedAlgorithms;

/// The rank is not needed: a plan has the steps of all ranks.
ncclResult_t pmscclLoadAlgo(const char* path, mscclAlgoHandle_t* handle, int /*rank*/) {
  return finish([&]() -> Status {
    if (path == nullptr || handle == nullptr)
      return {Code::invalid_argument, "mscclLoadAlgo : the path and the handle may not be NULL"};
    auto loaded = LoadedAlgorithms::of_process().load(path);
    if (!loaded.ok())
      return {loaded.status().code(), fmt::format("mscclLoadAlgo : {}", loaded.status().message())};
    *handle = static_cast<mscclAlgoHandle_t>(*loaded);
    return {};
  });
}
WEIR_WEAK_ALIAS(mscclLoadAlgo);

ncclResult_t pmscclRunAlgo(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[], size_t count,
                           ncclDataType_t datatype, int root, int /*peer*/, ncclRedOp_t op,
                           mscclAlgoHandle_t handle, ncclComm_t comm, hipStream_t stream) {
  return finish([&]() -> Status {
    constexpr const char* kFunction = "mscclRunAlgo";
    if (sendcounts != nullptr || sdispls != nullptr || recvcounts != nullptr || rdispls != nullptr)
      return {
          Code::invalid_argument,
          fmt::format("{} : counts and displacements by rank are not supported; expected NULL, and count for "
                      "blocks of one size",
                      kFunction)};
    int ranks = 0;
    WEIR_TRY(look_at(comm, kFunction,
                     [&](const core::Communicator& core, const HandleState&) { ranks = core.size(); }));
    auto call = LoadedAlgorithms::of_process().call_of(static_cast<int>(handle), ranks, root);
    if (!call.ok()) return {call.status().code(), fmt::format("{} : {}", kFunction, call.status().message())};
    call->input = sendbuff;
    call->output = recvbuff;
    call->count = count;
    return issue_collective(*call, number(datatype), number(op), comm, stream);
  });
}
WEIR_WEAK_ALIAS(mscclRunAlgo);

ncclResult_t pmscclUnloadAlgo(mscclAlgoHandle_t handle) {
  return finish([&]() -> Status {
    const Status unloaded = LoadedAlgorithms::of_process().unload(static_cast<int>(handle));
    return unloaded.ok() ? unloaded
                         : Status(unloaded.code(), fmt::format("mscclUnloadAlgo : {}", unloaded.message()));
  });
}
WEIR_WEAK_ALIAS(mscclUnloadAlgo);
