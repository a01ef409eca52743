// SPDX-License-Identifier: Apache-2.0
// Every collective, type and operation, in place and not, by sets of ranks in threads and processes.
#include <barrier>
#include <memory>
#include <utility>
#include <vector>

#include "tests/conform/collectives.h"
#include "tests/conform/team.h"

namespace weir::conform {
namespace {

constexpr size_t kSmall = 37;       // a part of a message, of no round size
constexpr size_t kLarge = 300'001;  // of floats: several messages
constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

void play(const Player& player, const Case& one, cudaStream_t stream) {
  player.fill(one, stream);
  EXPECT_EQ(failure(player.call(one, stream)), "") << name_of(one.kind);
  EXPECT_EQ(player.check(one, stream), "");
}

class Collectives : public ::testing::TestWithParam<Team> {};

TEST_P(Collectives, OfEveryTypeAndOperation) {
  with_comms(GetParam(), [](ncclComm_t comm, int rank) {
    const Stream stream;
    const Player player(comm, rank, GetParam().ranks, kSmall, sizeof(double));
    for (const Kind kind : kKinds) {
      for (const Type& type : kTypes) {
        for (const bool in_place : {false, true}) {
          for (const ncclRedOp_t op : kOperations) {
            play(player, {kind, type, op, in_place, kSmall, static_cast<int>(op)}, stream);
            if (!reduces(kind)) break;
          }
        }
      }
    }
  });
}

TEST_P(Collectives, OfSeveralMessagesAndOfNothing) {
  with_comms(GetParam(), [](ncclComm_t comm, int rank) {
    const Stream stream;
    const Player player(comm, rank, GetParam().ranks, kLarge, sizeof(float));
    for (const Kind kind : kKinds) {
      play(player, {kind, kFloat32, ncclSum, true, kLarge, 1}, stream);
      play(player, {kind, kFloat32, ncclSum, false, 0, 2}, stream);
    }
  });
}

std::string team_name(const ::testing::TestParamInfo<Team>& info) { return name_of(info.param); }

#if defined(__SANITIZE_THREAD__)
const auto kThreads = ::testing::Values(Team{1}, Team{2});
#else
const auto kThreads = ::testing::Values(Team{1}, Team{2}, Team{3}, Team{4});
#endif
INSTANTIATE_TEST_SUITE_P(Threads, Collectives, kThreads, team_name);
INSTANTIATE_TEST_SUITE_P(Processes, Collectives,
                         ::testing::Values(Team{2, Way::processes}, Team{3, Way::processes}), team_name);
INSTANTIATE_TEST_SUITE_P(Mixed, Collectives, ::testing::ValuesIn(mixed_teams()), team_name);

TEST(ManyRanks, EightShareTheGpus) {
  with_comms({8}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    const Player player(comm, rank, 8, kSmall, sizeof(float));
    for (const Kind kind : kKinds) {
      Case one{kind, kFloat32, ncclSum, false, kSmall, 0};
      play(player, one, stream);
    }
  });
}

#if defined(WEIR_CONFORM_CUDA) || defined(WEIR_CONFORM_HIP)
TEST(Graphs, ReplayEveryCollectiveOnNewInput) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    const Player player(comm, rank, 2, kSmall, sizeof(float));
    std::vector<std::pair<Case, std::unique_ptr<Graph>>> graphs;
    for (const Kind kind : kKinds) {
      const Case one{kind, kFloat32, ncclSum, false, kSmall, 0};
      Graph::begin(stream);
      EXPECT_EQ(failure(player.call(one, stream)), "") << name_of(kind);
      graphs.emplace_back(one, std::make_unique<Graph>(stream));
    }
    // A GPU may make and free graphs only when it runs nothing, and a kernel of this rank may wait for the
    // other rank. After a call of both, the other rank has made its graphs too.
    play(player, {Kind::all_reduce, kFloat32, ncclSum, false, kSmall, 0}, stream);
    for (auto& [one, graph] : graphs) {
      for (one.round = 1; one.round < 4; ++one.round) {
        player.fill(one, stream);
        graph->launch(stream);
        EXPECT_EQ(player.check(one, stream), "");
      }
    }
  });
}

/// They end, on any rank and without the others, when all have destroyed their communicators.
TEST(Graphs, MayOutliveTheirCommunicators) {
  std::barrier destroyed(2);
  on_ranks({2}, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(failure(ncclCommInitRank(&comm, 2, id, rank)), "");
    const Stream stream;
    const Player small(comm, rank, 2, kSmall, sizeof(float)), large(comm, rank, 2, kLarge, sizeof(float));
    const Case few{Kind::all_reduce, kFloat32, ncclSum, false, kSmall, 1};
    const Case many{Kind::all_reduce, kFloat32, ncclSum, false, kLarge, 1};
    Graph::begin(stream);
    EXPECT_EQ(failure(small.call(few, stream)), "");
    EXPECT_EQ(failure(large.call(many, stream)), "");
    const Graph graph(stream);
    small.fill(few, stream);
    large.fill(many, stream);
    graph.launch(stream);
    EXPECT_EQ(small.check(few, stream), "");
    EXPECT_EQ(large.check(many, stream), "");
    EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
    destroyed.arrive_and_wait();
    if (rank == 0) graph.launch(stream);
    stream.wait();
  });
}
#endif

}  // namespace
}  // namespace weir::conform
