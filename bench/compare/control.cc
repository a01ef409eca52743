// SPDX-License-Identifier: Apache-2.0

#include "bench/compare/control.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace compare {

struct alignas(128) ControlSlot {
  std::atomic<uint64_t> arrivals;
  double value[2];  // indexed by the parity of the arrival, so that a fast rank does not overwrite a value
                    // that a slow one reads
  char note[Control::kNoteBytes];
};

namespace {

constexpr int kSpinLimit = 100'000;  // polls after which another process probably occupies the peer's core

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "compare: cannot %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

cpu_set_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) CPU_SET(0, &set);
  return set;
}

}  // namespace

int usable_cores() {
  static const int cores = [] {
    const cpu_set_t set = allowed_cores();
    return CPU_COUNT(&set);
  }();
  return cores;
}

Control::Control(ControlSlot* slots, int ranks)
    : slots_(slots), ranks_(ranks), crowded_(ranks > usable_cores()) {}

Control Control::shared_by_fork(int ranks) {
  void* memory = mmap(nullptr, sizeof(ControlSlot) * static_cast<size_t>(ranks), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("map shared memory");
  return Control(static_cast<ControlSlot*>(memory), ranks);
}

Control Control::shared_by_file(const std::string& path, int rank, int ranks) {
  const size_t bytes = sizeof(ControlSlot) * static_cast<size_t>(ranks);
  const int file = open(path.c_str(), O_RDWR);
  // Every rank sets the same file size, so repeating it changes nothing.
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) fail("open the file given with --control");
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("map the file given with --control");
  close(file);
  Control control(static_cast<ControlSlot*>(memory), ranks);
  control.adopt(rank);
  return control;
}

void Control::barrier() {
  ++arrivals_;
  slots_[rank_].arrivals.store(arrivals_, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    for (int looks = 0; slots_[peer].arrivals.load(std::memory_order_acquire) < arrivals_; ++looks) {
      if (crowded_ || looks > kSpinLimit) sched_yield();
    }
  }
}

double Control::most(double value) {
  const uint64_t parity = (arrivals_ + 1) % 2;
  slots_[rank_].value[parity] = value;
  barrier();
  for (int peer = 0; peer < ranks_; ++peer) value = std::max(value, slots_[peer].value[parity]);
  return value;
}

void Control::share(void* data, size_t bytes) {
  if (rank_ == 0) std::memcpy(slots_[0].note, data, bytes);
  barrier();
  std::memcpy(data, slots_[0].note, bytes);
  barrier();
}

void pin(int rank) {
  int skip = rank % usable_cores();
  const cpu_set_t allowed = allowed_cores();
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || skip-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

int fork_ranks(int ranks, bool pinned) {
  const pid_t parent = getpid();
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) fail("start a rank");
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    if (pinned) pin(rank);
    return rank;
  }
  if (pinned) pin(0);
  return 0;
}

int wait_for_ranks() {
  int worst = 0;
  int status = 0;
  while (wait(&status) > 0) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (worst == 0) worst = code;
  }
  return worst;
}

}  // namespace compare
