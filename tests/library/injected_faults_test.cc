// SPDX-License-Identifier: Apache-2.0
// The n-th allocation, mapping, thread, socket, file or event of a rank fails while it lives: while two ranks
// set a communicator up, call it and destroy it. No crash, no hang, no wrong sum; the rank says what it
// lacks, the other one is told, nothing leaks, and the next communicator works.
//
// INJECT_CALLS=1-9999 lets all of these calls fail instead of a sample; the output says how many there are.
// INJECT_SITES=1-9999 lets the first call from each place of the program fail, in processes that begin.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/library/failing_calls.h"
#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRanks = 2;
constexpr long kNever = 1L << 40;  ///< more calls than a life has
/// After so many failures a process is at rest for once: a root whose rank did not come stays for ten
/// seconds.
constexpr size_t kAtRestEach = 64;
constexpr size_t kSmall = 1000;
constexpr size_t kLarge = 100'000;

/// How the life of a rank ended.
struct Outcome {
  enum Stage { set_up, sum, exchange, destroy, lived };
  Stage stage = set_up;  ///< where it failed
  int code = 0;
  bool before_launch = false;  ///< a group could not even take up its calls: no communicator has failed
  char words[1000] = {};
};

int descriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "Threads:") {
      int count = 0;
      status >> count;
      return count;
    }
  }
  return -1;
}

/// Mappings of memory that ranks share.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

struct Held {
  int descriptors = 0;
  int threads = 0;
  int mappings = 0;

  bool operator==(const Held&) const = default;
  bool operator<=(const Held& other) const {
    return descriptors <= other.descriptors && threads <= other.threads && mappings <= other.mappings;
  }
  static Held now() { return {testing::descriptors(), testing::threads(), testing::mappings()}; }
};

/// What the processes of both ranks share.
struct Common {
  std::atomic<int> points[kRanks];  ///< how far each has come
  ncclUniqueId id;
  Outcome outcomes[kRanks];
  Injected injected;
  long calls;           ///< of a life in which nothing failed
  Held held[kRanks];    ///< what processes hold then, after another life
  Site sites[1 << 15];  ///< of the victim's calls
};

/// What this process holds once threads that are about to end have ended: when nothing changes any more.
Held held_at_rest() {
  Held last = Held::now();
  for (int same = 0; same < 20; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Held now = Held::now();
    if (now != last) same = 0;
    last = now;
  }
  return last;
}

/// One communicator of both ranks, from its set-up to its end.
class Life {
 public:
  Life(int rank, const ncclUniqueId& id) : rank_(rank), id_(id) {}

  Outcome live() {
    ncclComm_t comm = nullptr;
    bool well = passes(Outcome::set_up, ncclCommInitRank(&comm, kRanks, id_, rank_), nullptr);
    well = well && passes(Outcome::sum, sum(comm), comm) && passes(Outcome::exchange, exchange(comm), comm);
    if (well) {
      passes(Outcome::destroy, ncclCommDestroy(comm), nullptr);
    } else if (comm != nullptr) {
      ncclCommAbort(comm);
    }
    return outcome_;
  }

 private:
  bool passes(Outcome::Stage stage, int code, ncclComm_t comm) {
    if (code == ncclSuccess) {
      outcome_.stage = Outcome::lived;
      return true;
    }
    outcome_.stage = stage;
    outcome_.code = code;
    snprintf(outcome_.words, sizeof outcome_.words, "%s", ncclGetLastError(comm));
    return false;
  }
  ncclResult_t sum(ncclComm_t comm) {
    for (float& number : small_) number = static_cast<float>(rank_ + 1);
    const ncclResult_t result = ncclAllReduce(small_, small_, kSmall, ncclFloat, ncclSum, comm, nullptr);
    if (result == ncclSuccess) check(small_, kSmall, 3);
    return result;
  }
  ncclResult_t exchange(ncclComm_t comm) {
    for (float& number : large_) number = static_cast<float>(rank_);
    ncclResult_t result = ncclGroupStart();
    if (result == ncclSuccess) {
      result = ncclSend(large_, kLarge, ncclFloat, 1 - rank_, comm, nullptr);
      if (result == ncclSuccess) result = ncclRecv(received_, kLarge, ncclFloat, 1 - rank_, comm, nullptr);
      outcome_.before_launch = result != ncclSuccess;
      const ncclResult_t ended = ncclGroupEnd();
      if (result == ncclSuccess) result = ended;
    } else {
      outcome_.before_launch = true;
    }
    if (result == ncclSuccess) check(received_, kLarge, static_cast<float>(1 - rank_));
    return result;
  }
  static void check(const float* numbers, size_t count, float expected) {
    for (size_t i = 0; i < count; ++i) {
      if (numbers[i] == expected) continue;
      fprintf(stderr, "wrong value %g instead of %g at %zu\n", static_cast<double>(numbers[i]),
              static_cast<double>(expected), i);
      _exit(7);
    }
  }

  const int rank_;
  const ncclUniqueId id_;
  Outcome outcome_;
  static float small_[kSmall], large_[kLarge], received_[kLarge];
};

float Life::small_[kSmall], Life::large_[kLarge], Life::received_[kLarge];

/// A pair of ranks, of which `victim` is the one that lacks something.
struct Case {
  Call call;
  int victim;
  const char* transports;
};

/// The lives of one of the processes.
class Lives {
 public:
  Lives(const Rank& rank, Common& shared, const Case& tried) : rank_(rank), shared_(shared), tried_(tried) {}

  bool is_victim() const { return rank_.rank() == tried_.victim; }

  /// Call number `failing` of the victim fails; 0: none. Returns what came of it, on both ranks.
  Injected live(long failing) {
    return live(failing, [&] {
      if (failing != 0) fail_call(tried_.call, failing);
    });
  }
  /// Notes from where the victim makes its calls.
  Injected record() {
    return live(kNever, [&] { record_sites(tried_.call, shared_.sites); });
  }
  /// The first call from this site fails. `number`: in messages.
  Injected live_without(Site site, long number) {
    return live(number, [&] { fail_site(tried_.call, site); });
  }
  Injected live(long failing, const std::function<void()>& arm) {
    if (rank_.rank() == 0) expect_success(ncclGetUniqueId(&shared_.id), "ncclGetUniqueId");
    meet();
    Life life(rank_.rank(), shared_.id);
    if (is_victim()) arm();
    const Outcome outcome = life.live();
    if (is_victim()) shared_.injected = stop_failing();
    shared_.outcomes[rank_.rank()] = outcome;
    meet();
    const Injected injected = shared_.injected;
    if (is_victim()) judge(failing, injected);
    if (failing != 0 && failing != kNever && first_ == 0) first_ = failing;
    if (failing != 0) before_ = "after calls " + std::to_string(first_) + " to " + std::to_string(failing);
    meet();
    return injected;
  }
  /// Fails the test if another life fails, or if this process holds more than before after it.
  void compare(const Held& before) {
    for (int looks = 0; looks < 1500 && testing::threads() > before.threads; ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    meet();
    // What a root that has ended still holds is closed when the next one is made.
    live(0);
    const Held most{before.descriptors + (rank_.rank() == 0), before.threads, before.mappings};
    Held now = Held::now();
    for (int looks = 0; looks < 1500 && !(now <= most); ++looks, now = Held::now())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LE(now.descriptors, most.descriptors) << before_;
    EXPECT_LE(now.threads, before.threads) << before_;
    EXPECT_LE(now.mappings, before.mappings) << before_;
    first_ = 0;
    meet();
  }

 private:
  /// Waits until the other rank has come as far.
  void meet() {
    const int other = 1 - rank_.rank();
    shared_.points[rank_.rank()] = ++point_;
    while (shared_.points[other].load() < point_) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (kill(rank_.pid_of(other), 0) == 0 || shared_.points[other].load() >= point_) continue;
      fprintf(stderr, "the other process has ended, after %s\n", before_.c_str());
      _exit(8);
    }
  }
  static auto says_what_lacks() {
    return AnyOf(HasSubstr("no more memory"), HasSubstr("no memory left"), HasSubstr("no memory for"),
                 HasSubstr("Cannot allocate memory"), HasSubstr("no file descriptors left"),
                 HasSubstr("cannot start its thread"));
  }
  void judge(long failing, const Injected& injected) const {
    expect_well(failing, injected);
    if (failing != 0 && ::testing::Test::HasFailure()) print_where();
  }
  void expect_well(long failing, const Injected& injected) const {
    const Outcome& own = shared_.outcomes[tried_.victim];
    const Outcome& other = shared_.outcomes[1 - tried_.victim];
    std::string what = before_;
    if (failing != 0)
      what = "call " + std::to_string(failing) + " of " + std::to_string(injected.calls) + " to " +
             name(tried_.call);
    for (const Outcome* one : {&own, &other})
      what += "\n" + std::to_string(one->stage) + ": " + std::to_string(one->code) + " " + one->words;
    SCOPED_TRACE(what);
    if (own.stage == Outcome::lived || !injected.failed) {  // it did without
      EXPECT_EQ(own.stage, Outcome::lived);
      EXPECT_EQ(other.stage, Outcome::lived);
      return;
    }
    // A transport whose trial lacks descriptors counts as one that does not reach the peer.
    if (std::strstr(own.words, "no transport connects") != nullptr) {
      EXPECT_EQ(own.code, ncclSystemError);
      EXPECT_THAT(std::string(other.words), HasSubstr("no transport connects"));
      return;
    }
    // Where a thread of the library had no memory for what another rank sent, that rank finds out.
    const bool dropped = std::strstr(own.words, "has dropped a message") != nullptr;
    EXPECT_EQ(own.code, dropped ? ncclRemoteError : ncclSystemError);
    EXPECT_THAT(std::string(own.words), says_what_lacks());
    if (own.stage >= Outcome::exchange && other.stage >= Outcome::destroy)
      return;  // it needed nobody any more
    EXPECT_EQ(other.code, ncclRemoteError);
    EXPECT_THAT(std::string(other.words), HasSubstr("(pid " + std::to_string(getpid()) + " on host "));
    if (own.before_launch)
      EXPECT_THAT(std::string(other.words), AnyOf(says_what_lacks(), HasSubstr("has left")));
    else
      EXPECT_THAT(std::string(other.words), says_what_lacks());
  }

  const Rank& rank_;
  Common& shared_;
  const Case& tried_;
  int point_ = 0;
  std::string before_;
  long first_ = 0;  ///< call that failed first since the last comparison; 0: none
};

/// Memory that processes which are forked later share.
class SharedMemory {
 public:
  SharedMemory()
      : shared_(new (mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Common{}) {}
  ~SharedMemory() { munmap(shared_, sizeof(Common)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Common& operator*() const { return *shared_; }

 private:
  Common* shared_;
};

/// The numbers from 1 to `most` that a range such as 1-9999 names.
std::vector<long> range_of(const char* variable, long most) {
  const char* const asked = std::getenv(variable);
  if (asked == nullptr) return {};
  char* end = nullptr;
  const long first = std::strtol(asked, &end, 10);
  const long last = *end == '-' ? std::min(most, std::strtol(end + 1, nullptr, 10)) : first;
  std::vector<long> chosen;
  for (long number = first; number <= last; ++number) chosen.push_back(number);
  return chosen;
}

/// Which of so many calls to let fail: some that are spread over them, or those of INJECT_CALLS.
std::vector<long> numbers(long calls, long samples) {
  if (std::getenv("INJECT_CALLS") != nullptr) return range_of("INJECT_CALLS", calls);
  std::vector<long> chosen;
  samples = std::min(calls, samples);
  for (long i = 0; i < samples; ++i) chosen.push_back(1 + (2 * i + 1) * calls / (2 * samples));
  return chosen;
}

class InjectedFaults : public ::testing::TestWithParam<Case> {
 protected:
  void run(const std::function<void(Lives&, int)>& body) {
    for (std::atomic<int>& point : (*memory_).points) point = 0;
    all_well(run_ranks(
        kRanks,
        [&](const Rank& rank) {
          setenv("WEIR_TRANSPORTS", GetParam().transports, 1);
          setenv("WEIR_INIT_TIMEOUT", "10", 1);  // who is told does not wait so long
          setenv("WEIR_DEADLOCK_TIMEOUT", "10", 1);
          Lives lives(rank, *memory_, GetParam());
          body(lives, rank.rank());
        },
        kLimitS));
  }

  /// How many calls there are to fail.
  void tell_calls() {
    const std::string calls = std::to_string((*memory_).calls);
    RecordProperty("calls", calls);
    if (std::getenv("INJECT_CALLS") != nullptr || std::getenv("INJECT_SITES") != nullptr)
      printf("%s calls\n", calls.c_str());
  }

  void fail_each_site() {
    run([&](Lives& lives, int) { (*memory_).calls = lives.record().calls; });
    const std::span<const Site> all(
        (*memory_).sites, std::min(static_cast<size_t>((*memory_).calls), std::size((*memory_).sites)));
    std::vector<Site> sites;
    for (const Site site : all)
      if (std::ranges::find(sites, site) == sites.end()) sites.push_back(site);
    printf("%zu sites\n", sites.size());
    for (const long number : range_of("INJECT_SITES", static_cast<long>(sites.size()))) {
      if (HasFailure()) return;
      run([&](Lives& lives, int rank) {
        lives.live_without(sites[static_cast<size_t>(number) - 1], number);
        lives.compare((*memory_).held[rank]);
      });
    }
  }

  static constexpr double kLimitS = 1200;
  const SharedMemory memory_;
};

/// Processes that have lived before.
TEST_P(InjectedFaults, InProcessesThatGoOn) {
  run([&](Lives& lives, int) {
    lives.live(0);
    lives.live(0);
    const Held before = held_at_rest();
    (*memory_).calls = lives.live(kNever).calls;
    const std::vector<long> all = numbers((*memory_).calls, 4);
    for (size_t i = 0; i < all.size() && !HasFailure(); ++i) {
      lives.live(all[i]);
      lives.live(0);
      if (i + 1 == all.size() || (i + 1) % kAtRestEach == 0) lives.compare(before);
    }
  });
  tell_calls();
}

/// What is made once in a process fails in its first life.
TEST_P(InjectedFaults, InProcessesThatBegin) {
  run([&](Lives& lives, int rank) {
    (*memory_).calls = lives.live(kNever).calls;
    lives.live(0);
    (*memory_).held[rank] = held_at_rest();
  });
  tell_calls();
  if (std::getenv("INJECT_SITES") != nullptr) return fail_each_site();
  for (const long failing : numbers((*memory_).calls, 2)) {
    if (HasFailure()) return;
    run([&](Lives& lives, int rank) {
      lives.live(failing);
      lives.compare((*memory_).held[rank]);
    });
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Call call : kCalls)
    for (const int victim : {0, 1})
      for (const char* const transports : {"loop,shm", "tcp"}) all.push_back({call, victim, transports});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Calls, InjectedFaults, ::testing::ValuesIn(cases()), [](const auto& info) {
  const bool tcp = std::strcmp(info.param.transports, "tcp") == 0;
  return std::string(name(info.param.call)) + "_of_rank_" + std::to_string(info.param.victim) +
         (tcp ? "_tcp" : "_shm");
});

}  // namespace
}  // namespace weir::testing
