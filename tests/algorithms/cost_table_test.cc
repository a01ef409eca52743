// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/catalogue/planned.h"
#include "algorithms/cost/table.h"
#include "tests/algorithms/sim_networks.h"

namespace weir::cost {
namespace {

/// Memory of a server, and a network of 25 Gbit/s.
constexpr Rates kServers = {{2e-7, 1e-7, 1e-10}, {1e-5, 3e-6, 3e-10}, 3e-11};

Environment island(int ranks, int cores) {
  Environment around = regular(ranks, ranks, cores, kServers);
  around.scratch_bytes = size_t{1} << 20;
  return around;
}

/// "1 one_shot, 1024 ring": from which sizes on what is taken.
std::string choices(Collective kind, const Environment& around, const Allowed& allowed = nullptr) {
  std::string text;
  for (const Row& row : CostTable(kind, around, allowed).rows()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.least, row.at_least.best.entry->algorithm);
  }
  return text;
}

TEST(CostTable, ChoosesForTheMachine) {
  using enum Collective;
  const struct {
    Collective kind;
    Environment around;
    std::string expected;
  } cases[] = {
      {all_reduce, island(8, 8), "1 recursive_doubling, 4096 halving_doubling, 524288 ring"},
      {all_reduce, island(8, 2), "1 tree8, 128 tree4, 131072 double_tree"},
      {all_gather, island(8, 8), "1 halving_doubling, 32768 one_shot"},
      {broadcast, island(8, 8), "1 tree4, 8192 double_tree, 131072 binomial, 262144 double_tree"},
      {all_reduce, regular(2, 2, 2, kServers), "1 one_shot, 16384 ring, 262144 double_tree"},
      {all_reduce, regular(16, 1, 8, kServers),
       "1 recursive_doubling, 65536 halving_doubling, 524288 double_tree, 1048576 ring, 2097152 double_tree"},
      {all_to_all, regular(16, 1, 8, kServers), "1 pairwise, 131072 one_shot"},
      {all_reduce, regular(128, 8, 64, kServers),
       "1 recursive_doubling, 8192 halving_doubling, 1048576 ring"},
      {all_gather, regular(128, 8, 64, kServers), "1 pat, 2048 ring"},
      {all_reduce, regular(1200, 8, 64, kServers),
       "1 recursive_doubling, 4096 tree4, 8192 halving_doubling, 524288 double_tree, 16777216 ring"},
      {broadcast, regular(1200, 8, 64, kServers),
       "1 tree4, 8192 binomial, 131072 double_tree, 16777216 ring"},
  };
  for (const auto& [kind, around, expected] : cases)
    EXPECT_EQ(choices(kind, around), expected) << name(kind) << " over " << around.ranks();
}

TEST(CostTable, NarrowLeavesAskForGroups) {
  Environment around = regular(16, 1, 8, kServers);
  around.layout.levels = {{0, 4, 8, 12}};
  Border leaves;
  for (int place = 0; place < 16; ++place) leaves.group_of.push_back(place / 4);
  leaves.beta = 8 * kServers.between.beta;
  around.borders.push_back(leaves);
  const auto large = [&](Collective kind) {
    return CostTable(kind, around).at(size_t{1} << 24).best.entry->algorithm;
  };
  EXPECT_EQ(large(Collective::all_reduce), "hierarchical");
  EXPECT_EQ(large(Collective::all_gather), "pat") << "as little across, in fewer messages";
  EXPECT_EQ(large(Collective::reduce_scatter), "pat");
  around.layout.levels.clear();
  EXPECT_EQ(CostTable(Collective::all_reduce, around).seconds("hierarchical", 1), -1) << "no groups";
  EXPECT_GT(CostTable(Collective::all_gather, around).seconds("pat", 1), 0) << "does without";
}

/// Rings have one sender for each rank. Plans of groups have several, and are taken all the same where they
/// leave something on the leaves' uplinks, though hosts are as narrow.
TEST(CostTable, RanksWithOneSenderAreTakenUnlessOthersSpareUplinks) {
  Rates rates = kServers;
  rates.between.merging = 1.0 / 3;
  rates.between.unasked = 1 << 14;
  for (const int hosts : {4, 6, 16}) {
    const CostTable table(Collective::all_reduce, regular(hosts, 1, 8, rates));
    for (size_t bytes = size_t{1} << 20; bytes <= size_t{1} << 30; bytes *= 2)
      EXPECT_EQ(table.at(bytes).best.entry->algorithm, "ring") << bytes << " over " << hosts;
  }
  Environment around = regular(16, 1, 8, rates);
  around.layout.levels = {{0, 4, 8, 12}};
  Border leaves;
  for (int place = 0; place < 16; ++place) leaves.group_of.push_back(place / 4);
  leaves.beta = rates.between.beta;
  around.borders.push_back(leaves);
  EXPECT_EQ(CostTable(Collective::all_reduce, around).at(size_t{1} << 24).best.entry->algorithm,
            "hierarchical");
}

/// 512 hosts whose messages take long and are little work.
TEST(CostTable, SlowHopsAskForHighArity) {
  Rates rates = kServers;
  rates.between = {2e-5, 1e-6, 3e-10};
  const Environment around = regular(512, 1, 8, rates);
  for (const Collective kind : {Collective::all_reduce, Collective::broadcast, Collective::reduce}) {
    const CostTable table(kind, around);
    EXPECT_EQ(table.at(8).best.entry->algorithm, "tree8") << name(kind);
    EXPECT_LT(table.seconds("tree8", 8), table.seconds("tree4", 8)) << name(kind);
    EXPECT_LT(table.seconds("tree4", 8), 0.75 * table.seconds("double_tree", 8)) << name(kind);
    EXPECT_GT(table.seconds("tree8", 1 << 24), table.seconds("double_tree", 1 << 24)) << name(kind);
  }
}

/// Profiles of PAT over very many hosts grow out of smaller plans. What these do not show is how the steps
/// into many branches wait for each other, which counts for the smallest sizes.
TEST(CostTable, PatGrowsNearlyAsItIs) {
  for (const int ranks : {400, 600, 1200}) {
    const Environment around = regular(ranks, 1, 8, kServers);
    const CostTable table(Collective::all_gather, around);
    const auto plan = algorithms::emit("pat", {Collective::all_gather, ranks, 0, 1});
    const Profile whole = profile_of(*plan, around);
    for (const size_t bytes : {8, 1024, 65536, 1 << 20}) {
      const double expected = predict(whole, static_cast<double>(bytes));
      const double most = bytes < 1024 ? 0.5 : 0.2;
      EXPECT_NEAR(table.seconds("pat", bytes), expected, most * expected) << ranks << " ranks, " << bytes;
    }
  }
}

TEST(CostTable, RowsAreAllSizesOnceAndTimesRise) {
  const CostTable table(Collective::all_reduce, regular(16, 4, 4, kServers));
  size_t next = 1;
  double last = 0;
  for (const Row& row : table.rows()) {
    EXPECT_EQ(row.least, next);
    next = row.most + 1;
    EXPECT_GT(row.at_least.best.seconds, last);
    EXPECT_LE(row.at_least.best.seconds, row.at_least.runner_up.seconds);
    EXPECT_LE(row.at_least.best.seconds, row.at_most.best.seconds);
    EXPECT_NE(row.at_least.best.entry, row.at_least.runner_up.entry);
    EXPECT_EQ(row.at_least.best.seconds, table.seconds(row.at_least.best.entry->algorithm, row.least));
    EXPECT_EQ(table.at(row.most).best.entry, row.at_most.best.entry);
    last = row.at_least.best.seconds;
  }
  EXPECT_EQ(next, size_t{1} << 40);
  EXPECT_EQ(lines_of(table).size(), table.rows().size());
  EXPECT_LT(table.seconds("pairwise", 8), 0) << "does no all-reduce";
}

TEST(CostTable, TakesOnlyWhatIsAllowedAndCanRun) {
  const Environment around = regular(8, 8, 8, kServers);
  EXPECT_EQ(choices(Collective::all_reduce, around, [](const auto& e) { return e.algorithm == "ring"; }),
            "1 ring");
  EXPECT_EQ(choices(Collective::all_reduce, around, [](const auto&) { return false; }), "");
  EXPECT_LT(CostTable(Collective::all_reduce, around).seconds("two_shot", 8), 0) << "no rank can be read";
  EXPECT_GT(CostTable(Collective::all_reduce, island(8, 8)).seconds("two_shot", 8), 0);
  Environment narrow = regular(64, 64, 64, kServers);
  narrow.slot_bytes = 256;  // less than halves of 64 blocks have in a message
  EXPECT_LT(CostTable(Collective::all_gather, narrow).seconds("halving_doubling", 8), 0);
  EXPECT_GT(CostTable(Collective::all_gather, narrow).seconds("ring", 8), 0);
}

TEST(CostTable, CoresAndBordersMoveTheChoice) {
  // A slow border makes the one ring across it worth its hops earlier.
  const auto from = [](double border) {
    Environment around = regular(32, 8, 8, kServers);
    around.borders[0].beta = border;
    for (const Row& row : CostTable(Collective::all_reduce, around).rows())
      if (row.at_least.best.entry->algorithm == "ring") return row.least;
    return size_t{0};
  };
  ASSERT_GT(from(3e-10), 0u);
  EXPECT_LT(from(1e-8), from(3e-10));
}

/// Four hosts that are namespaces of one machine with two cores: bytes that are work of cores cost every
/// plan the same, and the one that leaves every host the least to carry is taken; where the network has most
/// of the time, that one is faster anyway.
TEST(CostTable, HostsThatShareCoresTakeTheRingForMuch) {
  Environment around = regular(4, 1, 2, kServers);
  around.machine_of.assign(4, 0);
  around.cores = {2};
  around.rates.between = {1.7e-5, 8e-6, 8e-9};
  for (const double wire : {0.0, 7e-9}) {
    around.rates.between.wire = wire;
    const CostTable table(Collective::all_reduce, around);
    EXPECT_EQ(table.at((size_t{1} << 30)).best.entry->algorithm, "ring") << wire;
    const double ring = table.seconds("ring", (size_t{1} << 30));
    const double tree = table.seconds("double_tree", (size_t{1} << 30));
    // Of n blocks 2 (n - 1) / n leave each host, or 2 the busiest; all of them are 6 blocks, work of 2 cores.
    const double expected = wire > 0 ? 2 / 1.5 : 1;
    EXPECT_NEAR(tree / ring, expected, 0.03 * expected) << wire;
  }
}

/// Hosts of one rank on one switch, with so many GB/s.
Environment hosts_with(const std::vector<double>& gigabytes) {
  algorithms::Network network;
  for (size_t rank = 0; rank < gigabytes.size(); ++rank) sim::rank_node(network);
  const int32_t hub = sim::node(network);
  for (size_t rank = 0; rank < gigabytes.size(); ++rank)
    sim::cable(network, static_cast<int32_t>(rank), hub, gigabytes[rank]);
  Environment around = regular(network.ranks(), 1, 8, kServers);
  for (Rank rank = 0; rank < network.ranks(); ++rank) around.layout.order.push_back(rank);
  std::vector<char> between(static_cast<size_t>(network.nodes));
  between[static_cast<size_t>(hub)] = 1;
  algorithms::join(around.layout, network, between);
  around.links = NetworkLinks::of(*around.layout.network, around.host_of);
  return around;
}

constexpr size_t kLarge = size_t{1} << 30;

/// 2 (n - 1) / n of all bytes cross the slow cable in a ring, all of them once in planned trees.
TEST(CostTable, ASlowHostAsksForPlannedTrees) {
  for (const int ranks : {4, 8}) {
    std::vector<double> gigabytes(static_cast<size_t>(ranks), 0.02);
    gigabytes[1] = 0.01;
    const CostTable table(Collective::all_reduce, hosts_with(gigabytes));
    EXPECT_EQ(table.at(kLarge).best.entry->algorithm, "planned") << ranks;
    EXPECT_NEAR(table.seconds("ring", kLarge), 2.0 * (ranks - 1) / ranks * kLarge / 1e7, 0.01 * kLarge / 1e7);
    EXPECT_NEAR(table.seconds("planned", kLarge), kLarge / 1e7, 0.01 * kLarge / 1e7);
  }
}

TEST(CostTable, HostsThatAreAlikeKeepTheRing) {
  for (const size_t ranks : {3u, 4u, 6u}) {
    const CostTable table(Collective::all_reduce, hosts_with(std::vector<double>(ranks, 0.02)));
    EXPECT_EQ(table.at(kLarge).best.entry->algorithm, "ring") << ranks;
    EXPECT_LT(table.seconds("planned", kLarge), 0) << ranks;
  }
}

/// What was measured is that of the slowest host. It may be the link, or the work of the ends, which no tree
/// saves.
TEST(CostTable, MeasuredRatesAreDividedIntoLinksAndEnds) {
  Environment around = hosts_with({0.02, 0.02, 0.01, 0.02});
  const auto ratio = [&](double beta) {
    around.rates.between.beta = beta;
    const CostTable table(Collective::all_reduce, around);
    return table.seconds("ring", kLarge) / table.seconds("planned", kLarge);
  };
  EXPECT_NEAR(ratio(0.5e-7), 1.5, 0.02) << "faster than the link: the link counts";
  EXPECT_NEAR(ratio(1e-7), 1.5, 0.02);
  EXPECT_NEAR(ratio(1.07e-7), 1.5, 0.1) << "headers";
  EXPECT_LT(ratio(1e-5), 1) << "the ends are slower than any link";
}

/// Four hosts of two ranks, one host at half the rate: the share of the ends is found between hosts, although
/// ranks of one host reach each other faster.
TEST(CostTable, ASlowHostOfSeveralRanksAsksForPlannedTrees) {
  algorithms::Network network;
  const int32_t hub = sim::node(network);
  Environment around = regular(8, 2, 8, kServers);
  for (int host = 0; host < 4; ++host) {
    const int32_t at = sim::node(network);
    sim::cable(network, at, hub, host == 1 ? 0.01 : 0.02);
    for (int rank = 0; rank < 2; ++rank) {
      around.layout.order.push_back(2 * host + rank);
      sim::cable(network, sim::rank_node(network), at, 10);
    }
  }
  std::vector<char> between(static_cast<size_t>(network.nodes));
  between[static_cast<size_t>(hub)] = 1;
  algorithms::join(around.layout, network, between);
  around.links = NetworkLinks::of(*around.layout.network, around.host_of);
  ASSERT_NE(around.links, nullptr);
  EXPECT_DOUBLE_EQ(around.links->slowest_neighbours(), 1 / 1e7);
  EXPECT_DOUBLE_EQ(around.links->fastest(0), 1 / 2e7) << "its neighbour on the host does not count";
  EXPECT_DOUBLE_EQ(around.links->fastest(2), 1 / 1e7);
  for (const double beta : {1e-8, 1e-7, 1.07e-7}) {
    around.rates.between.beta = beta;
    const CostTable table(Collective::all_reduce, around);
    EXPECT_EQ(table.at(kLarge).best.entry->algorithm, "planned") << beta;
    EXPECT_NEAR(table.seconds("ring", kLarge) / table.seconds("planned", kLarge), 2.0 * 7 / 8, 0.15) << beta;
  }
}

TEST(NetworkLinks, AreTheNarrowestOnTheWay) {
  const Environment around = hosts_with({0.02, 0.04, 0.01});
  const NetworkLinks& links = *around.links;
  EXPECT_DOUBLE_EQ(links.per_byte(0, 1), 1 / 2e7);
  EXPECT_DOUBLE_EQ(links.per_byte(1, 2), 1 / 1e7);
  EXPECT_DOUBLE_EQ(links.fastest(1), 1 / 2e7) << "nobody can take more";
  EXPECT_DOUBLE_EQ(links.slowest_neighbours(), 1 / 1e7);
  EXPECT_EQ(links.route(0, 2).size(), 2u);
  EXPECT_EQ(NetworkLinks::of(sim::star(1, 1), std::vector<int>(1)), nullptr);
  EXPECT_EQ(NetworkLinks::of(sim::star(NetworkLinks::kMostPlaces + 1, 1),
                             std::vector<int>(NetworkLinks::kMostPlaces + 1)),
            nullptr);
}

}  // namespace
}  // namespace weir::cost
