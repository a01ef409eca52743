// SPDX-License-Identifier: Apache-2.0
// Ranks whose settings differ at random. Either they agree on what differs and all results are right, or all
// of them fail in time, with a sentence that names a setting that differs, a value of it and a rank.
//
// SETTINGS_SEEDS=1-9999 tries these seeds instead of a few; a failed test prints the settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing::settings_fuzz {
namespace {

constexpr int kMostRanks = 4;
constexpr double kLimitS = 100;  ///< for one seed; the ranks' own limits are 20 s

/// A setting, and values that ranks may have; "" leaves it out. Paths begin in the folder of the test or of
/// the plugins.
struct Setting {
  const char* name;
  std::vector<std::string> values;
};

const std::string kPlugins = WEIR_FAKE_PLUGINS "/libnccl-";

/// Values that a rank refuses by itself are among them, but no limits that are too short for a slow machine.
std::vector<Setting> settings_of_connections() {
  return {
      {"NCCL_HOSTID", {"", "a", "b"}},
      {"WEIR_TRANSPORTS",
       {"", "shm", "tcp", "cma,tcp", "loop,shm,tcp", "tcp,shm,loop", "cma", "nosuch", ","}},
      {"NCCL_SHM_DISABLE", {"", "0", "1"}},
      {"NCCL_NET", {"", "Socket", "IB", "fake11", "nosuch"}},
      {"NCCL_NET_PLUGIN", {"", "none", "nosuch", kPlugins + "net-fake9.so", kPlugins + "net-fake11.so"}},
      {"NCCL_SOCKET_IFNAME", {"", "lo", "=lo", "nosuch"}},
      {"NCCL_SOCKET_FAMILY", {"", "AF_INET", "AF_INET6", "nosuch"}},
      {"WEIR_PORTS", {"", "nosuch"}},
      {"WEIR_ADVERTISE", {"", "127.0.0.1", "127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1"}},
      {"NCCL_COMM_BLOCKING", {"", "0", "1"}},
      {"WEIR_INIT_TIMEOUT", {"", "15", "40"}},
      {"WEIR_TLS", {"", "off", "psk", "cert", "nosuch"}},
      {"NCCL_NSOCKS_PERTHREAD", {"", "1", "2", "5", "99"}},
      {"WEIR_CREDIT", {"", "-1", "0", "1", "5000", "1M"}},
      {"WEIR_PACE", {"", "0", "0.5", "50"}},
      {"WEIR_PATH_TIMEOUT", {"", "20"}},
      {"WEIR_SPREAD_PATHS", {"", "0", "1"}},
      {"NCCL_IB_DISABLE", {"", "0", "1"}},
      {"NCCL_IB_HCA", {"", "mlx5", "^mlx5"}},
      {"WEIR_SLOTS", {"", "2", "4", "7", "64", "1"}},
      {"WEIR_SLOT_BYTES", {"", "0", "256", "4096", "100000"}},
      {"WEIR_EXCHANGE_AREA_BYTES", {"", "0", "5000", "65536", "5M"}},
  };
}

std::vector<Setting> settings_of_plans(const std::string& folder) {
  return {
      {"WEIR_GPU_PATH", {"", "kernel", "staged", "nosuch"}},
      {"NCCL_TUNER_PLUGIN", {"", "none", "nosuch", kPlugins + "tuner-fake5.so", kPlugins + "tuner-fake2.so"}},
      {"WEIR_ALGO", {"", "ring", "tree", "pat", "nosuch"}},
      {"NCCL_ALGO", {"", "ring", "^tree", "allreduce:tree", "nosuch"}},
      {"NCCL_PROTO", {"", "Simple", "LL", "^LL", "nosuch"}},
      {"NCCL_GRAPH_FILE", {"", folder + "/nosuch"}},
      {"WEIR_PLAN_FILE", {"", folder + "/nosuch", folder}},
      {"WEIR_COST_FILE", {"", folder + "/nosuch", folder + "/costs", folder + "/wrong"}},
      {"NCCL_TOPO_FILE", {"", folder + "/nosuch", folder + "/wrong"}},
      {"NCCL_TOPO_DUMP_FILE", {"", folder + "/dump", folder + "/nosuch/dump"}},
      {"NCCL_TOPO_DUMP_FILE_RANK", {"", "1", "99"}},
      {"WEIR_FABRIC_FILE", {"", folder + "/nosuch", folder + "/wrong"}},
      {"WEIR_SUBNET", {"", "0", "1"}},
      {"WEIR_ORDER", {"", "run", "any", "ranks", "nosuch"}},
      {"NCCL_MIN_NCHANNELS", {"", "1", "4", "64"}},
      {"NCCL_MAX_NCHANNELS", {"", "1", "2", "64"}},
      {"WEIR_CALIBRATION", {"", "0", "1"}},
      {"WEIR_CACHE_DIR", {"", folder + "/cache", folder + "/nosuch/cache", "/dev/null"}},
  };
}

std::vector<Setting> settings_of_calls(const std::string& folder) {
  return {
      {"WEIR_FAST", {"", "0", "1"}},
      {"WEIR_CHECK", {"", "0", "1"}},
      {"NCCL_CHECK_POINTERS", {"", "0", "1"}},
      {"WEIR_CHECK_VALUES", {"", "0", "1", "2"}},
      {"WEIR_ADMIT_BYTES", {"", "1", "1M"}},
      {"WEIR_ADMIT_OPERATIONS", {"", "1", "3"}},
      {"WEIR_ADMIT_FLUSH", {"", "0", "1"}},
      {"WEIR_SPIN", {"", "0", "1000"}},
      {"WEIR_YIELD", {"", "0", "1000"}},
      {"WEIR_STUCK_TIMEOUT", {"", "0", "60"}},
      {"WEIR_DEADLOCK_TIMEOUT", {"", "0", "60"}},
      {"WEIR_STUCK_WARNING", {"", "0", "60"}},
      {"WEIR_RECORDER", {"", "0", "1", "1000"}},
      {"WEIR_DUMP_FILE", {"", folder + "/report.%p", folder + "/nosuch/report"}},
      {"WEIR_REPORTS", {"", "user", "all", "off", "nosuch"}},
      {"NCCL_RAS_ENABLE", {"", "0", "1"}},
      {"NCCL_RAS_ADDR", {"", "localhost:0", "nosuch"}},
      {"NCCL_PROFILER_PLUGIN",
       {"", "none", "nosuch", kPlugins + "profiler-fake4.so", kPlugins + "profiler-fake2.so"}},
      {"WEIR_NCCL_VERSION", {"", "22000", "1"}},
      {"NCCL_DEBUG", {"", "WARN", "INFO", "nosuch"}},
  };
}

std::vector<Setting> all_settings(const std::string& folder) {
  std::vector<Setting> all = settings_of_connections();
  for (const std::vector<Setting>& more : {settings_of_plans(folder), settings_of_calls(folder)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

using Environment = std::map<std::string, std::string>;

/// The environments of the ranks of one job.
struct Job {
  std::vector<Environment> ranks;

  /// The values of a setting that differs, "" for ranks that do not have it; empty: it does not differ.
  std::set<std::string> values(const std::string& name) const {
    std::set<std::string> values;
    for (const Environment& rank : ranks) {
      const auto found = rank.find(name);
      values.insert(found == rank.end() ? "" : found->second);
    }
    return values.size() > 1 ? values : std::set<std::string>();
  }
  std::set<std::string> differing() const {
    std::set<std::string> names;
    for (const Environment& rank : ranks)
      for (const auto& [name, value] : rank)
        if (!values(name).empty()) names.insert(name);
    return names;
  }
  std::string text() const {
    std::string text;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      text += "rank " + std::to_string(rank) + ":";
      for (const auto& [name, value] : ranks[rank]) text += " " + name + "=" + value;
      text += "\n";
    }
    return text;
  }
};

/// The job of a seed. In every third one the ranks are on several hosts, so that networks are used.
Job job_of(uint32_t seed, const std::vector<Setting>& settings) {
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return random() % bound; };
  Job job;
  job.ranks.resize(2 + below(kMostRanks - 1));
  if (below(3) == 0)
    for (size_t rank = 0; rank < job.ranks.size(); ++rank)
      job.ranks[rank]["NCCL_HOSTID"] = rank % 2 == 0 ? "a" : "b";
  for (size_t count = 1 + below(4); count > 0; --count) {
    const Setting& setting = settings[below(settings.size())];
    for (Environment& rank : job.ranks) {
      const std::string& value = setting.values[below(setting.values.size())];
      if (!value.empty()) rank[setting.name] = value;
    }
  }
  return job;
}

/// How the work of a rank ended.
struct Outcome {
  int code = -1;  ///< -1: it has not ended
  const char* stage = "";
  char words[6000] = {};
};

/// What the processes share.
struct Common {
  std::atomic<int> id_ready;  ///< 1: `id` is there; 2: rank 0 could not make one
  ncclUniqueId id;
  Outcome outcomes[kMostRanks];
};

/// One rank: makes a communicator, calls it, compares every element, and destroys it.
class Worker {
 public:
  Worker(const Rank& rank, Common& shared) : rank_(rank.rank()), ranks_(rank.ranks()), shared_(shared) {}

  void work() {
    Outcome& outcome = shared_.outcomes[rank_];
    outcome.code = ncclSuccess;
    if (!make_id() || !passes("init", ncclCommInitRank(&comm_, ranks_, shared_.id, rank_)) || !call_all()) {
      if (comm_ != nullptr) ncclCommAbort(comm_);
      return;
    }
    if (!passes("finalize", ncclCommFinalize(comm_))) return;
    const ncclComm_t ended = std::exchange(comm_, nullptr);
    passes("destroy", ncclCommDestroy(ended));
  }

 private:
  bool make_id() {
    if (rank_ == 0) {
      const bool made = passes("id", ncclGetUniqueId(&shared_.id));
      shared_.id_ready = made ? 1 : 2;
      return made;
    }
    while (shared_.id_ready == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (shared_.id_ready == 2) shared_.outcomes[rank_] = shared_.outcomes[0];  // the program has to say it
    return shared_.id_ready == 1;
  }
  /// Waits for a call that may be in progress.
  bool passes(const char* stage, ncclResult_t result) {
    while (result == ncclInProgress) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result); asked != ncclSuccess)
        result = asked;
    }
    if (result == ncclSuccess) return true;
    Outcome& outcome = shared_.outcomes[rank_];
    outcome.code = result;
    outcome.stage = stage;
    snprintf(outcome.words, sizeof outcome.words, "%s", ncclGetLastError(comm_));
    return false;
  }
  void expect(const char* stage, const std::vector<int>& got, const std::vector<int>& wanted) const {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (got[i] == wanted[i]) continue;
      fprintf(stderr, "%s of %zu: element %zu is %d; expected %d\n", stage, wanted.size(), i, got[i],
              wanted[i]);
      _exit(7);
    }
  }
  bool call_all() {
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{200'000}})
      if (!sum(count) || !gather(count) || !scatter(count) || !broadcast(count) || !exchange(count))
        return false;
    return true;
  }
  int value(int rank, size_t i) const { return (rank + 1) * static_cast<int>(1 + i % 1000); }
  std::vector<int> own(size_t count, int rank) const {
    std::vector<int> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = value(rank, i);
    return data;
  }
  int sum_of_ranks() const { return ranks_ * (ranks_ + 1) / 2; }
  std::vector<int> summed(size_t count) const {
    std::vector<int> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = sum_of_ranks() * static_cast<int>(1 + i % 1000);
    return data;
  }
  bool sum(size_t count) {
    std::vector<int> data = own(count, rank_);
    if (!passes("all-reduce",
                ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm_, nullptr)))
      return false;
    expect("all-reduce", data, summed(count));
    return true;
  }
  bool gather(size_t count) {
    const std::vector<int> data = own(count, rank_);
    std::vector<int> all(count * static_cast<size_t>(ranks_)), wanted;
    if (!passes("all-gather", ncclAllGather(data.data(), all.data(), count, ncclInt, comm_, nullptr)))
      return false;
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::vector<int> part = own(count, rank);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    expect("all-gather", all, wanted);
    return true;
  }
  bool scatter(size_t count) {
    const std::vector<int> data = own(count * static_cast<size_t>(ranks_), rank_);
    std::vector<int> part(count);
    if (!passes("reduce-scatter",
                ncclReduceScatter(data.data(), part.data(), count, ncclInt, ncclSum, comm_, nullptr)))
      return false;
    const std::vector<int> all = summed(data.size());
    const auto first = all.begin() + static_cast<ptrdiff_t>(count) * rank_;
    expect("reduce-scatter", part, std::vector<int>(first, first + static_cast<ptrdiff_t>(count)));
    return true;
  }
  bool broadcast(size_t count) {
    const int root = ranks_ - 1;
    std::vector<int> data = own(count, rank_), sums(count);
    if (!passes("broadcast", ncclBroadcast(data.data(), data.data(), count, ncclInt, root, comm_, nullptr)))
      return false;
    expect("broadcast", data, own(count, root));
    data = own(count, rank_);
    if (!passes("reduce", ncclReduce(data.data(), sums.data(), count, ncclInt, ncclSum, 0, comm_, nullptr)))
      return false;
    if (rank_ == 0) expect("reduce", sums, summed(count));
    return true;
  }
  bool exchange(size_t count) {
    const std::vector<int> data = own(count, rank_);
    std::vector<int> received(count);
    const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;
    ncclGroupStart();
    ncclSend(data.data(), count, ncclInt, next, comm_, nullptr);
    ncclRecv(received.data(), count, ncclInt, before, comm_, nullptr);
    if (!passes("exchange", ncclGroupEnd())) return false;
    expect("exchange", received, own(count, before));
    return true;
  }

  const int rank_, ranks_;
  Common& shared_;
  ncclComm_t comm_ = nullptr;
};

class SettingsFuzz : public ::testing::Test {
 protected:
  SettingsFuzz() {
    char name[] = "/tmp/weir_settings_XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(folder_ + "/costs") << "inside.alpha 1e-6\n";
    std::ofstream(folder_ + "/wrong") << "inside.alpha\n";
    void* const memory =
        mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = static_cast<Common*>(memory);
  }
  ~SettingsFuzz() override {
    munmap(shared_, sizeof(Common));
    std::filesystem::remove_all(folder_);
  }

  /// Runs the job, and fails the test if it ends as no job may.
  void try_job(const Job& job) {
    const auto ranks = static_cast<int>(job.ranks.size());
    new (shared_) Common{};
    const std::vector<Ending> endings = run_ranks(
        ranks,
        [&](const Rank& rank) {
          setenv("WEIR_INIT_TIMEOUT", "20", 1);
          setenv("WEIR_DEADLOCK_TIMEOUT", "20", 1);
          setenv("WEIR_CACHE_DIR", folder_.c_str(), 1);
          setenv("NCCL_RAS_ENABLE", "0", 1);  // one process per machine can listen there
          for (const auto& [name, value] : job.ranks[static_cast<size_t>(rank.rank())])
            setenv(name.c_str(), value.c_str(), 1);
          Worker(rank, *shared_).work();
        },
        kLimitS);
    std::string told = job.text();
    for (int rank = 0; rank < ranks; ++rank) {
      const Outcome& outcome = shared_->outcomes[rank];
      told += "rank " + std::to_string(rank) + " ended with " + std::to_string(outcome.code) + " " +
              outcome.stage + ": " + outcome.words + "\n";
    }
    SCOPED_TRACE(told);
    if (!all_well(endings)) return;
    judge(job);
  }
  void judge(const Job& job) {
    const auto of_rank = [&](size_t rank) -> const Outcome& { return shared_->outcomes[rank]; };
    size_t failed = 0;
    for (size_t rank = 0; rank < job.ranks.size(); ++rank) failed += of_rank(rank).code != ncclSuccess;
    if (failed == 0) {
      ++worked_;
      return;
    }
    ++refused_;
    EXPECT_EQ(failed, job.ranks.size()) << "some ranks failed and others did not";
    const bool no_id = of_rank(0).stage == std::string("id");  // the library was asked on rank 0 alone
    for (size_t rank = 0; rank < (no_id ? 1 : job.ranks.size()); ++rank) {
      const std::string words = of_rank(rank).words;
      EXPECT_TRUE(explains(job, job.ranks[rank], words))
          << "the sentence of rank " << rank << " does not say what differs";
    }
  }
  /// Whether the sentence names a setting, a value of it, and, where the setting differs, a rank.
  static bool explains(const Job& job, const Environment& own, const std::string& words) {
    const auto contains = [&](const std::string& text) { return words.find(text) != std::string::npos; };
    for (const std::string& name : job.differing()) {
      if (!contains(name)) continue;
      for (const std::string& value : job.values(name))
        if (!value.empty() && contains(value) && contains("rank")) return true;
    }
    // What a rank refuses by itself needs no rank in its own sentence.
    return std::ranges::any_of(own,
                               [&](const auto& set) { return contains(set.first) && contains(set.second); });
  }

  std::string folder_;
  Common* shared_;
  int worked_ = 0, refused_ = 0;
};

/// The seeds to try.
std::pair<uint32_t, uint32_t> seeds() {
  const char* const asked = std::getenv("SETTINGS_SEEDS");
  if (asked == nullptr) return {1, 24};
  char* end = nullptr;
  const unsigned long first = std::strtoul(asked, &end, 10);
  const unsigned long last = *end == '-' ? std::strtoul(end + 1, nullptr, 10) : first;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

TEST_F(SettingsFuzz, RanksAgreeOrAllSayWhatDiffers) {
  const std::vector<Setting> settings = all_settings(folder_);
  const auto [first, last] = seeds();
  for (uint32_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try_job(job_of(seed, settings));
  }
  printf("%d jobs worked, %d were refused\n", worked_, refused_);
}

}  // namespace
}  // namespace weir::testing::settings_fuzz
