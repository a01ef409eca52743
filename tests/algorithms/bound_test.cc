// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "algorithms/bound/partition.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/random_network.h"

namespace weir::algorithms {
namespace {

constexpr Collective kByCut[] = {Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce,     Collective::gather,         Collective::scatter};

/// What has to enter the set, as a share of M over the ranks; a set that need not get anything says 0.
Int128 shares_into(Collective collective, int inside, int ranks, bool root) {
  if (inside == 0 || inside == ranks) return 0;
  switch (collective) {
    case Collective::all_gather: return ranks - inside;
    case Collective::broadcast: return root ? 0 : ranks;
    case Collective::gather: return root ? ranks - inside : 0;
    case Collective::all_reduce: return ranks;
    case Collective::all_to_all: return static_cast<Int128>(inside) * (ranks - inside);
    default: return 0;
  }
}

/// What runs backwards when time does.
Collective mirrored(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter: return Collective::all_gather;
    case Collective::reduce: return Collective::broadcast;
    case Collective::scatter: return Collective::gather;
    default: return collective;
  }
}

/// The best of all cuts, both ways. False: some cut has no capacity.
bool try_all_cuts(const Network& network, Collective collective, Rank root, Ratio& time) {
  const int ranks = network.ranks();
  const bool forward = collective == mirrored(collective);
  const bool either = collective == Collective::all_reduce || collective == Collective::all_to_all;
  for (NodeSet set = 0; set < NodeSet{1} << network.nodes; ++set) {
    const bool has_root = holds(set, network.rank_nodes[static_cast<size_t>(root)]);
    const Int128 shares = shares_into(mirrored(collective), ranks_in(network, set), ranks, has_root);
    if (shares == 0) continue;
    for (const bool into : {true, false}) {
      if (into != forward && !either) continue;
      const int64_t capacity = into ? entering(network, set) : leaving(network, set);
      if (capacity == 0) return false;
      time = std::max(time, Ratio(shares, static_cast<Int128>(ranks) * capacity));
    }
  }
  return true;
}

/// Calls visit with each way to part the ranks: the part of each, numbered in order of appearance.
void each_partition(int ranks, const std::function<void(const std::vector<int>&, int parts)>& visit) {
  std::vector<int> part(static_cast<size_t>(ranks));
  const std::function<void(size_t, int)> place = [&](size_t rank, int parts) {
    if (rank == part.size()) return visit(part, parts);
    for (int own = 0; own <= parts; ++own) {
      part[rank] = own;
      place(rank + 1, std::max(parts, own + 1));
    }
  };
  place(0, 0);
}

Ratio try_all_partitions(const Network& network) {
  // By set of ranks: the least that can enter it, with any switches.
  std::vector<int64_t> least(size_t{1} << network.ranks(), INT64_MAX);
  for (NodeSet set = 0; set < NodeSet{1} << network.nodes; ++set) {
    size_t ranks = 0;
    for (int rank = 0; rank < network.ranks(); ++rank) {
      if (holds(set, network.rank_nodes[static_cast<size_t>(rank)])) ranks |= size_t{1} << rank;
    }
    least[ranks] = std::min(least[ranks], entering(network, set));
  }
  Ratio best(INT64_MAX, 1);
  each_partition(network.ranks(), [&](const std::vector<int>& part, int parts) {
    if (parts < 2) return;
    Int128 sum = 0;
    for (int own = 0; own < parts; ++own) {
      size_t ranks = 0;
      for (size_t rank = 0; rank < part.size(); ++rank) ranks |= part[rank] == own ? size_t{1} << rank : 0;
      sum += least[ranks];
    }
    best = std::min(best, Ratio(sum, parts - 1));
  });
  return best;
}

Network random(uint32_t seed) {
  return random_network(seed, 2 + static_cast<int>(seed % 5), static_cast<int>(seed / 5 % 4),
                        seed % 3 == 0 ? 4 : 1000);
}

TEST(Bound, NoCutIsNarrower) {
  int connected = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Network network = random(seed);
    for (Collective collective : kByCut) {
      const Rank root = static_cast<Rank>(seed) % network.ranks();
      Ratio time;
      auto bound = lower_bound(network, collective, root);
      const bool possible = try_all_cuts(network, collective, root, time);
      ASSERT_EQ(bound.ok(), possible) << "seed " << seed << " " << name(collective);
      if (!possible) continue;
      ++connected;
      ASSERT_EQ(text(bound->time), text(time)) << "seed " << seed << " " << name(collective);
      ASSERT_EQ(check_bound(network, *bound).message(), "");
    }
  }
  EXPECT_GT(connected, 300);
}

TEST(Bound, AllReduceIsTheBestCutOrPartition) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Network network = random(seed);
    auto bound = lower_bound(network, Collective::all_reduce);
    Ratio time;
    ASSERT_EQ(bound.ok(), try_all_cuts(network, Collective::all_reduce, 0, time));
    if (!bound.ok()) continue;
    const Ratio parts = try_all_partitions(network);
    time = std::max(time, Ratio(2 * parts.denominator, parts.numerator));
    ASSERT_EQ(text(bound->time), text(time)) << "seed " << seed;
    ASSERT_EQ(check_bound(network, *bound).message(), "");
  }
}

/// Finding the narrowest cut of an all-to-all is hard; ours must be a cut, and nearly always the narrowest.
TEST(Bound, AllToAllIsACut) {
  int connected = 0, narrowest = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Network network = random(seed);
    auto bound = lower_bound(network, Collective::all_to_all);
    Ratio time;
    ASSERT_EQ(bound.ok(), try_all_cuts(network, Collective::all_to_all, 0, time));
    if (!bound.ok()) continue;
    EXPECT_LE(bound->time, time);
    EXPECT_EQ(check_bound(network, *bound).message(), "");
    ++connected;
    if (text(bound->time) == text(time)) ++narrowest;
  }
  EXPECT_GT(connected, 60);
  EXPECT_GE(narrowest, connected * 98 / 100);
}

/// The dies 0 to 7 have six links to the others; they are no group that anything else separates.
TEST(Bound, AllToAllOfDiesIsLimitedByHalfOfThem) {
  auto bound = lower_bound(mi250_boxes(1, 16), Collective::all_to_all);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_DOUBLE_EQ(kCapacityUnit / bound->time.value(), 75);
  ASSERT_EQ(bound->sets.size(), 1u);
  EXPECT_EQ(bound->sets[0].size(), 8u);
}

TEST(Bound, AllToAllOfClusters) {
  const auto gb_per_s = [](const LeafSpine& plan) {
    auto bound = lower_bound(leaf_spine(plan), Collective::all_to_all);
    return bound.ok() ? text(Ratio(bound->bandwidth().numerator, bound->bandwidth().denominator * 1'000'000))
                      : "";
  };
  EXPECT_EQ(gb_per_s({40, 8, 0, 2, 25, 50, 20, 1000, false}), "250/39");
  EXPECT_EQ(gb_per_s({40, 8, 0, 2, 25, 50, 20, 500, false}), "25/4");
  EXPECT_EQ(gb_per_s({40, 8, 0, 2, 25, 50, 20, 250, false}), "25/8");
  EXPECT_EQ(gb_per_s({40, 8, 300, 8, 25, 25, 20, 500, true}), "1000/39");
  EXPECT_EQ(gb_per_s({40, 8, 300, 8, 25, 25, 20, 250, true}), "25") << "the leaves of a group together";
}

TEST(Bound, OneRankNeedsNoTime) {
  Network alone;
  alone.nodes = 1;
  alone.rank_nodes = {0};
  for (int kind = 0; kind < kCollectives - 1; ++kind) {
    auto bound = lower_bound(alone, static_cast<Collective>(kind));
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_TRUE(bound->time == Ratio());
    EXPECT_EQ(check_bound(alone, *bound).message(), "");
  }
}

std::string refused(const Network& network, Collective collective = Collective::all_gather, Rank root = 0) {
  auto bound = lower_bound(network, collective, root);
  return bound.ok() ? "accepted" : bound.status().message();
}

TEST(Bound, SaysWhatIsWrong) {
  Network network = star(3, 10);
  EXPECT_EQ(refused(network), "accepted");
  EXPECT_EQ(refused(network, Collective::broadcast, 3),
            "root 3 of broadcast over 3 ranks: expected one of the ranks");
  EXPECT_EQ(refused(network, Collective::send_recv),
            "a bound on send_recv: expected a collective of all ranks");
  network.edges[2].capacity = 0;
  EXPECT_EQ(refused(network), "the edge from node 1 to node 3 has a capacity of 0: expected more than 0");
  network.edges.erase(network.edges.begin() + 2);
  EXPECT_EQ(refused(network), "rank 1 has no path to rank 0: expected a network that connects all ranks");
  EXPECT_EQ(refused(network, Collective::all_reduce),
            "rank 1 has no path to rank 0: expected a network that connects all ranks");
  network.edges.clear();
  for (int kind = 0; kind < kCollectives - 1; ++kind) {
    EXPECT_NE(refused(network, static_cast<Collective>(kind)).find("has no path to rank"), std::string::npos);
  }
  network.edges = {{0, 0, 1}};
  EXPECT_EQ(refused(network), "an edge from node 0 to node 0: expected two different ones below 4");
  network = star(3, 10);
  network.rank_nodes[2] = 1;
  EXPECT_EQ(refused(network), "ranks 1 and 2 are both on node 1: expected one node per rank");
  network.rank_nodes = {0, 9};
  EXPECT_EQ(refused(network), "rank 1 is on node 9: expected a node below 4");
  network.rank_nodes.clear();
  EXPECT_EQ(refused(network), "a network without ranks: expected at least one");
}

TEST(Bound, HugeCapacitiesAreExact) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  Network network = star(3, 1);
  int64_t odd = 0;
  for (Edge& edge : network.edges) edge.capacity = kHuge - ++odd;  // no common divisor
  for (int kind = 0; kind < kCollectives - 1; ++kind) {
    const auto collective = static_cast<Collective>(kind);
    auto bound = lower_bound(network, collective);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(check_bound(network, *bound).message(), "") << name(collective);
  }
  auto gather = lower_bound(network, Collective::all_gather);
  EXPECT_TRUE(gather->time == Ratio(2, Int128{3} * (kHuge - 6)))
      << "what enters rank 2: " << text(gather->time);
}

TEST(CheckBound, RefusesLies) {
  const Network network = mi250_boxes(2, 8);
  const Bound right = *lower_bound(network, Collective::all_gather);
  ASSERT_EQ(check_bound(network, right).message(), "");
  const auto said = [&](const std::function<void(Bound&)>& change) {
    Bound bound = right;
    change(bound);
    return check_bound(network, bound).message();
  };
  EXPECT_EQ(said([](Bound& bound) { bound.time = Ratio(1, 200'000'000); }),
            "the witness proves a time of 1/208000000, not 1/200000000");
  EXPECT_NE(said([](Bound& bound) { bound.sets[0].pop_back(); }), "");
  EXPECT_NE(said([](Bound& bound) { bound.sets[0] = {0}; }), "") << "the spine alone holds no rank";
  EXPECT_EQ(said([](Bound& bound) { bound.sets.clear(); }), "the witness has 0 sets: expected one");
  EXPECT_EQ(said([](Bound& bound) { bound.sets[0].push_back(99); }),
            "the witness contains node 99; the network has 17 nodes");
  EXPECT_EQ(said([](Bound& bound) { bound.sets[0] = {3, 3}; }), "the witness contains node 3 twice");
  EXPECT_EQ(said([](Bound& bound) { bound.sets.push_back(bound.sets[0]); }).substr(0, 21),
            "the witness has rank ");
  EXPECT_EQ(said([](Bound& bound) { bound.witness = Witness::nothing; }),
            "the witness proves a time of 0, not 1/208000000");
  EXPECT_EQ(said([](Bound& bound) { bound.witness = Witness::between; }),
            "a partition does not bound this collective");
  Bound parts = *lower_bound(star(4, 10), Collective::all_reduce);
  ASSERT_EQ(parts.witness, Witness::between);
  parts.sets.pop_back();
  EXPECT_EQ(check_bound(star(4, 10), parts).message(), "the witness contains 3 of 4 ranks: expected all");
}

TEST(Partition, QuickOnesAreNeverNarrowerThanTheBest) {
  for (const AllReduceTruth& truth : all_reduce_truths()) {
    const Network network = truth.network();
    const Partition quick = narrow_partition(network);
    EXPECT_GE(quick.ratio, narrowest_partition(network, quick).ratio) << truth.name;
  }
}

/// Hosts on a leaf with a narrow uplink, and all others as one part.
TEST(Partition, OneLeafAloneMayLimit) {
  NetworkBuilder builder;
  const int32_t narrow = builder.node(), wide = builder.node();
  builder.link(narrow, wide, 50);
  for (int host = 0; host < 4; ++host) builder.link(builder.rank(), narrow, 50);
  for (int host = 0; host < 30; ++host) builder.link(builder.rank(), wide, 200);
  const Network network = builder.take();
  const Partition partition = narrow_partition(network);
  EXPECT_EQ(text(partition.ratio), text(Ratio((4 * 50 + 50) * 1'000'000, 4)));
  EXPECT_EQ(partition.sets.size(), 5u);
  const auto bound = lower_bound(network, Collective::all_reduce);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_TRUE(check_bound(network, *bound).ok());
  EXPECT_EQ(text(bound->time), text(Ratio(2 * 4, 250 * 1'000'000)));
}

}  // namespace
}  // namespace weir::algorithms
