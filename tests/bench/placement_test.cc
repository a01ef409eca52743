// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/perf/split.h"

namespace weir::perf {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Lookup lookup(const Variables& variables) {
  return [variables](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Placement place(const Variables& variables, int parent = 1) {
  Placement placement;
  Outcome found = find_placement(lookup(variables), parent, &placement);
  EXPECT_TRUE(found.ok()) << found.message();
  return placement;
}

std::string refusal(const Variables& variables) {
  Placement placement;
  return find_placement(lookup(variables), 1, &placement).message();
}

TEST(Placement, IsAloneWithoutALauncher) {
  Placement placement = place({{"OMPI_COMM_WORLD_RANK", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(placement.size, 1);
  EXPECT_EQ(placement.rank, 0);
}

TEST(Placement, UnderstandsLaunchers) {
  const Variables cases[] = {
      {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "3"}},
      {{"OMPI_COMM_WORLD_RANK", "2"},
       {"OMPI_COMM_WORLD_SIZE", "3"},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}},
      {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}},
      {{"SLURM_PROCID", "2"},
       {"SLURM_STEP_NUM_TASKS", "3"},
       {"SLURM_LOCALID", "2"},
       {"SLURM_NTASKS_PER_NODE", "3"}},
  };
  for (const Variables& variables : cases) {
    Placement placement = place(variables);
    EXPECT_EQ(placement.rank, 2);
    EXPECT_EQ(placement.size, 3);
    EXPECT_EQ(placement.local_rank, 2);
    EXPECT_EQ(placement.local_size, 3);
    EXPECT_TRUE(placement.one_host);
    EXPECT_FALSE(placement.name.empty());
  }
}

TEST(Placement, AStepOfSlurmOnOneNodeIsOneHost) {
  Variables variables = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_LOCALID", "1"}};
  EXPECT_THAT(refusal(variables), HasSubstr("set MASTER_ADDR"));
  variables["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_TRUE(place(variables).one_host);
  EXPECT_EQ(place(variables).local_size, 3);
}

TEST(Placement, ProcessesOfAJobMeetAndOthersDoNot) {
  Variables variables = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}};
  const std::string by_parent = place(variables, 100).name;
  EXPECT_EQ(place(variables, 100).name, by_parent);
  EXPECT_NE(place(variables, 101).name, by_parent);
  variables["MASTER_PORT"] = "1";
  const std::string by_port = place(variables, 100).name;
  EXPECT_EQ(place(variables, 101).name, by_port);
  variables["MASTER_PORT"] = "2";
  EXPECT_NE(place(variables, 100).name, by_port);
}

TEST(Placement, SeveralHostsMeetAtAnAddress) {
  Variables variables = {{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "n1"}};
  Placement placement = place(variables);
  EXPECT_FALSE(placement.one_host);
  EXPECT_EQ(placement.host, "n1");
  EXPECT_EQ(placement.port, "29500");
  variables["TORCHELASTIC_RUN_ID"] = "x";
  variables["MASTER_PORT"] = "700";
  EXPECT_EQ(place(variables).port, "701") << "torchrun itself listens at 700";
  variables.erase("MASTER_ADDR");
  variables["NCCL_COMM_ID"] = "[fe80::1]:500";
  placement = place(variables);
  EXPECT_EQ(placement.host, "fe80::1");
  EXPECT_EQ(placement.port, "501");
}

TEST(Placement, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
              HasSubstr("RANK is 4; expected 0 to 3, because WORLD_SIZE is 4"));
  EXPECT_THAT(refusal({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}),
              HasSubstr("set MASTER_ADDR"));
  EXPECT_THAT(refusal({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"NCCL_COMM_ID", "nonsense"}}),
              HasSubstr("expected host:port"));
}

/// A process of mpirun in a shell that has the variables of another launcher.
Variables second_of_two(const char* rank, const char* size) {
  return {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"RANK", rank},
          {"WORLD_SIZE", size}};
}

TEST(Placement, LaunchersThatContradictEachOtherAreListed) {
  EXPECT_EQ(
      refusal(second_of_two("0", "1")),
      "the launchers' variables contradict each other: RANK=0, WORLD_SIZE=1; OMPI_COMM_WORLD_RANK=1, "
      "OMPI_COMM_WORLD_SIZE=2; expected those of one launcher: unset the ones that an earlier launcher or a "
      "script has left");
  EXPECT_EQ(place(second_of_two("1", "2")).rank, 1) << "a script has copied them";
  EXPECT_THAT(
      refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
      HasSubstr("RANK=0, WORLD_SIZE=1; SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4;"));
  EXPECT_THAT(refusal({{"PMI_RANK", "1"},
                       {"PMI_SIZE", "2"},
                       {"OMPI_COMM_WORLD_RANK", "0"},
                       {"OMPI_COMM_WORLD_SIZE", "3"}}),
              HasSubstr("OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=3; PMI_RANK=1, PMI_SIZE=2;"));
}

TEST(Placement, ALauncherMayStartAnother) {
  Variables four_on_each_of_two = {
      {"RANK", "5"},         {"WORLD_SIZE", "8"},   {"LOCAL_RANK", "1"},          {"LOCAL_WORLD_SIZE", "4"},
      {"MASTER_ADDR", "n1"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(place(four_on_each_of_two).rank, 5);
  four_on_each_of_two["SLURM_PROCID"] = "0";
  EXPECT_THAT(refusal(four_on_each_of_two), HasSubstr("contradict"));
  four_on_each_of_two["TORCHELASTIC_RUN_ID"] = "x";
  EXPECT_EQ(place(four_on_each_of_two).rank, 5) << "torchrun numbers hosts as they come";
  EXPECT_EQ(place({{"OMPI_COMM_WORLD_RANK", "3"},
                   {"OMPI_COMM_WORLD_SIZE", "4"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                   {"SLURM_PROCID", "0"},
                   {"SLURM_STEP_NUM_TASKS", "1"}})
                .rank,
            3)
      << "mpirun in an interactive step";
}

GroupPlace split(const char* variable, const char* text, int process, int processes) {
  std::function<int(int)> group_of;
  Outcome found = find_split(lookup({{variable, text}}), &group_of);
  EXPECT_TRUE(found.ok()) << found.message();
  return place_in_group(group_of, process, processes);
}

TEST(Split, DividesProcesses) {
  GroupPlace place = split("NCCL_TESTS_SPLIT", "MOD 2", 3, 5);
  EXPECT_EQ(place.group, 1);
  EXPECT_EQ(place.first, 1);
  EXPECT_EQ(place.index, 1);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(split("NCCL_TESTS_SPLIT", "/0x2", 3, 6).group, 1);
  EXPECT_EQ(split("NCCL_TESTS_SPLIT", "& 0b10", 3, 6).group, 2);
  EXPECT_EQ(split("NCCL_TESTS_SPLIT", "OR 1", 2, 6).group, 3);
  EXPECT_EQ(split("NCCL_TESTS_SPLIT_MASK", "10", 17, 18).group, 16);
  EXPECT_EQ(split("UNRELATED", "x", 3, 6).size, 6);
}

TEST(Split, RefusesWhatItCannotRead) {
  std::function<int(int)> group_of;
  for (const char* text : {"", "MOD", "MOD 0", "XOR 2", "MOD two", "2"}) {
    Outcome found = find_split(lookup({{"NCCL_TESTS_SPLIT", text}}), &group_of);
    EXPECT_EQ(found.code(), ExitCode::usage) << text;
    EXPECT_THAT(found.message(), HasSubstr("expected AND, OR, MOD or DIV"));
  }
}

}  // namespace
}  // namespace weir::perf
