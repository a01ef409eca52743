// SPDX-License-Identifier: Apache-2.0
// PAT between any hosts: right, few messages, no more between hosts than there must be.
#include "algorithms/catalogue/pat.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/pat_schedule.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"
#include "tests/algorithms/lowered_and_checked.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

constexpr Collective kPatKinds[] = {Collective::all_gather, Collective::reduce_scatter};

int log2_up(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

ir::Plan pat_plan(Collective kind, int ranks, const Groups& hosts, int aggregate = kPatAggregate,
                  uint32_t chunks = 1) {
  const auto make = kind == Collective::all_gather ? pat_all_gather : pat_reduce_scatter;
  std::vector<Groups> levels;
  if (!hosts.empty()) levels.push_back(hosts);
  return make({kind, ranks, 0, chunks}, levels, aggregate);
}

Groups equal_hosts(int hosts, int size) {
  Groups starts;
  for (int host = 0; host < hosts; ++host) starts.push_back(host * size);
  return starts;
}

struct Case {
  int ranks;
  Groups hosts;
  int aggregate;
  std::string words(Collective kind) const {
    return fmt::format("{} over {} ranks, hosts {}, aggregate {}", name(kind), ranks, fmt::join(hosts, ","),
                       aggregate);
  }
};

std::vector<Case> random_cases(int times) {
  std::mt19937 random(9);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Case> cases;
  for (int i = 0; i < times; ++i) {
    const int ranks = 2 + below(20);
    std::set<int> cuts{0};
    for (int more = below(ranks); more > 0; --more) cuts.insert(below(ranks));
    cases.push_back({ranks, Groups(cuts.begin(), cuts.end()), 1 + below(5)});
  }
  return cases;
}

TEST(PatSchedule, EveryHostGetsEveryBlockOnce) {
  for (int hosts = 1; hosts <= 70; ++hosts) {
    for (const int aggregate : {1, 2, 3, 4, 7, 16, 64}) {
      const PatSchedule schedule = pat_schedule(hosts, aggregate);
      const std::string words = fmt::format("{} hosts, aggregate {}", hosts, aggregate);
      // What lies in the rows of a host, as offsets from the owner: each is here before it is sent.
      std::vector<std::vector<int>> rows(static_cast<size_t>(schedule.rows()),
                                         std::vector<int>(schedule.heads.size(), -1));
      std::map<int, int> chain{{0, 0}};  // steps that wait for each other until an offset has its block
      rows[0][static_cast<size_t>(schedule.own_place())] = 0;
      for (const PatStep& step : schedule.steps) {
        ASSERT_EQ(step.sent.count, step.arriving.count) << words;
        ASSERT_LE(step.sent.count, std::max(aggregate, 1)) << words;
        const auto from = static_cast<size_t>(schedule.row(step.sent.branch));
        const auto to = static_cast<size_t>(schedule.row(step.arriving.branch));
        ASSERT_LT(to, rows.size()) << words;
        for (int i = 0; i < step.sent.count; ++i) {
          const int offset = rows[from].at(static_cast<size_t>(step.sent.first + i));
          const int next = offset + step.distance;
          ASSERT_GE(offset, 0) << words;
          ASSERT_LT(next, hosts) << words;
          ASSERT_TRUE(chain.emplace(next, chain.at(offset) + 1).second) << words << ": twice";
          rows[to].at(static_cast<size_t>(step.arriving.first + i)) = next;
        }
      }
      ASSERT_EQ(chain.size(), static_cast<size_t>(hosts)) << words;
      for (const auto& [offset, steps] : chain) {
        ASSERT_EQ(steps, std::popcount(static_cast<unsigned>(offset))) << words;
      }
    }
  }
}

TEST(PatSchedule, SharesAreAllBlocksOnceAndReady) {
  for (int hosts = 1; hosts <= 70; ++hosts) {
    for (const int aggregate : {1, 2, 5, 64}) {
      const PatSchedule schedule = pat_schedule(hosts, aggregate);
      const std::string words = fmt::format("{} hosts, aggregate {}", hosts, aggregate);
      std::map<int, size_t> arrival{{0, 0}};  // by offset: steps until it is there
      for (size_t s = 0; s < schedule.steps.size(); ++s) {
        const PatRun& run = schedule.steps[s].arriving;
        for (int i = 0; i < run.count; ++i)
          arrival[schedule.heads[static_cast<size_t>(run.first + i)] + run.branch] = s + 1;
      }
      std::set<int> shared;
      for (const PatShare& share : schedule.shares) {
        size_t ready = 0;
        for (int i = 0; i < share.run.count; ++i) {
          const int offset = schedule.heads.at(static_cast<size_t>(share.run.first + i)) + share.run.branch;
          ASSERT_TRUE(shared.insert(offset).second) << words;
          ready = std::max(ready, arrival.at(offset));
        }
        ASSERT_EQ(share.ready, ready) << words;
      }
      ASSERT_EQ(shared.size(), static_cast<size_t>(hosts)) << words;
    }
  }
}

TEST(PatSchedule, HasTheStepsOfTheFormula) {
  for (int hosts = 2; hosts <= 600; ++hosts) {
    for (const int aggregate : {1, 4, 64, 128}) {
      int stride = 1;
      while ((hosts + stride - 1) / stride > aggregate) stride *= 2;
      const int heads = (hosts + stride - 1) / stride;
      const int branches = std::min(stride, hosts) - 1;  // of one head, those beyond the hosts are not there
      const auto steps = static_cast<int>(pat_schedule(hosts, aggregate).steps.size());
      EXPECT_EQ(steps, log2_up(heads) + branches) << hosts << " hosts, aggregate " << aggregate;
      if (hosts <= 2 * aggregate) {
        EXPECT_EQ(steps, log2_up(hosts)) << hosts;
      }
    }
  }
}

TEST(PatSchedule, FarStepsCarryLittle) {
  const PatSchedule schedule = pat_schedule(16, 64);
  std::vector<std::pair<int, int>> messages;
  for (const PatStep& step : schedule.steps) messages.emplace_back(step.distance, step.sent.count);
  EXPECT_EQ(messages, (std::vector<std::pair<int, int>>{{8, 1}, {4, 2}, {2, 4}, {1, 8}}));
}

TEST(Pat, AnyHostsAreRightAndRunWithTwoSlots) {
  for (const Case& each : random_cases(testing::enough(50))) {
    for (const Collective kind : kPatKinds) {
      for (const uint32_t chunks : {1u, 3u}) {
        const ir::Plan plan = pat_plan(kind, each.ranks, each.hosts, each.aggregate, chunks);
        ASSERT_EQ(ir::verify(plan).message(), "") << each.words(kind);
        ASSERT_EQ(lowered_and_checked(plan), "") << each.words(kind);
      }
    }
  }
}

TEST(Pat, MoreHostsThanAggregateToo) {
  for (const auto& [hosts, aggregate] : {std::pair{2 * kPatAggregate + 1, kPatAggregate}, {70, 3}}) {
    for (const Collective kind : kPatKinds) {
      const ir::Plan plan = pat_plan(kind, hosts, {}, aggregate);
      EXPECT_EQ(ir::verify(plan).message(), "") << hosts;
      if (hosts < kPatAggregate) {
        EXPECT_EQ(lowered_and_checked(plan), "") << hosts;
      }
    }
  }
}

TEST(Pat, AnyOrderOfRanksWillDo) {
  std::mt19937 random(3);
  for (const Case& each : random_cases(testing::enough(40))) {
    std::vector<Rank> order(static_cast<size_t>(each.ranks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const Collective kind : kPatKinds) {
      auto other = ir::relabelled(pat_plan(kind, each.ranks, each.hosts, each.aggregate), order);
      ASSERT_TRUE(other.ok()) << each.words(kind) << ": " << other.status().message();
      ASSERT_EQ(ir::verify(*other).message(), "") << each.words(kind);
      ASSERT_EQ(lowered_and_checked(*other), "") << each.words(kind);
    }
  }
}

std::vector<int> host_of(const Case& each) {
  std::vector<int> hosts;
  for (Rank rank = 0; rank < each.ranks; ++rank) {
    const auto next = std::upper_bound(each.hosts.begin(), each.hosts.end(), rank);
    hosts.push_back(static_cast<int>(next - each.hosts.begin()) - 1);
  }
  return hosts;
}

/// A host takes in each block of others once, or gives one sum away for each: nothing can do with less.
TEST(Pat, NoMoreEntersAHostThanThereMust) {
  for (const Case& each : random_cases(150)) {
    const std::vector<int> host = host_of(each);
    for (const Collective kind : kPatKinds) {
      std::map<int, int> across;
      for (const ir::Move& move : pat_plan(kind, each.ranks, each.hosts, each.aggregate).moves) {
        const int src = host[static_cast<size_t>(move.src)], dst = host[static_cast<size_t>(move.dst)];
        if (src != dst) across[kind == Collective::all_gather ? dst : src] += static_cast<int>(move.chunks);
      }
      for (size_t h = 0; h < each.hosts.size() && each.hosts.size() > 1; ++h) {
        const auto own = static_cast<int>(std::count(host.begin(), host.end(), static_cast<int>(h)));
        EXPECT_EQ(across[static_cast<int>(h)], each.ranks - own) << each.words(kind) << ", host " << h;
      }
    }
  }
}

/// Of equal hosts: the same place only, one message per step, and two between each two ranks of a host.
TEST(Pat, RailsHaveOneMessagePerStep) {
  const int size = 4;
  for (const int hosts : {2, 3, 5, 8, 13}) {
    for (const Collective kind : kPatKinds) {
      std::vector<int> across(static_cast<size_t>(hosts * size)), inside = across;
      for (const ir::Move& move : pat_plan(kind, hosts * size, equal_hosts(hosts, size)).moves) {
        if (move.src == move.dst) continue;
        const bool crosses = move.src / size != move.dst / size;
        if (crosses) {
          EXPECT_EQ(move.src % size, move.dst % size);
        }
        ++(crosses ? across : inside)[static_cast<size_t>(move.src)];
      }
      for (const int messages : across) EXPECT_EQ(messages, log2_up(hosts)) << hosts;
      for (const int messages : inside) EXPECT_EQ(messages, (size - 1) * 2) << hosts;
    }
  }
}

/// In slots of messages, however many hosts there are.
TEST(Pat, ScratchGrowsWithTheLogarithm) {
  for (const int hosts : {8, 16, 64, 128, 256, 300, 1000}) {
    for (const Collective kind : kPatKinds) {
      const ir::Plan plan = pat_plan(kind, hosts, {});
      uint32_t message = 1;
      for (const ir::Move& move : plan.moves) message = std::max(message, move.chunks);
      const int doublings = log2_up(std::max(1, (hosts + kPatAggregate - 1) / kPatAggregate));
      EXPECT_LE(plan.scratch_chunks, static_cast<uint32_t>(std::max(2, 1 + doublings)) * message) << hosts;
      EXPECT_LE(message, static_cast<uint32_t>(kPatAggregate));
    }
  }
}

TEST(Pat, WorksWithAndWithoutGroups) {
  const auto flat = emit("pat", {Collective::all_gather, 6, 0, 1});
  const auto nested = emit("pat", {Collective::all_gather, 6, 0, 1}, {.levels = {{0, 3}}});
  ASSERT_TRUE(flat.ok() && nested.ok());
  EXPECT_EQ(*flat, pat_plan(Collective::all_gather, 6, {}));
  EXPECT_EQ(*nested, pat_plan(Collective::all_gather, 6, {0, 3}));
  EXPECT_NE(*flat, *nested);
  EXPECT_EQ(emit("pat", {Collective::all_gather, 6, 0, 1}, {.levels = {{0, 6}}}).status().message(),
            "pat all_gather: groups 0,6 of 6 ranks: expected ascending first positions that begin with 0");
}

}  // namespace
}  // namespace weir::algorithms
