// SPDX-License-Identifier: Apache-2.0
// How processes join, and what they are told when they cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mpi/job.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// The sentence of MPI_Init in a process with these variables; all later calls have to give it too.
void expect_refused(const std::vector<std::pair<std::string, std::string>>& variables,
                    const std::string& words) {
  const std::vector<Ending> endings = run_ranks(1, [&](const Rank&) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const int code = MPIABI_Init(nullptr, nullptr);
    EXPECT_THAT(error_string(code), HasSubstr(words));
    float one = 1;
    EXPECT_EQ(MPIABI_Allreduce(&one, &one, 1, MPIABI_FLOAT, MPIABI_SUM, MPIABI_COMM_WORLD), code);
    EXPECT_THAT(error_string(code), HasSubstr(words));
  });
  EXPECT_TRUE(all_well(endings));
  EXPECT_THAT(endings[0].output, AllOf(HasSubstr("weir: "), HasSubstr(words)));  // jaxlib ignores the code
}

TEST(Join, WithoutALauncherAProcessIsAlone) {
  EXPECT_TRUE(all_well(run_ranks(1, [](const Rank&) {
    expect_done(MPIABI_Init(nullptr, nullptr), "MPI_Init");
    int rank = -1, size = -1;
    MPIABI_Comm_rank(MPIABI_COMM_WORLD, &rank);
    MPIABI_Comm_size(MPIABI_COMM_WORLD, &size);
    EXPECT_EQ(rank, 0);
    EXPECT_EQ(size, 1);
    expect_done(MPIABI_Barrier(MPIABI_COMM_WORLD), "MPI_Barrier");
    expect_done(MPIABI_Finalize(), "MPI_Finalize");
  })));
}

TEST(Join, ATextThatIsNoJobIsRefused) {
  const std::string id(256, '0');
  const std::vector<std::string> wrong = {
      "", "0 1", "0 1 12", "2 2 " + id, "-1 2 " + id, "0 1 g" + id, "0 1 " + id + " more"};
  for (const std::string& text : wrong)
    expect_refused({{"WEIR_MPI_JOB", text}},
                   "WEIR_MPI_JOB is not as weir_jax sets it; expected \"RANK SIZE ID\"");
}

TEST(Join, ARankThatDoesNotKnowWhereToMeetIsToldHow) {
  expect_refused({{"RANK", "1"}, {"WORLD_SIZE", "2"}},
                 "rank 1 of 2 does not know where the ranks meet; import weir_jax before jax");
}

TEST(Join, LaunchersThatContradictEachOtherAreListed) {
  expect_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}},
                 "the launchers' variables contradict each other");
}

TEST(Join, AMissingRankIsNamed) {
  EXPECT_TRUE(all_well(run_ranks(3, [](const Rank& rank) {
    setenv("WEIR_INIT_TIMEOUT", "5", 1);
    setenv("WEIR_MPI_JOB", job_of(rank).c_str(), 1);
    if (rank.rank() == 2) {
      rank.wait_until_reached(0, 1);
      rank.wait_until_reached(1, 1);
      return;
    }
    const int code = MPIABI_Init(nullptr, nullptr);
    EXPECT_NE(code, MPIABI_SUCCESS);
    EXPECT_THAT(error_string(code), ContainsRegex("of 3 ranks have not joined within 5 s .*: rank.* 2"));
    EXPECT_EQ(MPIABI_Barrier(MPIABI_COMM_WORLD), code);
    rank.reach(1);
  })));
}

}  // namespace
}  // namespace weir::testing
