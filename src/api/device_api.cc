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

ncclResult_t refuse_endpoint(const char* function, ncclCftLeId* id, size_t* offset) {
  if (id != nullptr) *id = NCCL_LE_ID_INVALID;
  if (offset != nullptr) *offset = 0;
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

/// Each rank alone.
ncclTeam_t alone(ncclComm_t comm, const char* function) {
  const ncclTeam_t all = world(comm, function);
  return all.nRanks == 0 ? all : ncclTeam_t{1, 0, 1};
}

/// What a requirement is made of. No kernel uses it, but sizes are those that NCCL's kernels would need.
struct Needed {
  size_t bytes = 0;
  size_t alignment = 0;
  int signals = 0;
};

Status out_of_range(const char* function, const char* what, int value, int least, int most) {
  return {Code::invalid_argument,
          fmt::format("{} : invalid {} {}; expected {} to {}", function, what, value, least, most)};
}

constexpr int kMostBlocks = 1 << 20, kMostTeam = 1 << 20, kMostSlots = 1 << 20, kMostSizeLog = 40;

Status check_team(const char* function, const ncclTeam_t& team) {
  if (team.nRanks >= 1 && team.nRanks <= kMostTeam) return {};
  return out_of_range(function, "number of ranks in the team", team.nRanks, 1, kMostTeam);
}
Status check_blocks(const char* function, const char* what, int count) {
  return count >= 0 && count <= kMostBlocks ? Status() : out_of_range(function, what, count, 0, kMostBlocks);
}
Status check_size(const char* function, int size_log2) {
  return size_log2 >= 0 && size_log2 <= kMostSizeLog
             ? Status()
             : out_of_range(function, "size_log2", size_log2, 0, kMostSizeLog);
}

/// Fills in a handle and its requirement; `checked`: of the other arguments.
template <typename Handle>
ncclResult_t require(const char* function, const Status& checked, Handle* handle,
                     ncclDevResourceRequirements_t* requirement, const Needed& needed, const Handle& filled,
                     ncclDevResourceHandle_t Handle::*buffer, ncclGinSignal_t Handle::*signals) {
  return report([&]() -> Status {
    WEIR_TRY(checked);
    if (handle == nullptr) return null_argument(function, "outHandle");
    if (requirement == nullptr) return null_argument(function, "outReq");
    *handle = filled;
    *requirement = {};
    requirement->bufferSize = needed.bytes;
    requirement->bufferAlign = needed.alignment;
    requirement->ginSignalCount = needed.signals;
    if (needed.bytes > 0) requirement->outBufferHandle = &(handle->*buffer);
    if (needed.signals > 0) requirement->outGinSignalStart = &(handle->*signals);
    return {};
  });
}

constexpr size_t kBoxAlignment = 128;

/// By which kernels divide without dividing: 2^32 / number, rounded.
constexpr uint32_t reciprocal(int number) {
  const auto divisor = static_cast<uint32_t>(number);
  if (divisor == 0) return 0;
  return UINT32_MAX / divisor + ((divisor & (divisor - 1)) == 0 ? 1 : 0);
}

constexpr size_t wide(int number) { return static_cast<size_t>(number); }

/// Two counters for a barrier, one for multicast, and one for each rank of the team; `grain`: bytes of one.
Needed barriers(int count, const ncclTeam_t& team, size_t grain) {
  return {(3 + wide(team.nRanks)) * wide(count) * grain, grain, 0};
}

Status check_barriers(const char* function, const ncclTeam_t& team, int count) {
  WEIR_TRY(check_team(function, team));
  WEIR_TRY(check_blocks(function, "number of barriers", count));
  if (int64_t{team.nRanks} * count <= INT_MAX) return {};
  return {Code::invalid_argument,
          fmt::format("{} : {} barriers of {} ranks are too many", function, count, team.nRanks)};
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return refuse("ncclDevCommCreate", kInstead);
}
WEIR_WEAK_ALIAS(ncclDevCommCreate);

ncclResult_t pncclDevCommDestroy(ncclComm_t, const ncclDevComm_t*) {
  return refuse("ncclDevCommDestroy", kInstead);
}
WEIR_WEAK_ALIAS(ncclDevCommDestroy);

ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties) {
  constexpr const char* kFunction = "ncclCommQueryProperties";
  if (properties == nullptr || properties->magic != NCCL_API_MAGIC) {
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

ncclTeam_t pncclTeamLsa(ncclComm_t comm) { return alone(comm, "ncclTeamLsa"); }
WEIR_WEAK_ALIAS(ncclTeamLsa);

ncclTeam_t pncclTeamRail(ncclComm_t comm) { return world(comm, "ncclTeamRail"); }
WEIR_WEAK_ALIAS(ncclTeamRail);

ncclTeam_t pncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t) { return alone(comm, "ncclTeamCft"); }
WEIR_WEAK_ALIAS(ncclTeamCft);

ncclTeam_t pncclTeamCftMultimem(ncclComm_t comm) { return alone(comm, "ncclTeamCftMultimem"); }
WEIR_WEAK_ALIAS(ncclTeamCftMultimem);

int pncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return world(comm, "ncclTeamRankToWorld").rank + (rank - team.rank) * team.stride;
}
WEIR_WEAK_ALIAS(ncclTeamRankToWorld);

int pncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank) {
  return alone(comm, "ncclTeamRankToLsa").rank + (rank - team.rank) * team.stride;
}
WEIR_WEAK_ALIAS(ncclTeamRankToLsa);

ncclResult_t pncclLsaBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                              ncclLsaBarrierHandle_t* outHandle,
                                              ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclLsaBarrierCreateRequirement";
  using Handle = ncclLsaBarrierHandle_t;
  return require<Handle>(kFunction, check_barriers(kFunction, team, nBarriers), outHandle, outReq,
                         barriers(nBarriers, team, sizeof(uint32_t)), {0, nBarriers}, &Handle::bufHandle,
                         nullptr);
}
WEIR_WEAK_ALIAS(ncclLsaBarrierCreateRequirement);

ncclResult_t pncclCftBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                              ncclCftBarrierHandle_t* outHandle,
                                              ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclCftBarrierCreateRequirement";
  using Handle = ncclCftBarrierHandle_t;
  constexpr size_t kGrain = 16;
  return require<Handle>(kFunction, check_barriers(kFunction, team, nBarriers), outHandle, outReq,
                         barriers(nBarriers, team, kGrain), {0, nBarriers}, &Handle::bufHandle, nullptr);
}
WEIR_WEAK_ALIAS(ncclCftBarrierCreateRequirement);

ncclResult_t pncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int nBarriers,
                                              ncclGinBarrierHandle_t* outHandle,
                                              ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclGinBarrierCreateRequirement";
  using Handle = ncclGinBarrierHandle_t;
  Status checked = guarded([&] { return look_at(comm, kFunction, [](const auto&, const auto&) {}); });
  if (checked.ok()) checked = check_barriers(kFunction, team, nBarriers);
  return require<Handle>(kFunction, checked, outHandle, outReq,
                         {0, 0, checked.ok() ? nBarriers * team.nRanks : 0}, {0, 0}, nullptr,
                         &Handle::signal0);
}
WEIR_WEAK_ALIAS(ncclGinBarrierCreateRequirement);

// A slot holds eight bytes of one element.
int pncclLLA2ACalcSlots(int maxElts, int maxEltSize) { return maxElts * ((maxEltSize + 7) / 8); }
WEIR_WEAK_ALIAS(ncclLLA2ACalcSlots);

ncclResult_t pncclLLA2ACreateRequirement(int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
                                         ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclLLA2ACreateRequirement";
  using Handle = ncclLLA2AHandle_t;
  Status checked = check_blocks(kFunction, "number of blocks", nBlocks);
  if (checked.ok() && (nSlots < 0 || nSlots > kMostSlots))
    checked = out_of_range(kFunction, "number of slots", nSlots, 0, kMostSlots);
  constexpr size_t kSlot = 16;  // a counter, then the slots of two rounds, for each block
  return require<Handle>(kFunction, checked, outHandle, outReq,
                         {wide(nBlocks) * (1 + 2 * wide(nSlots)) * kSlot, kSlot, 0},
                         {0, static_cast<uint32_t>(nSlots)}, &Handle::bufHandle, nullptr);
}
WEIR_WEAK_ALIAS(ncclLLA2ACreateRequirement);

ncclResult_t pncclGinOutboxCreateRequirement(int nBlocks, int size_log2, ncclGinOutboxHandle_t* outHandle,
                                             ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclGinOutboxCreateRequirement";
  using Handle = ncclGinOutboxHandle_t;
  Status checked = check_blocks(kFunction, "number of blocks", nBlocks);
  if (checked.ok()) checked = check_size(kFunction, size_log2);
  const size_t bytes = checked.ok() ? wide(nBlocks) << size_log2 : 0;
  return require<Handle>(kFunction, checked, outHandle, outReq, {bytes, kBoxAlignment, 0},
                         {0, static_cast<uint32_t>(size_log2)}, &Handle::bufHandle, nullptr);
}
WEIR_WEAK_ALIAS(ncclGinOutboxCreateRequirement);

ncclResult_t pncclGinInboxA2ACreateRequirement(ncclTeam_t peers, int nBlocks, int size_log2,
                                               ncclGinInboxA2AHandle_t* outHandle,
                                               ncclDevResourceRequirements_t* outReq) {
  constexpr const char* kFunction = "ncclGinInboxA2ACreateRequirement";
  using Handle = ncclGinInboxA2AHandle_t;
  Status checked = check_barriers(kFunction, peers, nBlocks);
  if (checked.ok()) checked = check_size(kFunction, size_log2);
  const size_t bytes = checked.ok() ? wide(nBlocks) << size_log2 : 0;
  return require<Handle>(kFunction, checked, outHandle, outReq,
                         {bytes, kBoxAlignment, checked.ok() ? nBlocks * peers.nRanks : 0},
                         {0, 0, static_cast<uint32_t>(size_log2), reciprocal(peers.nRanks)},
                         &Handle::bufHandle, &Handle::signals);
}
WEIR_WEAK_ALIAS(ncclGinInboxA2ACreateRequirement);

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

ncclResult_t pncclGetMultimemDeviceLeInfo(ncclWindow_t, size_t, ncclCftLeId* leId, size_t* leOffset) {
  return refuse_endpoint("ncclGetMultimemDeviceLeInfo", leId, leOffset);
}
WEIR_WEAK_ALIAS(ncclGetMultimemDeviceLeInfo);

ncclResult_t pncclGetCftDeviceLeInfo(ncclWindow_t, size_t, int, ncclTeam_t, ncclCftLeId* leId,
                                     size_t* leOffset) {
  return refuse_endpoint("ncclGetCftDeviceLeInfo", leId, leOffset);
}
WEIR_WEAK_ALIAS(ncclGetCftDeviceLeInfo);

ncclResult_t pncclGetPeerDeviceLeInfo(ncclWindow_t, size_t, int, ncclCftLeId* leId, size_t* leOffset) {
  return refuse_endpoint("ncclGetPeerDeviceLeInfo", leId, leOffset);
}
WEIR_WEAK_ALIAS(ncclGetPeerDeviceLeInfo);
