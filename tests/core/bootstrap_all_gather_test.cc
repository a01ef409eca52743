// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/bootstrap_all_gather.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "src/core/planning/common.h"
#include "tests/core/rank.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;
using testing::Site;
using testing::to_bytes;
using testing::to_text;

/// Joins `ranks` threads, rank r at the site r modulo their number, and hands each its bootstrap.
void with_ranks(std::vector<std::unique_ptr<Site>>& sites, int ranks,
                const std::function<void(std::unique_ptr<Bootstrap>)>& body) {
  const auto id = sites[0]->roots.make_id(SocketAddress::loopback(AF_INET, 0), {});
  ASSERT_TRUE(id.ok()) << id.status().message();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Site& site = *sites[static_cast<size_t>(rank) % sites.size()];
      auto joined = Bootstrap::join(site.spec(*id, ranks, rank));
      ASSERT_TRUE(joined.ok()) << joined.status().message();
      body(std::move(*joined));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::unique_ptr<Site>> make_sites(int count, const Timeouts& timeouts = {}) {
  std::vector<std::unique_ptr<Site>> sites;
  for (int i = 0; i < count; ++i) sites.push_back(std::make_unique<Site>(timeouts));
  return sites;
}

TEST(BootstrapAllGather, RanksOfAProcessGetTheSameObject) {
  for (const int processes : {1, 2, 3}) {
    constexpr int kRanks = 7;
    auto sites = make_sites(processes);
    std::vector<std::vector<std::shared_ptr<GatherResult>>> got(kRanks);
    with_ranks(sites, kRanks, [&](std::unique_ptr<Bootstrap> bootstrap) {
      const Rank self = bootstrap->rank();
      for (int turn = 0; turn < 3; ++turn) {
        auto all = bootstrap->gather(to_bytes(fmt::format("{} in turn {}", self, turn)));
        ASSERT_TRUE(all.ok()) << all.status().message();
        got[static_cast<size_t>(self)].push_back(*all);
      }
    });
    for (size_t rank = 0; rank < kRanks; ++rank) {
      for (size_t turn = 0; turn < 3; ++turn) {
        const GatherResult& all = *got[rank].at(turn);
        for (size_t other = 0; other < kRanks; ++other) {
          EXPECT_EQ(to_text(all.by_rank().at(other)), fmt::format("{} in turn {}", other, turn));
          const bool together =
              rank % static_cast<size_t>(processes) == other % static_cast<size_t>(processes);
          EXPECT_EQ(got[rank][turn] == got[other][turn], together) << rank << " and " << other;
        }
      }
    }
  }
}

TEST(BootstrapAllGather, WhoLeavesInsteadIsNamed) {
  auto sites = make_sites(1);
  with_ranks(sites, 3, [&](std::unique_ptr<Bootstrap> bootstrap) {
    if (bootstrap->rank() == 2) return;
    EXPECT_THAT(bootstrap->gather({}).status().message(), HasSubstr("rank 2"));
  });
}

TEST(BootstrapAllGather, WhatFollowsIsMadeOnce) {
  GatherResult all({to_bytes("a"), to_bytes("b")});
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<int>> got(8);
  for (auto& own : got) {
    threads.emplace_back([&] {
      own = *all.derive<int>([&]() -> Result<std::shared_ptr<int>> {
        ++made;
        return std::make_shared<int>(42);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  for (const auto& own : got) EXPECT_EQ(own, got[0]);
}

TEST(BootstrapAllGather, WhatCannotFollowIsTheSameErrorForAll) {
  GatherResult all({});
  int tried = 0;
  for (int i = 0; i < 2; ++i) {
    const auto derived = all.derive<int>([&]() -> Result<std::shared_ptr<int>> {
      ++tried;
      return Status(Code::remote_error, "rank 1 is odd");
    });
    EXPECT_EQ(derived.status().message(), "rank 1 is odd");
  }
  EXPECT_EQ(tried, 1);
}

ProvenPlans::Key key(uint32_t chunks) { return {"ring", {Collective::all_reduce, 2, 0, chunks}}; }

TEST(ProvenPlans, AreMadeOnceForAll) {
  ProvenPlans plans(3);
  int made = 0;
  const auto take = [&](uint32_t chunks) {
    return *plans.of(key(chunks), [&]() -> Result<ir::Plan> {
      ++made;
      return ir::Plan{"ring", {Collective::all_reduce, 2, 0, chunks}, 0, {}};
    });
  };
  const auto first = take(2);
  EXPECT_EQ(take(2), first);
  EXPECT_NE(take(4), first);
  EXPECT_EQ(take(2), first);
  EXPECT_EQ(made, 2);
  take(2);  // all three have got it: this is a new one
  EXPECT_EQ(made, 3);
}

TEST(ProvenPlans, AreNotKeptWhenTheyAreWrong) {
  ProvenPlans plans(2);
  for (int i = 0; i < 2; ++i) {
    const auto wrong =
        plans.of(key(2), []() -> Result<ir::Plan> { return Status(Code::internal_error, "no"); });
    EXPECT_EQ(wrong.status().message(), "no");
  }
}

}  // namespace
}  // namespace weir::core
