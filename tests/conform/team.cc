// SPDX-License-Identifier: Apache-2.0

#include "tests/conform/team.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/conform/machine.h"

namespace weir::conform {
namespace {

constexpr const char* kRank = "WEIR_CONFORM_RANK";
constexpr const char* kId = "WEIR_CONFORM_ID";

std::string hex(const ncclUniqueId& id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}
ncclUniqueId from_hex(const std::string& text) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof(id.internal); ++i)
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

void as_rank(int rank, const ncclUniqueId& id, const std::function<void(int, const ncclUniqueId&)>& act) {
  if (kOnGpus) choose_gpu(rank % gpus());
  act(rank, id);
}

/// WEIR_CONFORM_HOSTS: each rank is a process, on a host of its own.
bool has_hosts() { return getenv("WEIR_CONFORM_HOSTS") != nullptr; }

/// The program of a rank: this one again, or the one without GPUs, which is beside it.
std::string program_of(Way way, int rank) {
  const auto own = std::filesystem::read_symlink("/proc/self/exe");
  return kOnGpus && way == Way::mixed && rank % 2 == 1 ? own.parent_path() / "conform_host" : own;
}

/// With this test alone.
pid_t start_rank(Way way, int rank, const ncclUniqueId& id) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  const std::string own_rank = std::string(kRank) + "=" + std::to_string(rank);
  const std::string own_id = std::string(kId) + "=" + hex(id);
  std::vector<char*> environment = {const_cast<char*>(own_rank.c_str()), const_cast<char*>(own_id.c_str())};
  const std::string own_host = "NCCL_HOSTID=conform " + std::to_string(rank);
  if (has_hosts()) environment.push_back(const_cast<char*>(own_host.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry)  // a report is the parent's to write
    if (strncmp(*entry, "GTEST_", 6) != 0) environment.push_back(*entry);
  environment.push_back(nullptr);
  std::string program = program_of(way, rank);
  char quiet[] = "--gtest_brief=1";
  char* const arguments[] = {program.data(), const_cast<char*>(filter.c_str()), quiet, nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  return pid;
}

}  // namespace

std::string name_of(const Team& team) {
  constexpr const char* kWays[] = {"threads_", "processes_", "mixed_"};
  return kWays[static_cast<size_t>(team.way)] + std::to_string(team.ranks);
}

std::vector<Team> mixed_teams() {
  if (!kOnGpus && getenv(kRank) == nullptr) return {};
  return {{3, Way::mixed}};
}

void on_ranks(const Team& team, const std::function<void(int, const ncclUniqueId&)>& act) {
  if (const char* rank = getenv(kRank); rank != nullptr)
    return as_rank(std::atoi(rank), from_hex(getenv(kId)), act);
  ncclUniqueId id;
  ASSERT_EQ(failure(ncclGetUniqueId(&id)), "");
  if (team.way != Way::threads || has_hosts()) {
    std::vector<pid_t> children;
    for (int rank = 0; rank < team.ranks; ++rank) children.push_back(start_rank(team.way, rank, id));
    for (int rank = 0; rank < team.ranks; ++rank) {
      int status = -1;
      waitpid(children[static_cast<size_t>(rank)], &status, 0);
      EXPECT_EQ(status, 0) << "rank " << rank << " did not end well";
    }
    return;
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < team.ranks; ++rank) threads.emplace_back([&, rank] { as_rank(rank, id, act); });
  for (std::thread& thread : threads) thread.join();
}

void with_comms(const Team& team, const std::function<void(ncclComm_t, int)>& act) {
  on_ranks(team, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(failure(ncclCommInitRank(&comm, team.ranks, id, rank)), "");
    act(comm, rank);
    EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
  });
}

}  // namespace weir::conform
