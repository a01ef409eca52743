// SPDX-License-Identifier: Apache-2.0
// What a repeated call must not do: allocate, enter the kernel, or leave something behind.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <thread>
#include <vector>

#include "tests/library/processes.h"

extern "C" void* __libc_malloc(size_t size);

namespace {
// Of the thread that calls: the listener's serves whoever asks this host for reports meanwhile.
thread_local bool counting = false;
thread_local long allocations = 0;
}  // namespace

/// Takes the place of malloc in the whole process, the library included (its operator new comes here).
extern "C" void* malloc(size_t size) {
  if (counting) ++allocations;
  return __libc_malloc(size);
}

namespace weir::testing {
namespace {

constexpr int kRepeats = 20'000;
/// A rank that waits longer asks the other one what it does, which takes memory: on a busy machine some calls
/// do.
constexpr std::chrono::milliseconds kLooksAfter{20};

void sum(ncclComm_t comm, std::vector<float>& in, std::vector<float>& out) {
  ncclAllReduce(in.data(), out.data(), in.size(), ncclFloat, ncclSum, comm, nullptr);
}

/// While nobody sleeps: spinning for ever takes the place of a core for each rank.
void keep_awake() { setenv("WEIR_SPIN", "1000000000", 1); }

TEST(Quiet, ARepeatedSmallAllReduceAllocatesNothing) {
  const auto endings = run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    for (const size_t count : {2, 100, 2000}) {
      std::vector<float> in(count, 1), out(count);
      for (int i = 0; i < 10; ++i) sum(comm, in, out);
      int quick = 0;
      for (int i = 0; i < 1000; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        allocations = 0;
        counting = true;
        sum(comm, in, out);
        counting = false;
        if (std::chrono::steady_clock::now() - begun >= kLooksAfter) continue;
        ++quick;
        EXPECT_EQ(allocations, 0) << count;
      }
      EXPECT_GT(quick, 0) << count;
    }
    allocations = 0;
    counting = true;
    void* volatile something = malloc(8);  // the count is alive
    counting = false;
    free(something);
    EXPECT_EQ(allocations, 1);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
  EXPECT_TRUE(all_well(endings));
}

/// From now on the kernel ends this process if the calling thread makes any other system call than read,
/// write, exit, and asking for the time, which takes one where the kernel has no quicker way. Not the strict
/// mode of seccomp, which takes the processor's clock away, too. False: the kernel has no such filters.
bool forbid_system_calls() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Quiet, ARepeatedSmallAllReduceMakesNoSystemCall) {
  const auto endings = run_ranks(2, [](const Rank& rank) {
    keep_awake();
    ncclComm_t comm = rank.connect();
    std::vector<float> in(2, 1), out(2);
    for (int i = 0; i < 100; ++i) sum(comm, in, out);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::thread([end = ends[0]] {  // the other thread cannot end the process, but it can write
      char verdict = 0;
      _exit(read(end, &verdict, 1) == 1 && verdict == 'y' ? 0 : 1);
    })
        .detach();
    if (!forbid_system_calls()) _exit(0);
    for (int i = 0; i < kRepeats; ++i) sum(comm, in, out);
    const char verdict = out[0] == 2 ? 'y' : 'n';
    if (write(ends[1], &verdict, 1) == 1) syscall(SYS_exit, 0);
  });
  EXPECT_TRUE(all_well(endings));
}

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

int threads() {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(Quiet, AThousandCommunicatorsLeaveNothingBehind) {
  constexpr int kCycles = 1000;
  const auto endings = run_ranks(
      1,
      [](const Rank&) {
        const auto cycle = [] {
          ncclComm_t comms[2];
          expect_success(ncclCommInitAll(comms, 2, nullptr), "ncclCommInitAll");
          float data[2] = {1, 2};
          expect_success(ncclGroupStart(), "ncclGroupStart");
          for (int i = 0; i < 2; ++i) {
            expect_success(ncclAllReduce(&data[i], &data[i], 1, ncclFloat, ncclSum, comms[i], nullptr),
                           "ncclAllReduce");
          }
          expect_success(ncclGroupEnd(), "ncclGroupEnd");
          EXPECT_EQ(data[0], 3);
          for (ncclComm_t comm : comms) expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
        };
        for (int i = 0; i < 20; ++i) cycle();
        const int descriptors = open_descriptors();
        const int maps = mappings();
        const int tasks = threads();
        for (int i = 0; i < kCycles && !::testing::Test::HasFailure(); ++i) cycle();
        EXPECT_LE(open_descriptors(), descriptors + 4);
        EXPECT_LE(mappings(), maps + 16);
        EXPECT_LE(threads(), tasks + 2);
      },
      110);
  EXPECT_TRUE(all_well(endings));
}

}  // namespace
}  // namespace weir::testing
