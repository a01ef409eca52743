// SPDX-License-Identifier: Apache-2.0
// Every file for MSCCL runs within the limits of MSCCL's runtime, and is a correct plan when it is read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/builder.h"
#include "algorithms/ir/verify.h"
#include "algorithms/msccl/msccl.h"
#include "src/exec/plan_proof.h"
#include "tests/algorithms/msccl_runtime.h"
#include "tests/algorithms/some_layout.h"
#include "tests/base/sanitized.h"
#include "tests/topology/make_graph.h"

namespace weir::msccl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_runs(const ir::Plan& plan) {
  ASSERT_EQ(ir::verify(plan).message(), "");
  const auto text = write(plan);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(awaited_without_notice(*text), "");
  const auto file = read_file({"plan.xml", *text});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(beyond_limits(*file), "");
  for (const bool in_place : {false, true}) {
    if (in_place && !ir::has_in_place(plan.shape.kind)) continue;
    for (uint32_t seed = 0; seed < 4; ++seed)
      ASSERT_EQ(RuntimeModel(*file, in_place, seed).run(), "")
          << "in place " << in_place << ", seed " << seed;
  }
  const auto again = read(*text, "plan.xml");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->shape, plan.shape);
  EXPECT_EQ(exec::prove(*again).message(), "");
}

TEST(MscclRuntime, RunsTheCatalogue) {
  for (const auto& entry : algorithms::catalogue()) {
    for (const int ranks : {2, 5, 8}) {
      const Rank root = has_root(entry.kind) ? ranks - 1 : 0;
      const algorithms::Layout layout = algorithms::some_layout(ranks);
      for (const uint32_t factor : {1u, 3u}) {
        const uint32_t chunks = algorithms::default_chunks(entry, ranks, layout) * factor;
        const auto plan = algorithms::emit(entry.algorithm, {entry.kind, ranks, root, chunks}, layout);
        if (!plan.ok() && factor > 1) continue;
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        SCOPED_TRACE(
            fmt::format("{} {} over {}, {} chunks", entry.algorithm, name(entry.kind), ranks, chunks));
        expect_runs(*plan);
      }
    }
  }
}

ir::Plan planned(const std::string& line, Collective kind) {
  const topology::Graph graph = topology::make_graph(line);
  auto devices = graph.all(topology::NodeKind::gpu);
  const auto network = algorithms::network_of(graph, devices);
  EXPECT_TRUE(network.ok()) << network.status().message();
  const std::vector<char> between = algorithms::switches_between_hosts(*network, graph);
  const auto best = algorithms::best_plan({graph, *network, between, kind, 0, 1e9});
  EXPECT_TRUE(best.ok()) << best.status().message();
  auto schedule = algorithms::schedule(*best, *network, 1e9, {.slot_bytes = 256 << 10, .slots = 4});
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return schedule.ok() ? std::move(schedule->plan) : ir::Plan{};
}

TEST(MscclRuntime, RunsThePlansOfClusters) {
  constexpr const char* kLines[] = {"(8 gpu mesh 100)",
                                    "2 x (4 gpu nvswitch 300, 4 nic 25) leaf",
                                    "(8 gpu nvswitch 300)",
                                    "3 x (3 gpu mesh 100, 1 nic 25) leaf",
                                    "4 x (4 gpu nvswitch 300, 4 nic 25) rail leaf by 2 4:1",
                                    "5 x (4 gpu mesh 50, 2 nic 25) leaf by 2 2:1 spine 2",
                                    "16 x (1 gpu pcie 50, 1 nic 25) leaf by 4 4:1 spine 2"};
  for (const char* const line : std::span(kLines).first(weir::testing::enough(7))) {
    for (const auto kind : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
                            Collective::broadcast, Collective::all_to_all}) {
      SCOPED_TRACE(fmt::format("{} on {}", name(kind), line));
      expect_runs(planned(line, kind));
    }
  }
}

TEST(MscclRuntime, LanesShareBlocksWhereThereAreTooMany) {
  // One block for each lane and each peer would be 124 blocks per GPU.
  expect_runs(planned("4 x (8 gpu nvswitch 300, 8 nic 25) leaf by 2 4:1 spine 2", Collective::all_gather));
}

/// An all-reduce along random trees, each in random lanes; their moves are mixed.
class RandomTrees {
 public:
  explicit RandomTrees(uint32_t seed) : random_(seed) {}

  ir::Plan plan() {
    const int ranks = 2 + static_cast<int>(below(9));
    const uint32_t trees = 1 + below(12), width = 1 + below(below(4) == 0 ? 90 : 5);
    ir::Plan plan{"random", {Collective::all_reduce, ranks, 0, trees * width}, 0, {}};
    std::vector<std::vector<ir::Move>> lists;
    for (uint32_t tree = 0; tree < trees; ++tree) lists.push_back(tree_of(ranks, tree * width, width));
    std::vector<std::vector<uint32_t>> numbers(trees);
    for (size_t left = trees; left > 0;) {
      const uint32_t tree = below(trees);
      if (numbers[tree].size() == lists[tree].size()) continue;
      ir::Move move = lists[tree][numbers[tree].size()];
      for (ir::Operand* operand : {&move.from, &move.with})
        if (operand->kind == ir::Operand::Kind::value) operand->index = numbers[tree][operand->index];
      numbers[tree].push_back(static_cast<uint32_t>(plan.moves.size()));
      plan.moves.push_back(move);
      if (numbers[tree].size() == lists[tree].size()) --left;
    }
    return plan;
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  /// Up to the root, and down again; values are numbers in the list of the tree.
  std::vector<ir::Move> tree_of(int ranks, uint32_t chunk, uint32_t width) {
    std::vector<Rank> order(static_cast<size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<size_t> parent(order.size());
    std::vector<uint8_t> lane(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      parent[i] = i == 0 ? 0 : below(static_cast<uint32_t>(i));
      lane[i] = static_cast<uint8_t>(below(64));
    }
    ir::Builder plan("tree", {Collective::all_reduce, ranks, 0, 1});
    std::vector<ir::Operand> sum(order.size(), ir::input(chunk));
    for (size_t i = order.size(); i-- > 1;) {
      const size_t p = parent[i];
      plan.lanes(lane[i], lane[p]);
      const bool last = p == 0 && i == 1;
      sum[p] = ir::value(
          plan.send(order[i], order[p], sum[i], {sum[p], last ? ir::output(chunk) : ir::Operand{}, width}));
    }
    for (size_t i = 1; i < order.size(); ++i) {
      const size_t p = parent[i];
      plan.lanes(lane[p], lane[i]);
      const ir::Operand from = below(2) == 0 ? ir::output(chunk) : sum[p];
      sum[i] = ir::value(plan.send(order[p], order[i], from, {{}, ir::output(chunk), width}));
    }
    return plan.take().moves;
  }

  std::mt19937 random_;
};

TEST(MscclRuntime, RunsRandomTreesInAnyLanes) {
  for (uint32_t seed = 0; seed < testing::enough(150); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_runs(RandomTrees(seed).plan());
  }
}

TEST(MscclRuntime, CopiesValuesWhoseMemoryIsOverwritten) {
  // Rank 1 passes on the first chunk after it has stored the second one in the same scratch memory.
  ir::Builder plan("reused", {Collective::broadcast, 3, 0, 2});
  plan.scratch_chunks(1);
  for (uint32_t c = 0; c < 2; ++c) plan.local(0, ir::input(c), {.to = ir::output(c)});
  const auto first = plan.send(0, 1, ir::input(0), {.to = ir::scratch(0)});
  plan.local(1, ir::scratch(0), {.to = ir::output(0)});
  const auto second = plan.send(0, 1, ir::input(1), {.to = ir::scratch(0)});
  plan.local(1, ir::value(second), {.to = ir::output(1)});
  plan.send(1, 2, ir::value(second), {.to = ir::output(1)});
  plan.send(1, 2, ir::value(first), {.to = ir::output(0)});
  expect_runs(plan.take());
}

TEST(MscclRuntime, RefusesMorePeersThanBlocks) {
  const auto plan = algorithms::emit("one_shot", {Collective::all_to_all, 66, 0, 1});
  ASSERT_TRUE(plan.ok());
  const auto text = write(*plan);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.status().message(), HasSubstr("GPU 0 needs 65 thread blocks"));
  EXPECT_THAT(text.status().message(), HasSubstr("expected at most 64"));
}

TEST(MscclRuntime, FilesNameTheLimitsThatTheyNeed) {
  const auto ring = [](int ranks) {
    const auto plan =
        algorithms::emit("ring", {Collective::all_reduce, ranks, 0, static_cast<uint32_t>(ranks)});
    const auto text = write(*plan);
    return text.ok() ? *text : text.status().message();
  };
  EXPECT_THAT(ring(16), Not(HasSubstr("<!--")));
  EXPECT_THAT(ring(40), HasSubstr("<!-- needs MSCCL built with at least MSCCL_MAX_NUM_STEPS=79 -->"));
}

TEST(MscclRuntime, SumsOfUnequalLengthsAreNotFused) {
  // Two sums into the same place, of two chunks and of one: MSCCL would make one step of one chunk of them.
  ir::Builder builder("sums", {Collective::all_reduce, 3, 0, 2});
  builder.scratch_chunks(4);
  builder.local(0, ir::input(0), {.to = ir::output(0), .chunks = 2});
  builder.send(1, 0, ir::input(0), {.to = ir::scratch(0), .chunks = 2});
  for (uint32_t c = 0; c < 2; ++c) builder.send(2, 0, ir::input(c), {.to = ir::scratch(2 + c)});
  builder.local(0, ir::scratch(0), {.with = ir::output(0), .to = ir::output(0), .chunks = 2});
  for (uint32_t c = 0; c < 2; ++c)
    builder.local(0, ir::scratch(2 + c), {.with = ir::output(c), .to = ir::output(c)});
  for (const Rank to : {1, 2}) builder.send(0, to, ir::output(0), {.to = ir::output(0), .chunks = 2});
  const ir::Plan plan = builder.take();
  expect_runs(plan);
  EXPECT_THAT(*write(plan), ContainsRegex("type=\"re\" [^/]* cnt=\"2\" [^/]* hasdep=\"1\""));
}

}  // namespace
}  // namespace weir::msccl
