// SPDX-License-Identifier: Apache-2.0
/// What the headers of the algorithms promise beyond right sums: order of sums, hops, balance.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/double_tree.h"
#include "algorithms/catalogue/kary_tree.h"
#include "tests/algorithms/evaluator.h"
#include "tests/algorithms/some_layout.h"

namespace weir::algorithms {
namespace {

/// A sum written down: "((0+1)+2)".
struct Formula {
  std::string text;
  friend Formula operator+(const Formula& a, const Formula& b) { return {"(" + a.text + "+" + b.text + ")"}; }
};

std::vector<std::vector<Formula>> formulas(const ir::Plan& plan) {
  return Evaluator<Formula>(plan, false).run([](Rank rank, uint32_t) {
    return Formula{std::to_string(rank)};
  });
}

std::string rank_order(int ranks) {
  Formula sum{"0"};
  for (int r = 1; r < ranks; ++r) sum = sum + Formula{std::to_string(r)};
  return sum.text;
}

TEST(Order, OneShotAndTwoShotSumInRankOrder) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const auto& [algorithm, kind] : {std::pair{"one_shot", Collective::all_reduce},
                                          {"one_shot", Collective::reduce_scatter},
                                          {"one_shot", Collective::reduce},
                                          {"two_shot", Collective::all_reduce},
                                          {"two_shot", Collective::reduce_scatter}}) {
      for (const auto& output : formulas(plan_of(algorithm, kind, ranks))) {
        for (const Formula& sum : output)
          EXPECT_EQ(sum.text, rank_order(ranks)) << algorithm << " " << name(kind);
      }
    }
  }
}

TEST(Order, EveryRankHasTheSameSum) {
  for (const Entry& entry : catalogue()) {
    if (entry.kind != Collective::all_reduce) continue;
    for (int ranks = 2; ranks <= 9; ++ranks) {
      const auto outputs = formulas(plan_of(entry.algorithm, entry.kind, ranks));
      for (size_t c = 0; c < outputs[0].size(); ++c) {
        for (const auto& output : outputs) EXPECT_EQ(output[c].text, outputs[0][c].text) << entry.algorithm;
      }
    }
  }
}

/// The longest chain of messages and pulls that wait for each other, channels as deep as one likes.
class Hops {
 public:
  int count(const ir::Plan& plan) {
    for (const ir::Move& move : plan.moves) {
      int& dst = lanes_[{move.dst, move.dst_lane}];
      int start = last_write(move.src, move.from, move.chunks);
      if (!move.pull) {
        int& src = lanes_[{move.src, move.src_lane}];
        start = src = std::max(src, start);
      }
      dst = std::max(
          {dst, start + (move.src == move.dst ? 0 : 1), last_write(move.dst, move.with, move.chunks)});
      for (uint32_t c = 0; c < move.chunks; ++c) cells_[{move.dst, move.to.kind, move.to.index + c}] = dst;
      longest_ = std::max(longest_, dst);
    }
    return longest_;
  }

 private:
  int last_write(Rank rank, const ir::Operand& operand, uint32_t chunks) {
    int last = 0;
    for (uint32_t c = 0; c < chunks && operand.in_memory(); ++c) {
      last = std::max(last, cells_[{rank, operand.kind, operand.index + c}]);
    }
    return last;
  }

  std::map<std::pair<Rank, int>, int> lanes_;
  std::map<std::tuple<Rank, ir::Operand::Kind, uint32_t>, int> cells_;
  int longest_ = 0;
};

TEST(HopCount, IsWhatTheAlgorithmsPromise) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const int log = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    const auto count = [&](std::string_view algorithm, Collective kind) {
      return Hops().count(plan_of(algorithm, kind, ranks));
    };
    EXPECT_EQ(count("ring", Collective::all_reduce), 2 * ranks - 2);
    EXPECT_EQ(count("ring", Collective::all_gather), ranks - 1);
    EXPECT_EQ(count("ring", Collective::reduce_scatter), ranks - 1);
    EXPECT_EQ(count("ring", Collective::broadcast), ranks - 1);
    EXPECT_EQ(count("one_shot", Collective::all_reduce), 1);
    EXPECT_EQ(count("one_shot", Collective::all_to_all), 1);
    EXPECT_EQ(count("one_shot", Collective::all_gather), 1);
    EXPECT_EQ(count("two_shot", Collective::all_reduce), 2);
    EXPECT_LE(count("halving_doubling", Collective::all_gather), log);
    EXPECT_LE(count("halving_doubling", Collective::reduce_scatter), log);
    EXPECT_LE(count("halving_doubling", Collective::all_reduce), 2 * log);
    EXPECT_LE(count("recursive_doubling", Collective::all_reduce), log + 1);
    EXPECT_LE(count("double_tree", Collective::all_reduce), 2 * log + 2);
    for (const auto& [algorithm, arity] : {std::pair{"tree4", 4}, {"tree8", 8}}) {
      int depth = 1;
      for (int room = 1 + arity, level = arity; room < ranks; ++depth) room += level *= arity;
      EXPECT_EQ(count(algorithm, Collective::broadcast), depth) << ranks;
      EXPECT_EQ(count(algorithm, Collective::reduce), depth) << ranks;
      EXPECT_EQ(count(algorithm, Collective::all_reduce), 2 * depth) << ranks;
    }
    EXPECT_LE(count("binomial", Collective::broadcast), log);
    EXPECT_LE(count("binomial", Collective::reduce), log);
    EXPECT_LE(count("binomial", Collective::gather), log);
    EXPECT_LE(count("binomial", Collective::scatter), log);
  }
}

TEST(Traffic, RingsLoadEveryLinkAlike) {
  for (int ranks : {2, 3, 8}) {
    for (const auto& [kind, rounds] : {std::pair{Collective::all_reduce, 2},
                                       {Collective::reduce_scatter, 1},
                                       {Collective::all_gather, 1}}) {
      std::map<std::pair<Rank, Rank>, uint32_t> chunks;
      for (const ir::Move& move : plan_of("ring", kind, ranks).moves) {
        if (move.src != move.dst) chunks[{move.src, move.dst}] += move.chunks;
      }
      EXPECT_EQ(chunks.size(), static_cast<size_t>(ranks));
      for (const auto& [ends, count] : chunks) {
        EXPECT_EQ(ends.second, (ends.first + 1) % ranks);
        EXPECT_EQ(count, static_cast<uint32_t>(rounds * (ranks - 1)));
      }
    }
  }
}

TEST(Traffic, HalvingMovesNoMoreThanARing) {
  for (int ranks : {2, 4, 8, 16}) {
    std::map<Rank, double> sent;
    const ir::Plan plan = plan_of("halving_doubling", Collective::all_reduce, ranks);
    for (const ir::Move& move : plan.moves) sent[move.src] += double{1} * move.chunks / plan.shape.chunks;
    for (const auto& [rank, blocks] : sent) EXPECT_DOUBLE_EQ(blocks, 2.0 * (ranks - 1) / ranks);
  }
}

TEST(DoubleTree, TheTreesSpanAllNodesAndShareTheWork) {
  for (int nodes = 1; nodes <= 40; ++nodes) {
    std::vector<int> busy(static_cast<size_t>(nodes));
    for (int which : {0, 1}) {
      const NodeTree tree = double_tree(nodes, which);
      int deepest = 0;
      for (int node = 0; node < nodes; ++node) {
        int depth = 0;
        for (int up = node; up != tree.top; up = tree.parent[static_cast<size_t>(up)])
          ASSERT_LT(++depth, nodes);
        deepest = std::max(deepest, depth);
        EXPECT_LE(tree.children[static_cast<size_t>(node)].size(), 2u);
        if (!tree.children[static_cast<size_t>(node)].empty()) ++busy[static_cast<size_t>(node)];
      }
      EXPECT_LE(deepest, static_cast<int>(std::bit_width(static_cast<unsigned>(nodes)))) << nodes;
    }
    const auto twice = std::count(busy.begin(), busy.end(), 2);
    EXPECT_LE(twice, nodes % 2 == 0 || nodes == 1 ? 0 : 1) << nodes;
  }
}

/// As deep as it must be, and everything below a node follows it.
TEST(KaryTree, IsAsFlatAsItCanBe) {
  for (const int arity : {1, 2, 4, 8}) {
    int depth = 0, room = 1, level = 1;  // nodes of the complete tree of that depth, and of its last level
    for (int nodes = 1; nodes <= 100; ++nodes) {
      if (nodes > room) {
        ++depth;
        room += level *= arity;
      }
      const NodeTree tree = kary_tree(nodes, arity);
      std::vector<int> deep(static_cast<size_t>(nodes)), below(static_cast<size_t>(nodes), 1);
      for (int node = 1; node < nodes; ++node) {
        const int parent = tree.parent[static_cast<size_t>(node)];
        ASSERT_LT(parent, node);
        deep[static_cast<size_t>(node)] = deep[static_cast<size_t>(parent)] + 1;
      }
      for (int node = nodes - 1; node > 0; --node)
        below[static_cast<size_t>(tree.parent[static_cast<size_t>(node)])] +=
            below[static_cast<size_t>(node)];
      EXPECT_EQ(*std::max_element(deep.begin(), deep.end()), depth) << nodes << " nodes, arity " << arity;
      for (int node = 0; node < nodes; ++node) {
        int next = node + 1;
        for (const int child : tree.children[static_cast<size_t>(node)]) {
          EXPECT_EQ(child, next) << nodes << " nodes, arity " << arity;
          next += below[static_cast<size_t>(child)];
        }
        EXPECT_LE(tree.children[static_cast<size_t>(node)].size(), static_cast<size_t>(arity));
      }
    }
  }
}

}  // namespace
}  // namespace weir::algorithms
