// SPDX-License-Identifier: Apache-2.0
/// The host functions of NCCL's device interface. weir has no device interface: structs that only GPU kernels
/// read are left opaque here.
/// Tests: tests/api/one_sided_test.cc
#pragma once

#include "src/api/abi.h"

#pragma GCC visibility push(default)
extern "C" {

/// A team of ranks first, first + stride, ...; `rank` is the caller's index in it.
struct ncclTeam_t {
  int nRanks;
  int rank;
  int stride;
};
static_assert(sizeof(ncclTeam_t) == 12);

/// Passed by value; has the size of one pointer.
struct ncclMultimemHandle_t {
  void* base;
};
static_assert(sizeof(ncclMultimemHandle_t) == sizeof(void*));

/// `size` is the size of the caller's version of the struct.
struct ncclCommProperties_t {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  int ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  int railedGinType;
};
static_assert(sizeof(ncclCommProperties_t) == 56);

ncclResult_t pncclDevCommCreate(ncclComm_t comm, const void* requirements, void* outDevComm);
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void* requirements, void* outDevComm);
ncclResult_t pncclDevCommDestroy(ncclComm_t comm, const void* devComm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void* devComm);
ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties);

ncclTeam_t pncclTeamWorld(ncclComm_t comm);
ncclTeam_t ncclTeamWorld(ncclComm_t comm);
ncclTeam_t pncclTeamLsa(ncclComm_t comm);
ncclTeam_t ncclTeamLsa(ncclComm_t comm);
ncclTeam_t pncclTeamRail(ncclComm_t comm);
ncclTeam_t ncclTeamRail(ncclComm_t comm);
int pncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
int pncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);

ncclResult_t pncclLsaBarrierCreateRequirement(ncclTeam_t team, int barriers, void* outHandle,
                                              void* outRequirement);
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int barriers, void* outHandle,
                                             void* outRequirement);
ncclResult_t pncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int barriers, void* outHandle,
                                              void* outRequirement);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int barriers, void* outHandle,
                                             void* outRequirement);
int pncclLLA2ACalcSlots(int maxElts, int maxEltSize);
int ncclLLA2ACalcSlots(int maxElts, int maxEltSize);
ncclResult_t pncclLLA2ACreateRequirement(int blocks, int slots, void* outHandle, void* outRequirement);
ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, void* outHandle, void* outRequirement);

ncclResult_t pncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void** out);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void** out);
ncclResult_t pncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** out);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** out);
ncclResult_t pncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem,
                                           void** out);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem,
                                          void** out);
ncclResult_t pncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** out);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** out);

}  // extern "C"
#pragma GCC visibility pop
