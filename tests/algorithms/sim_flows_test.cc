// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/algorithms/sim_networks.h"
#include "tests/algorithms/sim_slow.h"

namespace weir::sim {
namespace {

PathId along(FlowSet& set, std::vector<int32_t> edges) { return set.path(edges); }

Timeline run(const FlowSet& set) {
  auto timeline = set.simulate();
  EXPECT_TRUE(timeline.ok()) << timeline.status().message();
  return timeline.ok() ? *timeline : Timeline{};
}

TEST(Flows, OneLink) {
  const Network network = row({10});
  FlowSet set(network, 3e-6);
  set.add({.path = along(set, {0}), .bytes = 20 * kGiga, .alpha = 5e-6});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.seconds, 5e-6 + 2 + 3e-6, 1e-9);
  EXPECT_DOUBLE_EQ(timeline.started[0], 5e-6);
  EXPECT_DOUBLE_EQ(timeline.edge_bytes[0], 20 * kGiga);
  EXPECT_DOUBLE_EQ(timeline.edge_bytes[1], 0);
}

TEST(Flows, NothingTakesNoTime) {
  const Network network = row({10});
  EXPECT_EQ(run(FlowSet(network)).seconds, 0);
  FlowSet set(network, 1e-6);
  set.add({.path = along(set, {0})});
  EXPECT_DOUBLE_EQ(run(set).seconds, 1e-6);
}

TEST(Flows, TwoShareUntilTheShorterIsThrough) {
  const Network network = row({10});
  FlowSet set(network);
  const PathId path = along(set, {0});
  EXPECT_EQ(path, along(set, {0}));
  set.add({.path = path, .bytes = 5 * kGiga});
  set.add({.path = path, .bytes = 15 * kGiga});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[0], 1, 1e-9);
  EXPECT_NEAR(timeline.ended[1], 2, 1e-9);
}

TEST(Flows, OneThatComesLaterTakesItsShare) {
  const Network network = row({10});
  FlowSet set(network);
  const PathId path = along(set, {0});
  set.add({.path = path, .bytes = 15 * kGiga});
  set.add({.path = path, .bytes = 5 * kGiga, .alpha = 0.5});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[1], 1.5, 1e-9);
  EXPECT_NEAR(timeline.ended[0], 2, 1e-9);
}

/// Empty at first. A rest of 0.2 s saves up 2 GB, one of 5 s no more than 4 GB.
TEST(Flows, BucketsSaveUpWhatIsNotUsed) {
  const Network network = row({10});
  FlowSet set(network, 0, 4 * kGiga);
  const PathId path = along(set, {0});
  const FlowId first = set.add({.path = path, .bytes = 20 * kGiga});
  const FlowId soon = set.add({.path = path, .bytes = 3 * kGiga});
  set.wait(soon, {first, FlowEvent::ended, 0.2});
  const FlowId later = set.add({.path = path, .bytes = 14 * kGiga});
  set.wait(later, {soon, FlowEvent::ended, 5});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[first], 2, 1e-9);
  EXPECT_NEAR(timeline.ended[soon], 2 + 0.2 + 0.1, 1e-9);
  EXPECT_NEAR(timeline.ended[later], 2.3 + 5 + 1, 1e-9);
}

/// What a limited flow leaves over is saved up for the next one, on both edges of the way.
TEST(Flows, BucketsFillBesideSlowFlows) {
  const Network network = row({10, 10});
  FlowSet set(network, 0, 2 * kGiga);
  set.add({.path = along(set, {0, 2}), .bytes = 12 * kGiga, .pace = 9});
  const FlowId late = set.add({.path = along(set, {0}), .bytes = 0.5 * kGiga, .alpha = 0.75});
  const FlowId both = set.add({.path = along(set, {0, 2}), .bytes = 0.75 * kGiga, .alpha = 1});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[late], 0.75, 1e-9);          // 0.75 GB were there
  EXPECT_NEAR(timeline.ended[both], 1 + 0.25 / 5, 1e-9);  // 0.5 GB were on the first edge, 1 GB on the second
  EXPECT_NEAR(timeline.ended[0], 1.05 + 2.75 / 9, 1e-9);
}

TEST(Flows, WhatIsLeftInBucketsIsThereForTheNext) {
  const Network network = row({10, 5});
  FlowSet set(network, 0, 4 * kGiga);
  set.add({.path = along(set, {0}), .bytes = 15 * kGiga});
  set.add({.path = along(set, {2}), .bytes = 6 * kGiga});
  const Timeline timeline = run(set);
  EXPECT_THAT(timeline.tokens,
              testing::ElementsAre(0, 4 * kGiga, testing::DoubleNear(1.5 * kGiga, 1), 4 * kGiga));
  set.set_tokens(timeline.tokens);
  EXPECT_NEAR(run(set).ended[1], 4.5 / 5, 1e-9);
  set.set_tokens({1});
  EXPECT_EQ(set.simulate().status().message(), "1 initial bucket levels: expected 4 figures, 0 or more");
}

TEST(Flows, SharesCountWhereEdgesAreShared) {
  const Network network = row({9});
  FlowSet set(network);
  const PathId path = along(set, {0});
  const FlowId two = set.add({.path = path, .bytes = 12 * kGiga, .shares = 2});
  const FlowId one = set.add({.path = path, .bytes = 9 * kGiga});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[two], 2, 1e-9);
  EXPECT_NEAR(timeline.ended[one], 2 + 3 / 9.0, 1e-9);
  FlowSet alone(network);
  alone.add({.path = along(alone, {0}), .bytes = 12 * kGiga, .pace = 4, .shares = 2});
  EXPECT_NEAR(run(alone).seconds, 3, 1e-9);
  alone.add({.path = along(alone, {0}), .shares = 0});
  EXPECT_EQ(alone.simulate().status().message(), "flow 1 has 0 shares: expected at least 1");
}

TEST(Flows, ABurstIsRefused) {
  const Network network = row({10});
  EXPECT_EQ(FlowSet(network, 0, -1).simulate().status().message(),
            "edges with a burst of -1 bytes: expected 0 or more");
}

TEST(Flows, UnequalShares) {
  // The long flow and two others share 6: 2 each. The one on the wide link has 8, and 10 when the long one,
  // whose own end comes at 5 s, is away.
  const Network network = row({10, 6});
  FlowSet set(network);
  const FlowId both = set.add({.path = along(set, {0, 2}), .bytes = 10 * kGiga});
  const FlowId wide = set.add({.path = along(set, {0}), .bytes = 60 * kGiga});
  for (int i = 0; i < 2; ++i) set.add({.path = along(set, {2}), .bytes = 100 * kGiga});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[both], 5, 1e-8);
  EXPECT_NEAR(timeline.ended[wide], 7, 1e-8);
  EXPECT_NEAR(timeline.seconds, (10 + 200) / 6.0, 1e-7);
}

TEST(Flows, LatenciesAdd) {
  const Network network = row({10, 10, 10});
  FlowSet set(network, 1e-3);
  set.set_latency(2, 5e-3);
  const FlowId flow = set.add({.path = along(set, {0, 2, 4}), .bytes = 10 * kGiga});
  const FlowId next = set.add({.path = along(set, {0}), .bytes = 10 * kGiga, .alpha = 1e-3});
  set.wait(next, {.flow = flow});
  const FlowId after_sending = set.add({});
  set.wait(after_sending, {flow, FlowEvent::sent, 0.25});
  const FlowId after_starting = set.add({});
  set.wait(after_starting, {next, FlowEvent::started, 0.125});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[flow], 1.007, 1e-9);
  EXPECT_NEAR(timeline.started[next], 1.008, 1e-9);
  EXPECT_NEAR(timeline.ended[next], 2.009, 1e-9);
  EXPECT_NEAR(timeline.ended[after_sending], 1.25, 1e-9);
  EXPECT_NEAR(timeline.ended[after_starting], 1.133, 1e-9);
}

TEST(Flows, PaceAndWindow) {
  const Network network = row({10});
  FlowSet set(network, 1e-3);
  const PathId path = along(set, {0});
  const FlowId paced = set.add({.path = path, .bytes = 2 * kGiga, .pace = 2});
  // 6 MB in flight over a round trip of 2 ms: 3 GB/s.
  const FlowId windowed = set.add({.path = path, .bytes = 3 * kGiga, .window = 6e6});
  const FlowId free = set.add({.path = path, .bytes = 5 * kGiga});
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.ended[paced], 1.001, 1e-8);
  EXPECT_NEAR(timeline.ended[windowed], 1.001, 1e-8);
  EXPECT_NEAR(timeline.ended[free], 1.001, 1e-8);
}

TEST(Flows, AStreamSendsInOrder) {
  const Network network = row({10});
  FlowSet set(network, 0.5);
  const PathId path = along(set, {0});
  for (const double giga : {10, 0, 20, 0}) set.add({.path = path, .bytes = giga * kGiga, .stream = 0});
  const Timeline timeline = run(set);
  EXPECT_THAT(timeline.started, ::testing::Each(0.0));
  EXPECT_NEAR(timeline.ended[0], 1.5, 1e-9);
  EXPECT_NEAR(timeline.ended[1], 1.5, 1e-9);
  EXPECT_NEAR(timeline.ended[2], 3.5, 1e-9);
  EXPECT_NEAR(timeline.ended[3], 3.5, 1e-9);
}

/// c pieces over d links, each kept and handed on: the first needs d steps, then one comes out every step.
TEST(Flows, PipelineFill) {
  constexpr int kDepth = 5, kPieces = 8;
  constexpr double kHop = 1e-3, kBytes = 40 * kGiga;
  const Network network = row(std::vector<double>(kDepth, 10));
  FlowSet set(network, kHop);
  std::vector<FlowId> last(kDepth);
  for (int piece = 0; piece < kPieces; ++piece) {
    for (int hop = 0; hop < kDepth; ++hop) {
      const FlowId flow = set.add({.path = along(set, {2 * hop}), .bytes = kBytes / kPieces, .stream = hop});
      if (hop > 0) set.wait(flow, {last[static_cast<size_t>(hop) - 1]});
      last[static_cast<size_t>(hop)] = flow;
    }
  }
  const double whole = kBytes / (10 * kGiga);
  EXPECT_NEAR(run(set).seconds, whole * (1 + (kDepth - 1.0) / kPieces) + kDepth * kHop, 1e-8);
}

TEST(Flows, BytesAreConserved) {
  const Network network = star(16, 25);
  std::mt19937 random(7);
  FlowSet set(network, 1e-6);
  std::vector<double> expected(network.edges.size(), 0);
  for (int i = 0; i < 500; ++i) {
    const int src = static_cast<int>(random() % 16), dst = (src + 1 + static_cast<int>(random() % 15)) % 16;
    const double bytes = static_cast<double>(random() % 1000000);
    set.add({.path = along(set, {2 * src, 2 * dst + 1}),
             .bytes = bytes,
             .stream = static_cast<int>(random() % 40) - 1});
    expected[static_cast<size_t>(2 * src)] += bytes;
    expected[static_cast<size_t>(2 * dst + 1)] += bytes;
    for (int w = 0; w < 2 && i > 0; ++w) {
      set.wait(static_cast<FlowId>(i),
               {static_cast<FlowId>(random() % static_cast<unsigned>(i)), FlowEvent::ended, 1e-6});
    }
  }
  const Timeline timeline = run(set);
  EXPECT_EQ(timeline.edge_bytes, expected);
  // No edge carries more than it can.
  const auto loads = busiest(network, timeline.edge_bytes, timeline.seconds, 3);
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_LE(loads[0].use, 1 + 1e-9);
  EXPECT_GE(loads[0].use, loads[1].use);
  EXPECT_EQ(loads[0].bytes, *std::max_element(expected.begin(), expected.end()));
  // The same set gives the same bits.
  const Timeline again = run(set);
  EXPECT_EQ(timeline.ended, again.ended);
  EXPECT_EQ(timeline.started, again.started);
}

/// Flows that come, go and wait for each other on random ways: every end is that of the slow way.
TEST(Flows, RandomFlowsAgainstTheDefinition) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](size_t below) { return random() % below; };
    Network network;
    network.nodes = 7;
    for (int32_t hop = 0; hop < 6; ++hop) {
      network.edges.push_back({hop, hop + 1, static_cast<int64_t>(1 + any(9)) * 1000000, -1});
    }
    FlowSet set(network);
    std::vector<SlowFlow> slow;
    for (FlowId f = 0; f < 40; ++f) {
      SlowFlow flow{
          {}, 1e18, static_cast<double>(any(4)) * 0.5 * kGiga, static_cast<double>(any(3)) * 0.125, {}};
      const auto first = static_cast<int32_t>(any(6)),
                 last = first + static_cast<int32_t>(any(static_cast<size_t>(6 - first)));
      for (int32_t e = first; e <= last; ++e) {
        flow.path.push_back(e);
        flow.ceiling =
            std::min(flow.ceiling, static_cast<double>(network.edges[static_cast<size_t>(e)].capacity));
      }
      const double pace = any(4) == 0 ? 0.75 : 0;
      if (pace > 0) flow.ceiling = std::min(flow.ceiling, pace * 1e6);
      set.add({.path = along(set, flow.path), .bytes = flow.bytes, .alpha = flow.alpha, .pace = pace});
      for (size_t waits = f == 0 ? 0 : any(3); waits > 0; --waits) {
        flow.after.push_back(any(f));
        set.wait(f, {static_cast<FlowId>(flow.after.back())});
      }
      slow.push_back(flow);
    }
    const Timeline timeline = run(set);
    const std::vector<double> ends = simulate_slowly(network, slow);
    for (size_t f = 0; f < ends.size(); ++f) {
      ASSERT_NEAR(timeline.ended[f], ends[f], 1e-6 * ends[f] + 1e-9) << "seed " << seed << ", flow " << f;
    }
  }
}

/// Everybody sends to rank 0: its edge is the bottleneck, and twice of it is half of the time.
TEST(Flows, MoreCapacityIsNeverSlower) {
  double last = 0;
  for (const double gigabytes : {5.0, 10.0, 20.0, 21.5, 390.0}) {
    Network network = star(8, 400);
    network.edges[1].capacity = units(gigabytes);
    FlowSet set(network, 1e-6);
    for (int src = 1; src < 8; ++src) set.add({.path = along(set, {2 * src, 1}), .bytes = src * kGiga});
    const double seconds = run(set).seconds;
    EXPECT_NEAR(seconds, 28 / gigabytes + 2e-6, 1e-8) << gigabytes;
    if (last > 0) {
      EXPECT_LE(seconds, last);
    }
    last = seconds;
  }
}

/// A thousand flows of all sizes on one path take one group: they end in the order of their sizes.
TEST(Flows, ManyAlike) {
  const Network network = row({10});
  FlowSet set(network);
  double sum = 0;
  for (int i = 1; i <= 1000; ++i) {
    set.add({.path = along(set, {0}), .bytes = i * 1e6});
    sum += i * 1e6;
  }
  const Timeline timeline = run(set);
  EXPECT_NEAR(timeline.seconds, sum / (10 * kGiga), 1e-9);
  EXPECT_TRUE(std::is_sorted(timeline.ended.begin(), timeline.ended.end()));
  EXPECT_NEAR(timeline.ended[0], 1000 * 1e6 / (10 * kGiga), 1e-9);
}

class Refused : public ::testing::Test {
 protected:
  std::string said() { return set_.simulate().status().message(); }
  const Network network_ = row({10, 10});
  FlowSet set_{network_};
};

TEST_F(Refused, Cycles) {
  for (int i = 0; i < 4; ++i) set_.add({});
  set_.wait(1, {2});
  set_.wait(2, {3});
  set_.wait(3, {1});
  EXPECT_EQ(said(),
            "flows wait in a cycle: flow 1, which waits for flow 2, which waits for flow 3, which waits for "
            "flow 1");
  set_.wait(0, {0});
  EXPECT_EQ(said(), "flow 0 waits for itself");
}

TEST_F(Refused, LongCycles) {
  for (FlowId i = 0; i < 20; ++i) set_.wait(set_.add({}), {(i + 1) % 20});
  EXPECT_THAT(said(), ::testing::HasSubstr("... (20 flows), which waits for flow 0"));
}

TEST_F(Refused, Waits) {
  set_.add({});
  set_.wait(0, {1});
  EXPECT_EQ(said(), "flow 0 waits for flow 1: expected flows 0 to 0");
}

TEST_F(Refused, Figures) {
  set_.add({.path = along(set_, {0}), .bytes = -1});
  EXPECT_EQ(said(), "flow 0 has bytes -1: expected 0 or more");
}

TEST_F(Refused, Streams) {
  set_.add({.stream = 1});
  EXPECT_EQ(said(), "flow 0 has stream 1: expected -1 to 0");
}

TEST_F(Refused, Paths) {
  along(set_, {0, 1});
  along(set_, {0, 2});
  EXPECT_EQ(said(), "");
  set_.add({.path = 2});
  EXPECT_EQ(said(), "flow 0 uses path 2, which was never added");
  along(set_, {0, 3});
  EXPECT_EQ(said(), "path 2 continues at node 2 with edge 3, but edge 0 ended at node 1");
}

TEST_F(Refused, Edges) {
  along(set_, {4});
  EXPECT_EQ(said(), "path 0 uses edge 4: expected edges 0 to 3");
}

TEST_F(Refused, Loops) {
  along(set_, {0, 1, 0});
  EXPECT_EQ(said(), "path 0 uses edge 0 twice");
}

}  // namespace
}  // namespace weir::sim
