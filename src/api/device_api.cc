// SPDX-License-Identifier: Apache-2.0

#include "src/api/device_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/api/handle.h"
#include "src/api/process.h"

namespace weir::api {
namespace {

constexpr const char* kInstead = "there is no device interface; call collectives from the host";

ncclResult_t refuse_pointer(const char* function, void** out) {
  if (out != nullptr) *out = nullptr;
  return refuse(function, kInstead);
}

/// The team of all ranks; empty, after reporting an error, if the communicator is not valid.
ncclTeam_t world(ncclComm_t comm, const char* function) {
  ncclTeam_t team{0, 0, 0};
  report([&] {
    return look_at(comm, function, [&](const core::Communicator& core, const HandleState&) {
      team = {core.size(), core.rank(), 1};
    });
  });
  return team;
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclDevCommCreate(ncclComm_t, const void*, void*) {
  return refuse("ncclDevCommCreate", kInstead);
}
WEIR_WEAK_ALIAS(ncclDevCommCreate);

ncclResult_t pncclDevCommDestroy(ncclComm_t, const void*) { return refuse("ncclDevCommDestroy", kInstead); }
WEIR_WEAK_ALIAS(ncclDevCommDestroy);

ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties) {
  constexpr const char* kFunction = "ncclCommQueryProperties";
  if (properties == nullptr || properties->magic != 0xcafebeef) {
    return report([&] {
      return Status(
          Code::invalid_argument,
          fmt::format("{} : the properties are NULL or were not made with NCCL_COMM_PROPERTIES_INITIALIZER",
                      kFunction));
    });
  }
  ncclCommProperties_t own{};
  const ncclResult_t result = report([&] {
    return look_at(comm, kFunction, [&](const core::Communicator& core, const HandleState& state) {
      own.rank = core.rank();
      own.nRanks = core.size();
      own.cudaDev = own.nvmlDev = state.device;
      own.hostRmaSupport = core.gpus() == nullptr;
      own.nLsaTeams = core.size();  // no rank can access another's device memory
    });
  });
  if (result != ncclSuccess) return result;
  constexpr size_t kHead = offsetof(ncclCommProperties_t, rank);
  const size_t end = std::min(properties->size, sizeof(own));
  if (end > kHead) std::memcpy(&properties->rank, &own.rank, end - kHead);
  return ncclSuccess;
}
WEIR_WEAK_ALIAS(ncclCommQueryProperties);

ncclTeam_t pncclTeamWorld(ncclComm_t comm) { return world(comm, "ncclTeamWorld"); }
WEIR_WEAK_ALIAS(ncclTeamWorld);

// Ranks that can access each other's device memory: each rank alone.
ncclTeam_t pncclTeamLsa(ncclComm_t comm) {
  const ncclTeam_t all = world(comm, "ncclTeamLsa");
  return all.nRanks == 0 ? all : ncclTeam_t{1, 0, 1};
}
WEIR_WEAK_ALIAS(ncclTeamLsa);

// One rank of each such team: all ranks.
ncclTeam_t pncclTeamRail(ncclComm_t comm) { return world(comm, "ncclTeamRail"); }
WEIR_WEAK_ALIAS(ncclTeamRail);

int pncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return world(comm, "ncclTeamRankToWorld").rank + (rank - team.rank) * team.stride;
}
WEIR_WEAK_ALIAS(ncclTeamRankToWorld);

int pncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank) {
  return pncclTeamLsa(comm).rank + (rank - team.rank) * team.stride;
}
WEIR_WEAK_ALIAS(ncclTeamRankToLsa);

ncclResult_t pncclLsaBarrierCreateRequirement(ncclTeam_t, int, void*, void*) {
  return refuse("ncclLsaBarrierCreateRequirement", kInstead);
}
WEIR_WEAK_ALIAS(ncclLsaBarrierCreateRequirement);

ncclResult_t pncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int, void*, void*) {
  return refuse("ncclGinBarrierCreateRequirement", kInstead);
}
WEIR_WEAK_ALIAS(ncclGinBarrierCreateRequirement);

// A slot holds eight bytes of one element.
int pncclLLA2ACalcSlots(int maxElts, int maxEltSize) { return maxElts * ((maxEltSize + 7) / 8); }
WEIR_WEAK_ALIAS(ncclLLA2ACalcSlots);

ncclResult_t pncclLLA2ACreateRequirement(int, int, void*, void*) {
  return refuse("ncclLLA2ACreateRequirement", kInstead);
}
WEIR_WEAK_ALIAS(ncclLLA2ACreateRequirement);

ncclResult_t pncclGetLsaDevicePointer(ncclWindow_t, size_t, int, void** out) {
  return refuse_pointer("ncclGetLsaDevicePointer", out);
}
WEIR_WEAK_ALIAS(ncclGetLsaDevicePointer);

ncclResult_t pncclGetPeerDevicePointer(ncclWindow_t, size_t, int, void** out) {
  return refuse_pointer("ncclGetPeerDevicePointer", out);
}
WEIR_WEAK_ALIAS(ncclGetPeerDevicePointer);

ncclResult_t pncclGetMultimemDevicePointer(ncclWindow_t, size_t, ncclMultimemHandle_t, void** out) {
  return refuse_pointer("ncclGetMultimemDevicePointer", out);
}
WEIR_WEAK_ALIAS(ncclGetMultimemDevicePointer);

ncclResult_t pncclGetLsaMultimemDevicePointer(ncclWindow_t, size_t, void** out) {
  return refuse_pointer("ncclGetLsaMultimemDevicePointer", out);
}
WEIR_WEAK_ALIAS(ncclGetLsaMultimemDevicePointer);
