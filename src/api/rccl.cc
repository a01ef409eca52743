// SPDX-License-Identifier: Apache-2.0
// Functions that RCCL has and NCCL does not. Streams of both are pointers, so callers of either header can
// use them.
#pragma GCC visibility push(default)
#define WEIR_NO_HIP
#include "rccl/rccl.h"
#pragma GCC visibility pop

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/process.h"

using namespace weir;
using namespace weir::api;

ncclResult_t pncclAllToAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, hipStream_t stream) {
  return pncclAlltoAll(sendbuff, recvbuff, count, datatype, comm, stream);
}
WEIR_WEAK_ALIAS(ncclAllToAll);

ncclResult_t pncclAlltoAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                            void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                            ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  constexpr const char* kFunction = "ncclAlltoAllv";
  int ranks = 0;
  const ncclResult_t checked = finish([&]() -> Status {
    WEIR_TRY(look_at(comm, kFunction,
                     [&](const core::Communicator& core, const HandleState&) { ranks = core.size(); }));
    if (sendcounts == nullptr || sdispls == nullptr || recvcounts == nullptr || rdispls == nullptr) {
      return {Code::invalid_argument,
              fmt::format("{} : counts and displacements may not be NULL", kFunction)};
    }
    if (static_cast<unsigned>(number(datatype)) >= kDataTypes) {
      return {Code::invalid_argument, fmt::format("{} : invalid type {}", kFunction, number(datatype))};
    }
    return {};
  });
  if (checked != ncclSuccess) return checked;
  const size_t size = size_of(static_cast<DataType>(number(datatype)));
  pncclGroupStart();
  ncclResult_t result = ncclSuccess;
  for (int peer = 0; peer < ranks && result == ncclSuccess; ++peer) {
    const auto* const from = static_cast<const char*>(sendbuff) + sdispls[peer] * size;
    auto* const to = static_cast<char*>(recvbuff) + rdispls[peer] * size;
    if (sendcounts[peer] != 0) result = pncclSend(from, sendcounts[peer], datatype, peer, comm, stream);
    if (result == ncclSuccess && recvcounts[peer] != 0) {
      result = pncclRecv(to, recvcounts[peer], datatype, peer, comm, stream);
    }
  }
  const ncclResult_t ended = pncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}
WEIR_WEAK_ALIAS(ncclAlltoAllv);

ncclResult_t pncclAllToAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                            void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                            ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  return pncclAlltoAllv(sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, datatype, comm, stream);
}
WEIR_WEAK_ALIAS(ncclAllToAllv);

/// Facts about a communicator, for debuggers. RCCL's only C++ function, without a p name; ROCm's PyTorch
/// links it.
__attribute__((visibility("default"))) ncclResult_t ncclCommDump(
    const ncclComm_t comm, std::unordered_map<std::string, std::string>& map) {
  return report([&] {
    return look_at(comm, "ncclCommDump", [&](const core::Communicator& core, const HandleState&) {
      map["rank"] = std::to_string(core.rank());
      map["nRanks"] = std::to_string(core.size());
      map["commDesc"] = core.config().name;
    });
  });
}
