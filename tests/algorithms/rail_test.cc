// SPDX-License-Identifier: Apache-2.0
// All-to-all, gather and scatter along rails.
#include "algorithms/catalogue/rail.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "algorithms/ir/verify.h"

namespace weir::algorithms {
namespace {

struct Places {
  explicit Places(const Groups& starts, int ranks) {
    for (size_t host = 0; host < starts.size(); ++host) {
      const int end = host + 1 < starts.size() ? starts[host + 1] : ranks;
      for (int rank = starts[host]; rank < end; ++rank) {
        this->host.push_back(static_cast<int>(host));
        place.push_back(rank - starts[host]);
      }
    }
  }
  std::vector<int> host, place;
};

ir::Plan rail_plan(const Groups& starts, int ranks) {
  return rail_all_to_all({Collective::all_to_all, ranks, 0, 1}, std::vector<Groups>{starts});
}

TEST(Rail, BlocksStayOnTheirRails) {
  const Groups starts = {0, 4, 8};
  const Places at(starts, 12);
  std::map<Rank, std::set<Rank>> partners;
  std::map<std::pair<int, int>, int> crossings;
  for (const ir::Move& move : rail_plan(starts, 12).moves) {
    const auto src = static_cast<size_t>(move.src), dst = static_cast<size_t>(move.dst);
    if (at.host[src] == at.host[dst]) continue;
    EXPECT_EQ(at.place[src], at.place[dst]);
    partners[move.src].insert(move.dst);
    ++crossings[{at.host[src], at.host[dst]}];
  }
  EXPECT_EQ(partners.size(), 12U);
  for (const auto& [rank, others] : partners)
    EXPECT_EQ(others.size(), 2U) << "one per host, of rank " << rank;
  for (const auto& [hosts, count] : crossings) EXPECT_EQ(count, 16) << "every block once";
}

TEST(Rail, EachTurnLoadsRanksAlike) {
  const Groups starts = {0, 4};
  std::map<Rank, int> sent, received;
  for (const ir::Move& move : rail_plan(starts, 8).moves) {
    if ((move.src < 4) == (move.dst < 4)) continue;
    ++sent[move.src];
    ++received[move.dst];
  }
  for (Rank rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(sent[rank], 4);
    EXPECT_EQ(received[rank], 4);
  }
}

TEST(Rail, UnevenHostsAreServedToo) {
  for (const Groups& starts : {Groups{0, 1}, Groups{0, 3, 4}, Groups{0, 1, 6}, Groups{0, 5}}) {
    const int ranks = 7;
    EXPECT_EQ(ir::verify(rail_plan(starts, ranks)).message(), "");
  }
}

TEST(Rail, AllNicsOfTheRootsHostWork) {
  const std::vector<Groups> hosts = {{0, 4, 8}};
  const Places at(hosts[0], 12);
  for (const Rank root : {0, 5, 11}) {
    const ir::Plan plans[] = {rail_gather({Collective::gather, 12, root, 2}, hosts),
                              rail_scatter({Collective::scatter, 12, root, 2}, hosts)};
    for (const ir::Plan& plan : plans) {
      std::map<Rank, int> crossings;  // by rank of the root's host
      for (const ir::Move& move : plan.moves) {
        const auto src = static_cast<size_t>(move.src), dst = static_cast<size_t>(move.dst);
        if (at.host[src] == at.host[dst]) continue;
        EXPECT_EQ(at.place[src], at.place[dst]);
        ++crossings[plan.shape.kind == Collective::gather ? move.dst : move.src];
      }
      EXPECT_EQ(crossings.size(), 4U);
      for (const auto& [rank, count] : crossings) EXPECT_EQ(count, 2) << "one per other host, at " << rank;
    }
  }
}

TEST(Rail, UnevenHostsGatherAndScatterToo) {
  for (const Groups& starts : {Groups{0, 1}, Groups{0, 3, 4}, Groups{0, 1, 6}, Groups{0, 5}}) {
    const std::vector<Groups> hosts = {starts};
    for (Rank root = 0; root < 7; ++root) {
      EXPECT_EQ(ir::verify(rail_gather({Collective::gather, 7, root, 1}, hosts)).message(), "");
      EXPECT_EQ(ir::verify(rail_scatter({Collective::scatter, 7, root, 3}, hosts)).message(), "");
    }
  }
}

}  // namespace
}  // namespace weir::algorithms
