// SPDX-License-Identifier: Apache-2.0

#include "tests/library/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace weir::testing {
namespace {

constexpr int kMostRanks = 512;

/// Lies in memory that all processes of a test share.
struct Shared {
  std::atomic<int> id_ready;
  ncclUniqueId id;
  std::atomic<int> points[kMostRanks];
  std::atomic<pid_t> pids[kMostRanks];
};

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

/// The child's side: runs the body and ends the process.
[[noreturn]] void live(const Rank& rank, const std::function<void(const Rank&)>& body, int output) {
  dup2(output, STDERR_FILENO);
  dup2(output, STDOUT_FILENO);
  body(rank);
  fflush(nullptr);
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

std::string drain(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

}  // namespace

ncclUniqueId Rank::id() const {
  auto* shared = static_cast<Shared*>(shared_);
  if (rank_ == 0 && shared->id_ready.load() == 0) {
    expect_success(ncclGetUniqueId(&shared->id), "ncclGetUniqueId");
    shared->id_ready = 1;
  }
  while (shared->id_ready.load() == 0) nap();
  return shared->id;
}

ncclComm_t Rank::connect(ncclConfig_t* config) const {
  ncclComm_t comm = nullptr;
  const ncclResult_t result = ncclCommInitRankConfig(&comm, ranks_, id(), rank_, config);
  if (result != ncclSuccess) {
    fprintf(stderr, "ncclCommInitRankConfig: %d %s\n", result, ncclGetLastError(nullptr));
    fflush(nullptr);
    _exit(2);
  }
  return comm;
}

void Rank::reach(int point) const { static_cast<Shared*>(shared_)->points[rank_] = point; }

void Rank::wait_until_reached(int rank, int point) const {
  while (static_cast<Shared*>(shared_)->points[rank].load() < point) nap();
}

pid_t Rank::pid_of(int rank) const { return static_cast<Shared*>(shared_)->pids[rank]; }

std::vector<Ending> run_ranks(int ranks, const std::function<void(const Rank&)>& body, double limit_s) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared{};
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<int> outputs;
  fflush(nullptr);
  for (int rank = 0; rank < ranks; ++rank) {
    const int output = memfd_create("output", MFD_CLOEXEC);
    const pid_t pid = fork();
    if (pid == 0) live(Rank(rank, ranks, shared), body, output);
    shared->pids[rank] = pid;
    outputs.push_back(output);
  }
  std::vector<Ending> endings(static_cast<size_t>(ranks));
  std::vector<bool> ended(endings.size());
  for (int left = ranks; left > 0;) {
    int stopped = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<size_t>(rank);
      if (ended[r]) continue;
      int status = 0;
      if (waitpid(shared->pids[rank], &status, WNOHANG) == 0) {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(shared->pids[rank]), &info, WSTOPPED | WNOHANG | WNOWAIT);
        stopped += info.si_pid != 0;
        continue;
      }
      endings[r].code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      endings[r].seconds = seconds();
      ended[r] = true;
      --left;
    }
    if (seconds() > limit_s || (left > 0 && stopped == left)) {
      for (int rank = 0; rank < ranks; ++rank) {
        if (!ended[static_cast<size_t>(rank)]) kill(shared->pids[rank], SIGKILL);
      }
    }
    if (left > 0) nap();
  }
  for (size_t r = 0; r < endings.size(); ++r) {
    lseek(outputs[r], 0, SEEK_SET);
    endings[r].output = drain(outputs[r]);
    close(outputs[r]);
  }
  munmap(memory, sizeof(Shared));
  return endings;
}

bool all_well(const std::vector<Ending>& endings) {
  bool well = true;
  for (size_t rank = 0; rank < endings.size(); ++rank) {
    if (endings[rank].code == 0) continue;
    well = false;
    ADD_FAILURE() << "rank " << rank << " ended with " << endings[rank].code << "\n" << endings[rank].output;
  }
  return well;
}

void expect_success(ncclResult_t result, const char* what) {
  EXPECT_EQ(result, ncclSuccess) << what << ": " << ncclGetLastError(nullptr);
}

}  // namespace weir::testing
