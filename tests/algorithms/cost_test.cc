// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/cost/growth.h"
#include "algorithms/cost/profile.h"
#include "algorithms/cost/rates.h"
#include "algorithms/cost/table.h"
#include "algorithms/sim/simulate.h"
#include "tests/algorithms/sim_networks.h"

namespace weir::cost {
namespace {

using ::testing::HasSubstr;

constexpr double kAlpha = 2e-6;
constexpr double kBeta = 1e-10;
constexpr double kGamma = 3e-11;

/// Channels alike everywhere, without work for messages.
constexpr Rates kPlain = {{kAlpha, 0, kBeta}, {kAlpha, 0, kBeta}, 0};

/// Ranks with a core each and slots that hold any message: one pass.
Environment in_one_pass(int ranks, const Rates& rates) {
  Environment around = regular(ranks, ranks, ranks, rates);
  around.slot_bytes = size_t{1} << 50;
  return around;
}

Profile profile(std::string_view algorithm, Collective kind, const Environment& around) {
  const auto* entry = algorithms::find(algorithm, kind);
  const auto plan = algorithms::emit(
      algorithm, {kind, around.ranks(), 0, algorithms::default_chunks(*entry, around.ranks())});
  EXPECT_TRUE(plan.ok());
  return profile_of(*plan, around);
}

/// The formulas of the textbook, for a whole of M bytes over n ranks.
TEST(Cost, TextbookTimes) {
  for (const int n : {2, 4, 8, 16, 64}) {
    const Environment around = in_one_pass(n, kPlain);
    for (const double bytes : {0.0, 1e3, 1e6, 1e9}) {
      const double log = std::log2(n);
      const double block = bytes / n;
      const auto takes = [&](std::string_view algorithm, Collective kind, double of_block, double seconds) {
        EXPECT_NEAR(predict(profile(algorithm, kind, around), of_block), seconds, 1e-9 * seconds)
            << algorithm << " " << name(kind) << " of " << bytes << " over " << n;
      };
      const double ring = (n - 1) * (kAlpha + kBeta * block);
      takes("ring", Collective::all_gather, block, ring);
      takes("ring", Collective::reduce_scatter, block, ring);
      takes("ring", Collective::all_reduce, bytes, 2 * ring);
      const double halving = log * kAlpha + (n - 1) * kBeta * block;
      takes("halving_doubling", Collective::all_reduce, bytes, 2 * halving);
      takes("halving_doubling", Collective::all_gather, block, halving);
      takes("halving_doubling", Collective::reduce_scatter, block, halving);
      takes("recursive_doubling", Collective::all_reduce, bytes, log * (kAlpha + kBeta * bytes));
      takes("pat", Collective::all_gather, block, halving);
      takes("pat", Collective::reduce_scatter, block, halving);
      takes("one_shot", Collective::all_reduce, bytes, kAlpha + (n - 1) * kBeta * bytes);
      takes("one_shot", Collective::all_to_all, block, kAlpha + (n - 1) * kBeta * block);
      takes("binomial", Collective::scatter, 0, log * kAlpha);
      takes("ring", Collective::broadcast, bytes, (n - 1) * (kAlpha + kBeta * bytes));
    }
  }
}

TEST(Cost, SumsAndMessagesAreWork) {
  Rates rates = kPlain;
  rates.gamma = kGamma;
  const double bytes = 1e6;
  // Every second round of a ring only copies.
  EXPECT_NEAR(predict(profile("ring", Collective::all_reduce, in_one_pass(8, rates)), bytes),
              14 * (kAlpha + kBeta * bytes / 8) + 7 * kGamma * bytes / 8, 1e-12);
  rates.inside.overhead = 1e-6;
  // Half a microsecond at each end. The last of seven messages is there after 3 + 2; in rank order, six may
  // have waited behind it.
  EXPECT_NEAR(predict(profile("one_shot", Collective::all_reduce, in_one_pass(8, rates)), 0), 8e-6, 1e-12);
}

/// A chain of d hops in c passes: (M / bw) (1 + (d - 1) / c), and a message's work more per pass.
TEST(Cost, PassesFillLikePipelines) {
  Environment around = in_one_pass(8, kPlain);
  around.slot_bytes = 1000;
  const Profile chain = profile("ring", Collective::broadcast, around);
  constexpr int kPasses = 50;
  const double piece = 1000 * kBeta;
  EXPECT_NEAR(predict(chain, kPasses * 1000), 7 * (kAlpha + piece) + (kPasses - 1) * piece, 1e-12);
  // A ring of all-reduce is as busy as it is long: a further pass costs as much as the first.
  const Profile ring = profile("ring", Collective::all_reduce, around);
  EXPECT_NEAR(predict(ring, 10 * 8 * 1000), 10 * 14 * (kAlpha + piece), 10 * kAlpha);
}

/// Who is busier than the chain is long from one pass to the next keeps everybody to its time; what the first
/// tile takes to the end of the chain comes on top.
TEST(Cost, NoPassTakesLessThanItsLoad) {
  Profile profile;
  profile.first.per_byte = 3;
  profile.further.per_byte = 1;
  profile.load.per_byte = 2;
  profile.tile_bytes = 10;
  EXPECT_EQ(predict(profile, 40), 10 * (3 + 3 * 2));
  EXPECT_EQ(predict(profile, 40, 2), 5 * (3 + 7 * 2)) << "twice as many passes";
  profile.load.per_byte = 0.5;
  EXPECT_EQ(predict(profile, 40), 10 * (3 + 3 * 1));
  profile.load.per_byte = 5;
  EXPECT_EQ(predict(profile, 40), 10 * 4 * 5) << "and not the first";
}

/// Trees: about 2 log2 n hops, and both together move 2 M through every rank.
TEST(Cost, DoubleTreesHaveFewHopsAndFullWidth) {
  Environment around = in_one_pass(64, kPlain);
  const double hops = predict(profile("double_tree", Collective::all_reduce, around), 0) / kAlpha;
  EXPECT_GE(hops, 12);
  EXPECT_LE(hops, 14);
  around.slot_bytes = size_t{64} << 10;
  around.rates.inside.alpha = 0;
  const double bytes = 1e9;
  EXPECT_NEAR(predict(profile("double_tree", Collective::all_reduce, around), bytes), 2 * kBeta * bytes,
              0.05 * kBeta * bytes);
}

/// Complete trees of two levels: a hop to the last child takes the work of the messages before it.
TEST(Cost, KaryTreesHaveFewerHops) {
  const double overhead = 5e-7;
  for (const auto& [algorithm, arity] : {std::pair{"tree4", 4}, {"tree8", 8}}) {
    Rates rates = kPlain;
    rates.inside.overhead = overhead;
    const Environment around = in_one_pass(1 + arity + arity * arity, rates);
    const double hop = kAlpha + (arity - 1) * overhead / 2;
    EXPECT_NEAR(predict(profile(algorithm, Collective::broadcast, around), 0), 2 * hop, 1e-12) << algorithm;
    EXPECT_NEAR(predict(profile(algorithm, Collective::reduce, around), 0), 2 * hop, 1e-12) << algorithm;
    EXPECT_NEAR(predict(profile(algorithm, Collective::all_reduce, around), 0), 4 * hop, 1e-12) << algorithm;
  }
}

/// Between hosts a hop per doubling, and one inside: before or after. Where hosts are no power of two, one
/// less may do.
TEST(Cost, PatHasALogarithmOfHosts) {
  constexpr double kInside = 1e-7;
  const Rates rates = {{kInside, 0, kBeta}, {kAlpha, 0, kBeta}, 0};
  for (const int hosts : {2, 3, 5, 8, 13, 16, 64, 100, 128}) {
    for (const int size : {1, 4}) {
      Environment around = regular(hosts * size, size, size, rates);
      algorithms::Groups starts;
      for (int host = 0; host < hosts && size > 1; ++host) starts.push_back(host * size);
      if (size > 1) around.layout.levels = {starts};
      for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter}) {
        const auto plan = algorithms::emit("pat", {kind, hosts * size, 0, 1}, around.layout);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        const double hops = (predict(profile_of(*plan, around), 0) - (size > 1 ? kInside : 0)) / kAlpha;
        EXPECT_GE(hops, std::floor(std::log2(hosts)) - 1e-6) << name(kind) << " " << hosts << " x " << size;
        EXPECT_LE(hops, std::ceil(std::log2(hosts)) + 1e-6) << name(kind) << " " << hosts << " x " << size;
      }
    }
  }
}

TEST(Cost, CoresAreShared) {
  Environment around = in_one_pass(8, kPlain);
  around.cores = {2};
  const double bytes = 1e6;
  // Seven sends and seven receipts of an eighth by eight ranks, on two cores.
  EXPECT_NEAR(predict(profile("ring", Collective::reduce_scatter, around), bytes),
              7 * kAlpha + 8 * 7 * kBeta * bytes / 2, 1e-9);
}

TEST(Cost, ChainsComeLateWhereCoresAreShared) {
  // Messages are work all the time: 12 of them by four ranks on two cores, and half of the chain.
  Rates rates;
  rates.inside = {kAlpha, kAlpha, 0};
  Environment around = in_one_pass(4, rates);
  around.cores = {2};
  const double work = 12 * kAlpha / 2;
  const double one_shot = predict(profile("one_shot", Collective::all_gather, around), 0);
  around.cores = {4};
  const double chain = predict(profile("one_shot", Collective::all_gather, around), 0);
  EXPECT_GE(chain, 3 * kAlpha) << "three sent and three taken, each half the work";
  EXPECT_NEAR(one_shot, work + chain / 2, 1e-12);
  around.cores = {1};
  EXPECT_NEAR(predict(profile("one_shot", Collective::all_gather, around), 0), 12 * kAlpha, 1e-12)
      << "one core does all work, one piece after the other";
}

TEST(Cost, BordersAreShared) {
  Environment around = regular(16, 8, 8, kPlain);
  around.slot_bytes = size_t{1} << 50;
  around.borders = {{around.host_of, 10 * kBeta}};
  const double bytes = 1e6;
  const auto load = [&](std::string_view algorithm, Collective kind) {
    const Profile found = profile(algorithm, kind, around);
    return found.load.per_byte / found.chunks * bytes;
  };
  // A ring crosses once in each direction; in one shot, 64 pairs do.
  EXPECT_NEAR(load("ring", Collective::all_gather), 15 * 10 * kBeta * bytes, 1e-9);
  EXPECT_NEAR(load("one_shot", Collective::all_gather), 64 * 10 * kBeta * bytes, 1e-9);
}

/// How far the few multiplications are off the simulator, which knows slots and streams but no work of
/// receivers: by a sixth in plans whose rounds are even, by less than half in the others.
/// A ring has one sender for each rank; who halves and doubles has several, the root of a gather all others.
TEST(Cost, FlowsThatMergeTakeLonger) {
  constexpr double kUnasked = 1e4;
  constexpr double kMerging = 0.5;
  Environment hosts = regular(8, 1, 8, {{}, {kAlpha, 0, kBeta, 0, kMerging, kUnasked}, 0});
  hosts.slot_bytes = size_t{1} << 50;
  Environment alone = hosts;
  alone.rates.between.merging = 0;
  struct {
    std::string_view algorithm;
    Collective kind;
    int messages;   ///< one after the other
    double chunks;  ///< of a block, the largest message; 0: they do not merge
  } const cases[] = {{"ring", Collective::all_reduce, 14, 0},
                     {"one_shot", Collective::gather, 1, 1},
                     {"halving_doubling", Collective::all_reduce, 6, 0.5}};
  for (const auto& [algorithm, kind, messages, chunks] : cases) {
    for (const double bytes : {1e3, 4e4, 1e7}) {
      const double latency = messages * kAlpha;
      const double moving = predict(profile(algorithm, kind, alone), bytes) - latency;
      const double asked = chunks == 0 ? 0 : std::max(0.0, 1 - kUnasked / (chunks * bytes));
      EXPECT_NEAR(predict(profile(algorithm, kind, hosts), bytes), latency + moving * (1 + kMerging * asked),
                  1e-9 * moving)
          << algorithm << " " << bytes;
    }
  }
}

TEST(Cost, AgreesWithTheSimulator) {
  constexpr double kWire = 10;  // GB/s
  const struct {
    std::string_view algorithm;
    Collective kind;
    double most;
  } cases[] = {{"ring", Collective::all_reduce, 1.17},
               {"ring", Collective::all_gather, 1.17},
               {"ring", Collective::broadcast, 1.17},
               {"halving_doubling", Collective::all_gather, 1.42},
               {"halving_doubling", Collective::all_reduce, 1.42},
               {"double_tree", Collective::all_reduce, 1.42},
               {"pairwise", Collective::all_to_all, 1.42}};
  for (const auto& [algorithm, kind, most] : cases) {
    const int ranks = 8;
    const double way = 2e-6, alpha = 5e-7;
    const sim::Channels channels{.hop_latency = way / 2, .alpha = alpha, .slot_bytes = 65536, .slots = 4};
    const Rates rates = {{way + alpha, 2 * alpha, 1 / (kWire * 1e9)}, {}, 0};
    const Environment around = regular(ranks, ranks, ranks, rates);
    const auto* entry = algorithms::find(algorithm, kind);
    const auto plan =
        *algorithms::emit(algorithm, {kind, ranks, 0, algorithms::default_chunks(*entry, ranks)});
    for (const double bytes : {1e2, 1e4, 1e6, 1e8}) {
      const bool one_block = kind == Collective::all_reduce || kind == Collective::broadcast;
      const auto simulated = sim::simulate(plan, bytes, sim::star(ranks, kWire), channels);
      ASSERT_TRUE(simulated.ok()) << simulated.status().message();
      const double ratio =
          predict(profile_of(plan, around), one_block ? bytes : bytes / ranks) / simulated->seconds;
      EXPECT_LE(ratio, most) << algorithm << " " << name(kind) << " of " << bytes;
      EXPECT_GE(ratio, 1 / most) << algorithm << " " << name(kind) << " of " << bytes;
    }
  }
}

/// Profiles that have grown out of small ones, against those of the whole plan.
TEST(Cost, GrowsAsPlansDo) {
  Rates rates = {{2e-7, 1e-7, 1e-10}, {1e-5, 3e-6, 3e-10}, kGamma};
  const int ranks = 512;
  const Environment whole = regular(ranks, 8, 8, rates);
  const struct {
    std::string_view algorithm;
    Collective kind;
    double most;
  } cases[] = {{"ring", Collective::all_reduce, 0.01},
               {"ring", Collective::all_gather, 0.01},
               {"double_tree", Collective::all_reduce, 0.10},
               {"halving_doubling", Collective::all_reduce, 0.05},
               {"halving_doubling", Collective::all_gather, 0.05},
               {"one_shot", Collective::all_gather, 0.02},
               {"binomial", Collective::broadcast, 0.05}};
  for (const auto& [algorithm, kind, most] : cases) {
    const auto at = [&](int places) { return profile(algorithm, kind, first_places(whole, places)); };
    const Profile far = grown(at(32), at(64), at(128), 2);
    const Profile real = profile(algorithm, kind, whole);
    for (const double bytes : {8.0, 1e4, 1e6, 1e9}) {
      const double expected = predict(real, bytes);
      EXPECT_NEAR(predict(far, bytes), expected, most * expected)
          << algorithm << " " << name(kind) << " of " << bytes;
    }
  }
}

TEST(Rates, AreWrittenAndRead) {
  const Rates rates = {{1e-7, 0, 3.3e-11}, {1.0 / 3, 2e-6, 1e-9, 5e-10, 0.25, 4096}, 7e-12};
  const auto back = read_rates(text_of(rates), {});
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, rates);
  const auto one = read_rates("# ours\n\ngamma 5e-11 # measured\n", rates);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->gamma, 5e-11);
  EXPECT_EQ(one->between, rates.between);
  for (const std::string text :
       {"inside.beta", "inside.beta -1", "gamma nan", "gamma 1x", "delta 1", "gamma 1 2"}) {
    const auto wrong = read_rates("gamma 1\n" + text, {});
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_THAT(wrong.status().message(), HasSubstr("line 2, \"" + text + "\": expected")) << text;
  }
}

TEST(Rates, TheSlowerOfEach) {
  const Rates a = {{1, 5, 1}, {2, 2, 2}, 3};
  const Rates b = {{4, 4, 4}, {1, 1, 1}, 2};
  EXPECT_EQ(slower(a, b), (Rates{{4, 5, 4}, {2, 2, 2}, 3}));
}

}  // namespace
}  // namespace weir::cost
