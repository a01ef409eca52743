// SPDX-License-Identifier: Apache-2.0
/// The host functions of NCCL's device interface under both of their names.
/// Tests: tests/preload/interface_test.cc
#pragma once

#include "src/api/abi.h"

#pragma GCC visibility push(default)
#include "nccl_device/host.h"

extern "C" {
decltype(ncclCommQueryProperties) pncclCommQueryProperties;
decltype(ncclDevCommCreate) pncclDevCommCreate;
decltype(ncclDevCommDestroy) pncclDevCommDestroy;
decltype(ncclTeamWorld) pncclTeamWorld;
decltype(ncclTeamLsa) pncclTeamLsa;
decltype(ncclTeamRail) pncclTeamRail;
ncclTeam_t pncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode);  // without the default of the other name
decltype(ncclTeamCftMultimem) pncclTeamCftMultimem;
decltype(ncclTeamRankToWorld) pncclTeamRankToWorld;
decltype(ncclTeamRankToLsa) pncclTeamRankToLsa;
decltype(ncclLsaBarrierCreateRequirement) pncclLsaBarrierCreateRequirement;
decltype(ncclGinBarrierCreateRequirement) pncclGinBarrierCreateRequirement;
decltype(ncclCftBarrierCreateRequirement) pncclCftBarrierCreateRequirement;
decltype(ncclLLA2ACalcSlots) pncclLLA2ACalcSlots;
decltype(ncclLLA2ACreateRequirement) pncclLLA2ACreateRequirement;
decltype(ncclGinOutboxCreateRequirement) pncclGinOutboxCreateRequirement;
decltype(ncclGinInboxA2ACreateRequirement) pncclGinInboxA2ACreateRequirement;
decltype(ncclGetLsaMultimemDevicePointer) pncclGetLsaMultimemDevicePointer;
decltype(ncclGetMultimemDevicePointer) pncclGetMultimemDevicePointer;
decltype(ncclGetLsaDevicePointer) pncclGetLsaDevicePointer;
decltype(ncclGetPeerDevicePointer) pncclGetPeerDevicePointer;
decltype(ncclGetMultimemDeviceLeInfo) pncclGetMultimemDeviceLeInfo;
decltype(ncclGetCftDeviceLeInfo) pncclGetCftDeviceLeInfo;
decltype(ncclGetPeerDeviceLeInfo) pncclGetPeerDeviceLeInfo;
}  // extern "C"
#pragma GCC visibility pop
