// SPDX-License-Identifier: Apache-2.0
/// The arithmetic of teams, for hosts and kernels. C11 and C++.
/// Tests: tests/api/teams_test.cc
#ifndef NCCL_DEVICE_TEAMS_H_
#define NCCL_DEVICE_TEAMS_H_

#include "absent.h"
#include "host.h"

/* Whether the member bPeer of b is one of a. */
NCCL_HOST_DEVICE_INLINE bool ncclTeamRankIsMember(ncclTeam_t a, ncclTeam_t b, int bPeer) {
  const int distance = (bPeer - b.rank) * b.stride; /* from the caller, in ranks */
  if (distance % a.stride != 0) return false;
  const int place = a.rank + distance / a.stride;
  return place >= 0 && place < a.nRanks;
}
/* The place in a of the member bPeer of b. */
NCCL_HOST_DEVICE_INLINE int ncclTeamRankToTeam(ncclTeam_t a, ncclTeam_t b, int bPeer) {
  return a.rank + (bPeer - b.rank) * b.stride / a.stride;
}
/* The caller's part of a team that is divided into parts of innerSize neighbours; and the members that have
 * the caller's place in their parts. */
NCCL_HOST_DEVICE_INLINE ncclTeam_t ncclTeamInnerFactor(ncclTeam_t parent, int innerSize) {
  ncclTeam_t team;
  team.nRanks = innerSize;
  team.rank = parent.rank % innerSize;
  team.stride = parent.stride;
  return team;
}
NCCL_HOST_DEVICE_INLINE ncclTeam_t ncclTeamOuterFactor(ncclTeam_t parent, int innerSize) {
  ncclTeam_t team;
  team.nRanks = parent.nRanks / innerSize;
  team.rank = parent.rank / innerSize;
  team.stride = parent.stride * innerSize;
  return team;
}
/* The member `index` of those of parent that are not in subset, which is part of it. */
NCCL_HOST_DEVICE_INLINE int ncclTeamRankInDifference(ncclTeam_t parent, ncclTeam_t subset, int index) {
  const int stride = subset.stride / parent.stride;
  const int first = parent.rank - subset.rank * stride; /* place of the subset's first member in parent */
  if (index < first) return index;
  const int between = (subset.nRanks - 1) * (stride - 1); /* members between those of the subset */
  const int passed = index - first;
  if (passed >= between) return index + subset.nRanks;
  return first + passed + passed / (stride - 1) + 1;
}
NCCL_HOST_DEVICE_INLINE size_t ncclGetResourceBufferOffset(ncclDevResourceHandle_t handle) {
  return (size_t)handle * 128;
}

#endif /* NCCL_DEVICE_TEAMS_H_ */
