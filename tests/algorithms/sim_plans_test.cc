// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/builder.h"
#include "algorithms/sim/message_bytes.h"
#include "algorithms/sim/simulate.h"
#include "tests/algorithms/sim_networks.h"
#include "tests/algorithms/some_layout.h"

namespace weir::sim {
namespace {

using algorithms::plan_of;

constexpr double kWire = 300;      // GB/s
constexpr double kHop = 1e-6;      // seconds
constexpr double kWay = 2 * kHop;  // from rank to rank on a star
constexpr double kAlpha = 3e-6;

Prediction run(const ir::Plan& plan, double bytes, const Network& network, const Channels& channels) {
  auto prediction = simulate(plan, bytes, network, channels);
  EXPECT_TRUE(prediction.ok()) << prediction.status().message();
  return prediction.ok() ? *prediction : Prediction{};
}

/// Seconds on a star of 8 with 300 GB/s.
double on_star(std::string_view algorithm, Collective kind, double bytes, uint32_t times = 1) {
  return run(plan_of(algorithm, kind, 8, times), bytes, star(8, kWire),
             {.hop_latency = kHop, .alpha = kAlpha})
      .seconds;
}

/// The formulas of the textbook: alpha per message, its way, and the bytes.
TEST(Plans, TextbookTimes) {
  for (const double bytes : {1e3, 1e6, 1e9}) {
    const double beta = 1 / (kWire * kGiga), step = kAlpha + kWay;
    const auto same = [&](double seconds, double expected) {
      EXPECT_NEAR(seconds, expected, 1e-9 * expected);
    };
    same(on_star("ring", Collective::all_gather, bytes), 7 * (step + beta * bytes / 8));
    same(on_star("ring", Collective::reduce_scatter, bytes), 7 * (step + beta * bytes / 8));
    same(on_star("ring", Collective::all_reduce, bytes), 14 * (step + beta * bytes / 8));
    same(on_star("halving_doubling", Collective::all_reduce, bytes), 6 * step + 2 * 7 / 8.0 * beta * bytes);
    // Seven messages of every rank, begun one after the other.
    const double together = std::max(7 * kAlpha + beta * bytes / 8, kAlpha + 7 * beta * bytes / 8) + kWay;
    same(on_star("pairwise", Collective::all_to_all, bytes), together);
  }
}

TEST(Plans, LinksMayHaveLatenciesOfTheirOwn) {
  Network network = star(8, kWire);
  const auto plan = plan_of("ring", Collective::all_gather, 8);
  const double all = run(plan, 1e6, network, {.hop_latency = kHop}).seconds;
  network.latencies.assign(network.edges.size(), kHop);
  EXPECT_DOUBLE_EQ(run(plan, 1e6, network, {}).seconds, all);
  // Each block passes the links of a rank once, and with as many slots as blocks none waits for the one
  // before.
  for (double& latency : network.latencies) latency = 0;
  network.latencies[0] = 1;
  const Channels channels{.slots = 8};
  const double usual = run(plan, 1e6, star(8, kWire), channels).seconds;
  EXPECT_NEAR(run(plan, 1e6, network, channels).seconds - usual, 1, 1e-5);
}

TEST(Plans, MessagesHaveTheSizeThatIsFastest) {
  // Over a chain a large message arrives late, and a small one costs as much work.
  const auto plan = plan_of("chain", Collective::all_reduce, 8);
  const auto size = [&](double alpha, double bytes) {
    const Channels channels{.alpha = alpha, .slot_bytes = 256 << 10, .slots = 4};
    const auto chosen =
        fastest_messages(plan, bytes, star(8, kWire), channels, run(plan, bytes, star(8, kWire), channels));
    EXPECT_TRUE(chosen.ok()) << chosen.status().message();
    return chosen->slot_bytes / 1024;
  };
  EXPECT_EQ(size(1e-9, 8 << 20), 64);
  EXPECT_EQ(size(1e-3, 8 << 20), 256);
  EXPECT_EQ(size(1e-9, 1000), 256) << "one message has all of it";
}

TEST(Plans, MessagesOfOneRankShareItsWire) {
  // The root's three messages last three times as long, those of its first child twice: 3 + 2 + 1.
  const auto plan = plan_of("binomial", Collective::broadcast, 8);
  const auto got = run(plan, 1e9, star(8, kWire), {.hop_latency = kHop});
  EXPECT_NEAR(got.seconds, 3 * kWay + 6 * 1e9 / (kWire * kGiga), 1e-9);
}

TEST(Plans, DoubleTreesHaveFewHopsAndFullWidth) {
  const double few = on_star("double_tree", Collective::all_reduce, 8, 1);
  EXPECT_GE(few, 2 * 3 * (kAlpha + kWay));
  EXPECT_LE(few, 2 * 4 * (kAlpha + kWay));
  const double whole = 2 * 1e9 / (kWire * kGiga);
  const double pipelined = on_star("double_tree", Collective::all_reduce, 1e9, 64);
  EXPECT_GE(pipelined, whole * 7 / 8);
  EXPECT_LE(pipelined, whole * 1.05);
}

/// A chain of d hops, c chunks: T = d (alpha + way + m / bw) + (c - 1) m / bw, where m = M / c.
TEST(Plans, ChainsFillLikePipelines) {
  constexpr uint32_t kChunks = 16;
  constexpr double kBytes = 16e9, kPiece = kBytes / kChunks / (kWire * kGiga);
  const auto plan = plan_of("ring", Collective::broadcast, 8, kChunks);
  const auto chain = run(plan, kBytes, star(8, kWire), {.hop_latency = kHop});
  EXPECT_NEAR(chain.seconds, 7 * (kWay + kPiece) + (kChunks - 1) * kPiece, 1e-9);
  EXPECT_DOUBLE_EQ(chain.algbw, kBytes / chain.seconds / kGiga);
  EXPECT_DOUBLE_EQ(chain.busbw, chain.algbw);
}

/// Two messages fill the pipe only if they last as long as the way there and back: two go per m / bw + 2
/// ways.
TEST(Plans, SlotsAreAWindow) {
  constexpr double kSlot = 1e6, kLong = 50e-6;  // a slot takes 3.3 us on the wire
  constexpr int kMessages = 100;
  const auto plan = plan_of("ring", Collective::broadcast, 2);
  const Channels channels{.hop_latency = kLong / 2, .slot_bytes = kSlot, .slots = 2};
  const double wire = kSlot / (kWire * kGiga);
  const auto slow = run(plan, kMessages * kSlot, star(2, kWire), channels);
  EXPECT_NEAR(slow.seconds, (kMessages / 2 - 1) * (wire + 2 * kLong) + 2 * wire + kLong, 1e-9);
  Channels wide = channels;
  wide.slots = 64;
  EXPECT_NEAR(run(plan, kMessages * kSlot, star(2, kWire), wide).seconds, kMessages * wire + kLong, 1e-9);
  Channels windowed = wide;
  windowed.window = 2e6;  // 2 MB per 100 us: 20 GB/s
  EXPECT_NEAR(run(plan, kMessages * kSlot, star(2, kWire), windowed).seconds,
              kMessages * kSlot / 20e9 + kLong, 1e-9);
  Channels paced = wide;
  paced.pace = 5;
  EXPECT_NEAR(run(plan, kMessages * kSlot, star(2, kWire), paced).seconds, kMessages * kSlot / 5e9 + kLong,
              1e-9);
}

/// Two messages of a channel share its way, so the first one comes as late as the second: every hop of a
/// chain costs two messages instead of one.
TEST(Plans, ConnectionsTravelAbreast) {
  constexpr double kSlot = 1e6, kWireTime = kSlot / (kWire * kGiga);
  constexpr int kMessages = 20;
  const auto plan = plan_of("ring", Collective::broadcast, 3);
  const Channels channels{.slot_bytes = kSlot, .slots = 4};
  EXPECT_NEAR(run(plan, kMessages * kSlot, star(3, kWire), channels).seconds, (kMessages + 1) * kWireTime,
              1e-9);
  Channels two = channels;
  two.connections = 2;
  EXPECT_NEAR(run(plan, kMessages * kSlot, star(3, kWire), two).seconds, (kMessages + 2) * kWireTime, 1e-9);
}

/// Where the narrow link is that into rank 1, messages queue there and follow each other: rank 1 can send
/// each one on at once.
TEST(Plans, ConnectionsKeepTheirOrderInSwitches) {
  constexpr double kSlot = 1e6, kWireTime = kSlot / (kWire * kGiga);
  constexpr int kMessages = 20;
  Network network = star(3, kWire);
  network.edges[3].capacity = units(kWire / 2);
  const auto plan = plan_of("ring", Collective::broadcast, 3);
  const Channels channels{.slot_bytes = kSlot, .slots = 4, .connections = 2};
  EXPECT_NEAR(run(plan, kMessages * kSlot, network, channels).seconds, (2 * kMessages + 1) * kWireTime, 1e-9);
}

TEST(Plans, BurstsOfRateLimiters) {
  const auto plan = plan_of("ring", Collective::broadcast, 2);
  EXPECT_NEAR(run(plan, 5e9, star(2, 1), {.burst = 2e9}).seconds, 5, 1e-9);
  EXPECT_NEAR(run(plan, 5e9, star(2, 1), {.alpha = 7, .burst = 2e9}).seconds, 7 + 3, 1e-9);
  // The first of two links rests while the second is at work, and then begins with a full bucket; so has the
  // second one when it begins.
  const auto chain = plan_of("ring", Collective::broadcast, 3);
  EXPECT_NEAR(run(chain, 5e9, star(3, 1), {.burst = 2e9}).seconds, 3 + 3, 1e-9);
}

TEST(Plans, TheLastTileIsWhatIsLeft) {
  const auto plan = plan_of("ring", Collective::all_reduce, 4, 3);  // messages of three chunks
  const Tiling tiling = tile(plan, 12 * 1000, {.slot_bytes = 900});
  EXPECT_DOUBLE_EQ(tiling.chunk_bytes, 1000);
  EXPECT_DOUBLE_EQ(tiling.tile_bytes, 300);
  EXPECT_EQ(tiling.passes, 4);
  EXPECT_EQ(tile(plan, 12 * 1000, {.slot_bytes = 3000}).passes, 1);
  EXPECT_EQ(tile(plan, 12 * 1000, {.slot_bytes = 1000}).passes, 3);
  const auto cut = run(plan, 12 * 1000, star(4, kWire), {.slot_bytes = 900});
  EXPECT_NEAR(cut.edge_bytes[0], 6 * 3000, 1e-9);
}

TEST(Plans, ManyPassesAreExtrapolated) {
  const auto plan = plan_of("ring", Collective::all_reduce, 8);
  const Network network = star(8, kWire);
  const Channels channels{.hop_latency = kHop, .alpha = kAlpha, .slot_bytes = 1e5};
  FlowRoutes routes(network);
  constexpr double kBytes = 2400.05e6;
  const Tiling tiling = tile(plan, kBytes, channels);
  auto made = plan_flows(plan, tiling, tiling.passes, network, routes, channels);
  ASSERT_TRUE(made.ok());
  const auto whole = made->flows.simulate();
  const auto quick = simulate(plan, kBytes, network, routes, channels);
  ASSERT_TRUE(whole.ok() && quick.ok());
  EXPECT_TRUE(quick->extrapolated());
  EXPECT_TRUE(quick->steady);
  EXPECT_LT(quick->flows, static_cast<int64_t>(made->flows.size()) / 5);
  EXPECT_NEAR(quick->seconds, whole->seconds, 1e-9 * whole->seconds);
  EXPECT_NEAR(quick->edge_bytes[3], whole->edge_bytes[3], 1e-6 * whole->edge_bytes[3]);
}

/// Every plan of the catalogue runs to its end, carries exactly its moves' bytes, and is no faster than what
/// a rank must take in.
TEST(Plans, TheWholeCatalogue) {
  for (const auto& entry : algorithms::catalogue()) {
    for (const int ranks : {2, 3, 5, 8}) {
      const auto plan = plan_of(entry.algorithm, entry.kind, ranks);
      const double bytes = 1e7;
      for (const Channels& channels :
           {Channels{.hop_latency = kHop, .slots = 1}, Channels{.slot_bytes = 3e5}}) {
        const auto got = run(plan, bytes, star(ranks, kWire), channels);
        double moved = 0;
        for (const auto& move : plan.moves) moved += move.src == move.dst ? 0 : move.chunks;
        double carried = 0, busiest_edge = 0;
        for (const double load : got.edge_bytes) {
          carried += load;
          busiest_edge = std::max(busiest_edge, load);
        }
        const double chunk = tile(plan, bytes, {}).chunk_bytes;
        EXPECT_NEAR(carried, 2 * moved * chunk, 1e-6 * carried) << plan.algorithm;
        EXPECT_GE(got.seconds, busiest_edge / (kWire * kGiga) * (1 - 1e-9)) << plan.algorithm;
        EXPECT_NEAR(got.busbw, got.algbw * bus_factor(entry.kind, ranks), 1e-9 * got.busbw);
        EXPECT_FALSE(got.extrapolated());
      }
    }
  }
}

/// Four leaves of four hosts, uplinks as fast as a host or slower: rings inside rings send up what must go
/// up, and are as fast as the narrowest link allows. A ring sends a quarter more.
TEST(Plans, HierarchicalOnesFillTheUplinks) {
  const double bytes = 64e6, host = 25;
  const Channels channels{.hop_latency = 1e-8, .slot_bytes = 65536};
  for (const double uplink : {host, host / 2, host / 5}) {
    const Network network =
        leaf_spine({.hosts = 16, .gpus = 1, .adapter = host, .hosts_per_leaf = 4, .uplink = uplink});
    const auto plan =
        algorithms::emit("hierarchical", {Collective::all_reduce, 16, 0, 16}, {.levels = {{0, 4, 8, 12}}});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto got = run(*plan, bytes, network, channels);
    const double upwards = 2 * bytes * 3 / 4, out_of_hosts = 2 * bytes * 15 / 16;
    EXPECT_LT(got.seconds * kGiga, std::max(out_of_hosts / host, upwards / uplink) * 1.005) << uplink;
    for (size_t edge = network.edges.size() - 8; edge < network.edges.size(); ++edge) {
      EXPECT_NEAR(got.edge_bytes[edge], upwards, 1e-6 * upwards) << uplink;
    }
    const auto ring = run(plan_of("ring", Collective::all_reduce, 16), bytes, network, channels);
    EXPECT_GT(ring.seconds, got.seconds * (uplink < host ? 1.24 : 1)) << uplink;
  }
}

/// A pull asks first, and waits for the writer to say that the memory is written.
TEST(Plans, PullsTakeARoundTrip) {
  ir::Builder builder("test", {Collective::all_gather, 2, 0, 1});
  builder.scratch_chunks(1);
  for (Rank rank = 0; rank < 2; ++rank) builder.local(rank, ir::input(0), {.to = ir::scratch(0)});
  for (Rank rank = 0; rank < 2; ++rank)
    builder.pull(1 - rank, rank, ir::scratch(0), {.to = ir::output(1u - static_cast<uint32_t>(rank))});
  const auto got = run(builder.take(), 6e9, star(2, kWire), {.hop_latency = kHop});
  EXPECT_NEAR(got.seconds, 3 * kWay + 0.01, 1e-9);
}

TEST(Plans, MemoryIsNotOverwrittenWhileItIsRead) {
  // Rank 1 sends scratch to rank 0 through one slot, twice; what rank 2 sends it may only land after that.
  ir::Builder builder("test", {Collective::all_gather, 3, 0, 1});
  builder.scratch_chunks(1);
  builder.local(1, ir::input(0), {.to = ir::scratch(0)});
  builder.send(1, 0, ir::scratch(0), {.to = ir::output(1)});
  builder.send(1, 0, ir::scratch(0), {.to = ir::output(1)});
  builder.lanes(2, 3);
  builder.send(2, 1, ir::input(0), {.to = ir::scratch(0)});
  builder.lanes(3, 4);
  builder.send(1, 2, ir::scratch(0), {.to = ir::output(1)});
  const auto got = run(builder.take(), 3 * 3e9, star(3, kWire), {.hop_latency = 0.5, .slots = 1});
  // The second message leaves when the first has come (1.01) and its slot is known to be free (2.01); the
  // last one leaves together with it.
  EXPECT_NEAR(got.seconds, 2.01 + 0.02 + 1, 1e-9);
}

TEST(Jobs, StepsFollowEachOther) {
  const auto reduce = plan_of("ring", Collective::all_reduce, 8);
  const auto gather = plan_of("ring", Collective::all_gather, 8);
  const Network network = star(8, kWire);
  const double one = run(reduce, 1e9, network, {}).seconds, other = run(gather, 2e9, network, {}).seconds;
  const JobStep steps[] = {{0.5, &reduce, 1e9}, {0.25, &gather, 2e9}, {0.5, &reduce, 1e9}, {1, nullptr, 0}};
  const auto job = simulate(steps, network, {});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_NEAR(job->seconds, 2.25 + 2 * one + other, 1e-9);
  EXPECT_NEAR(job->computing, 2.25, 1e-12);
  ASSERT_EQ(job->ends.size(), 4u);
  EXPECT_NEAR(job->ends[0], 0.5 + one, 1e-9);
  EXPECT_NEAR(job->edge_bytes[0], (2 * 14 * 1e9 + 7 * 2e9) / 8, 1);
  const JobStep wrong[] = {{-1, nullptr, 0}};
  EXPECT_EQ(simulate(wrong, network, {}).status().message(), "step 0 computes for -1 s: expected 0 or more");
}

TEST(Plans, Refused) {
  const auto plan = plan_of("ring", Collective::all_reduce, 4);
  const auto said = [&](const Network& network, double bytes, const Channels& channels) {
    return simulate(plan, bytes, network, channels).status().message();
  };
  EXPECT_EQ(said(star(5, 1), 1, {}), "a plan for 4 ranks on a network of 5: expected equal numbers");
  EXPECT_EQ(said(star(4, 1), -4, {}), "chunks of -1 bytes: expected 0 or more");
  EXPECT_EQ(said(star(4, 1), std::numeric_limits<double>::infinity(), {.slot_bytes = 1}),
            "chunks of inf bytes: expected 0 or more");
  EXPECT_EQ(said(star(4, 1), 1, {.slot_bytes = std::nan("")}),
            "channels with slot bytes of nan: expected 0 or more");
  EXPECT_EQ(said(star(4, 1), 1, {.slots = 0}), "channels with 0 slots: expected at least 1");
  EXPECT_EQ(said(star(4, 1), 1, {.burst = -1}), "channels with a burst of -1: expected 0 or more");
  EXPECT_EQ(said(star(4, 1), 1, {.connections = 0}), "channels with 0 connections: expected at least 1");
  EXPECT_EQ(said(star(4, 1), 1, {.alpha = -2}), "channels with an alpha of -2: expected 0 or more");
  Network apart = star(3, 1);
  rank_node(apart);
  EXPECT_EQ(said(apart, 1, {}), "no path leads from rank 2 to rank 3");
  EXPECT_EQ(run(plan, 0, star(4, 1), {}).seconds, 0);
}

}  // namespace
}  // namespace weir::sim
