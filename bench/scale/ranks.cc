// SPDX-License-Identifier: Apache-2.0

#include "bench/scale/ranks.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "nccl.h"

namespace weir::scale {
namespace {

constexpr size_t kStackBytes = size_t{1} << 20;

/// Begin and end of a phase of one rank.
struct Span {
  double begin = 0;
  double end = 0;
};

enum Stage { kInit, kFirst, kLater, kEnd, kStages };

struct RankTimes {
  Span spans[kStages];
};

/// Shared memory of all processes, followed by RankTimes for each rank, then ProcessCosts.
struct Board {
  pthread_barrier_t barrier;
  ncclUniqueId id;
};

struct ProcessCosts {
  Footprint before;
  Footprint idle;
  Footprint used;
  Span processor[kStages];  ///< seconds of processors that the process had used
};

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double now() { return seconds_of(CLOCK_MONOTONIC); }

/// First number of part `index`, if `total` numbers are divided into `parts` parts.
int first_of(int index, int total, int parts) { return static_cast<int>(int64_t{total} * index / parts); }

class Shared {
 public:
  explicit Shared(const Setting& setting) : setting_(setting) {
    const auto ranks = static_cast<size_t>(setting.ranks);
    bytes_ = sizeof(Board) + ranks * sizeof(RankTimes) +
             static_cast<size_t>(setting.processes) * sizeof(ProcessCosts);
    void* const raw = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc();
    board_ = new (raw) Board{};
    times_ = reinterpret_cast<RankTimes*>(board_ + 1);
    costs_ = reinterpret_cast<ProcessCosts*>(times_ + ranks);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board_->barrier, &attributes, static_cast<unsigned>(setting.ranks));
  }
  ~Shared() { munmap(board_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  const Setting& setting() const { return setting_; }
  ncclUniqueId& id() { return board_->id; }
  void meet() { pthread_barrier_wait(&board_->barrier); }
  RankTimes& times(int rank) { return times_[rank]; }
  ProcessCosts& costs(int process) { return costs_[process]; }

  double took(Stage stage) const {
    double begin = times_[0].spans[stage].begin, end = 0;
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      begin = std::min(begin, times_[rank].spans[stage].begin);
      end = std::max(end, times_[rank].spans[stage].end);
    }
    return end - begin;
  }
  double used(Stage stage) const {
    double sum = 0;
    for (int process = 0; process < setting_.processes; ++process)
      sum += costs_[process].processor[stage].end - costs_[process].processor[stage].begin;
    return sum;
  }
  Outcome outcome() const {
    Outcome out;
    out.times = {
        took(kInit), used(kInit), took(kFirst), used(kFirst), took(kLater) / std::max(setting_.calls, 1),
        took(kEnd)};
    for (int process = 0; process < setting_.processes; ++process) {
      const ProcessCosts& costs = costs_[process];
      out.idle += costs.idle - costs.before;
      out.used += costs.used - costs.before;
      out.peak += costs.used.peak;
    }
    return out;
  }

 private:
  const Setting setting_;
  size_t bytes_ = 0;
  Board* board_ = nullptr;
  RankTimes* times_ = nullptr;
  ProcessCosts* costs_ = nullptr;
};

/// One rank; the first rank of its process also measures the process while all others wait.
class RankThread {
 public:
  RankThread(Shared& shared, int process, int rank, bool measures)
      : shared_(shared), process_(process), rank_(rank), measures_(measures) {}

  void run() {
    ProcessCosts& costs = shared_.costs(process_);
    if (rank_ == 0) must(ncclGetUniqueId(&shared_.id()), "ncclGetUniqueId");
    measure(costs.before);
    ncclComm_t comm = nullptr;
    timed(kInit, [&] {
      must(ncclCommInitRank(&comm, shared_.setting().ranks, shared_.id(), rank_), "ncclCommInitRank");
    });
    measure(costs.idle);
    timed(kFirst, [&] { sum(comm); });
    timed(kLater, [&] {
      for (int call = 0; call < shared_.setting().calls; ++call) sum(comm);
    });
    measure(costs.used);
    timed(kEnd, [&] { must(ncclCommDestroy(comm), "ncclCommDestroy"); });
  }

 private:
  template <typename Work>
  void timed(Stage stage, Work work) {
    Span& span = shared_.times(rank_).spans[stage];
    Span& processor = shared_.costs(process_).processor[stage];
    if (measures_) processor.begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    span.begin = now();
    work();
    span.end = now();
    shared_.meet();
    if (measures_) processor.end = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  }
  void measure(Footprint& to) {
    shared_.meet();
    if (measures_) to = footprint();
    shared_.meet();
  }
  void sum(ncclComm_t comm) const {
    double value = rank_ + 1;
    must(ncclAllReduce(&value, &value, 1, ncclFloat64, ncclSum, comm, nullptr), "ncclAllReduce");
    const double ranks = shared_.setting().ranks;
    if (value != ranks * (ranks + 1) / 2) fail(fmt::format("ncclAllReduce returned the wrong sum {}", value));
  }
  void must(ncclResult_t result, const char* call) const {
    if (result != ncclSuccess) fail(fmt::format("{}: {}", call, ncclGetLastError(nullptr)));
  }
  [[noreturn]] void fail(const std::string& sentence) const {
    fmt::print(stderr, "rank {}: {}\n", rank_, sentence);
    _exit(1);
  }

  Shared& shared_;
  const int process_;
  const int rank_;
  const bool measures_;
};

void* run_rank(void* rank) {
  static_cast<RankThread*>(rank)->run();
  return nullptr;
}

/// Runs one process.
[[noreturn]] void run_process(Shared& shared, int process) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Setting& setting = shared.setting();
  if (setting.hosts > 1)
    setenv("NCCL_HOSTID", fmt::format("host{}", process * setting.hosts / setting.processes).c_str(), 1);
  const int first = first_of(process, setting.ranks, setting.processes);
  const int end = first_of(process + 1, setting.ranks, setting.processes);
  std::vector<RankThread> ranks;
  for (int rank = first; rank < end; ++rank) ranks.emplace_back(shared, process, rank, rank == first);
  std::vector<pthread_t> threads(ranks.size());
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (const int error = pthread_create(&threads[i], &attributes, run_rank, &ranks[i]); error != 0) {
      fmt::print(stderr, "cannot start thread {} of process {}: error {}\n", i, process, error);
      _exit(1);
    }
  }
  ranks[0].run();
  for (size_t i = 1; i < threads.size(); ++i) pthread_join(threads[i], nullptr);
  _exit(0);
}

/// Waits for all children; returns false if one failed, which ends the others.
bool wait_for(const std::vector<pid_t>& children, int limit_s) {
  const double deadline = now() + limit_s;
  size_t ended = 0;
  bool good = true;
  while (good && ended < children.size()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child > 0) {
      ++ended;
      good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      continue;
    }
    if (now() > deadline) {
      fmt::print(stderr, "stopped after {} s (--limit)\n", limit_s);
      good = false;
    }
    usleep(5000);
  }
  if (good) return true;
  for (const pid_t child : children) kill(child, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return false;
}

}  // namespace

std::optional<Outcome> run(const Setting& setting) {
  Shared shared(setting);
  std::vector<pid_t> children;
  for (int process = 0; process < setting.processes; ++process) {
    const pid_t child = fork();
    if (child == 0) run_process(shared, process);
    if (child < 0) {
      fmt::print(stderr, "cannot start process {}\n", process);
      for (const pid_t other : children) kill(other, SIGKILL);
      return std::nullopt;
    }
    children.push_back(child);
  }
  if (!wait_for(children, setting.limit_s)) return std::nullopt;
  return shared.outcome();
}

}  // namespace weir::scale
