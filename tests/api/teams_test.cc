// SPDX-License-Identifier: Apache-2.0
// The arithmetic of teams, against what its words say, rank by rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/api/device_api.h"
// After the header that chooses NCCL's.
#include "nccl_device.h"

namespace weir::api {
namespace {

/// The ranks of a team of which rank `self` is the member `rank`.
std::vector<int> members(const ncclTeam_t& team, int self) {
  std::vector<int> ranks;
  for (int place = 0; place < team.nRanks; ++place) ranks.push_back(self + (place - team.rank) * team.stride);
  return ranks;
}

constexpr int kRanks = 12;

TEST(Teams, PartsOfNeighboursAndThoseAcrossThem) {
  for (int self = 0; self < kRanks; ++self) {
    const ncclTeam_t world{kRanks, self, 1};
    const std::vector<int> inner = members(ncclTeamInnerFactor(world, 4), self);
    EXPECT_EQ(inner.front(), self / 4 * 4);
    EXPECT_EQ(inner.back(), inner.front() + 3);
    const std::vector<int> outer = members(ncclTeamOuterFactor(world, 4), self);
    EXPECT_EQ(outer, (std::vector<int>{self % 4, self % 4 + 4, self % 4 + 8}));
  }
}

TEST(Teams, MembersOfOneTeamInAnother) {
  for (int self = 0; self < kRanks; ++self) {
    const ncclTeam_t world{kRanks, self, 1};
    const ncclTeam_t inner = ncclTeamInnerFactor(world, 4), outer = ncclTeamOuterFactor(world, 4);
    const std::vector<int> of_inner = members(inner, self);
    for (int place = 0; place < kRanks; ++place) {
      const auto found = std::ranges::find(of_inner, place);
      EXPECT_EQ(ncclTeamRankIsMember(inner, world, place), found != of_inner.end());
      if (found != of_inner.end()) {
        EXPECT_EQ(ncclTeamRankToTeam(inner, world, place), found - of_inner.begin());
      }
    }
    for (int place = 0; place < outer.nRanks; ++place)
      EXPECT_EQ(ncclTeamRankToTeam(world, outer, place), members(outer, self)[static_cast<size_t>(place)]);
  }
}

TEST(Teams, WhatIsLeftWithoutAPart) {
  for (int self = 0; self < kRanks; ++self) {
    const ncclTeam_t world{kRanks, self, 1};
    for (const ncclTeam_t& part :
         {ncclTeamInnerFactor(world, 4), ncclTeamOuterFactor(world, 4), ncclTeamOuterFactor(world, 3)}) {
      const std::vector<int> without = members(part, self);
      int index = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        if (std::ranges::find(without, rank) != without.end()) continue;
        EXPECT_EQ(ncclTeamRankInDifference(world, part, index++), rank);
      }
    }
  }
}

TEST(Teams, AddressesInWindowsCountElements) {
  ncclSymPtr<double> address(nullptr, 64);
  address += 2;
  EXPECT_EQ(address.offset, 80u);
  EXPECT_EQ((address - 10).offset, 0u);
  EXPECT_EQ(address - ncclSymPtr<double>(nullptr, 64), 2);
  EXPECT_TRUE(address == ncclSymPtr<double>(nullptr, 72) + 1);
  EXPECT_TRUE(address != ncclSymPtr<double>());
}

}  // namespace
}  // namespace weir::api
