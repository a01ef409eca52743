// SPDX-License-Identifier: Apache-2.0
// Overhead of diagnosis: all_reduce over two ranks of one process, alternately with and without the recorder
// (which also times calls, so that late ranks can be named), the signatures and WEIR_CHECK_VALUES. The
// watchdog's polls are in every row. Short runs; the 10th percentile of their times counts, to exclude
// disturbances. The position of memory makes a communicator some percent faster or slower than an equal one,
// so communicators are created anew repeatedly, and medians over these sets count.
//
//     build/bench/overhead [ROUNDS [SETS [TRANSPORTS]]]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"

namespace weir {
namespace {

constexpr int kRanks = 2;

struct Variant {
  const char* name;
  bool recorder;
  bool signatures;
  bool values;
};
constexpr std::array kVariants = {
    Variant{"nothing", false, false, false},      Variant{"recorder", true, false, false},
    Variant{"signatures", false, true, false},    Variant{"both", true, true, false},
    Variant{"both and values", true, true, true}, Variant{"nothing again", false, false, false},
};
constexpr size_t kAgain = kVariants.size() - 1;

struct Size {
  const char* name;
  size_t bytes;
  int calls;  ///< number of calls in a run
};
constexpr std::array kSizes = {Size{"8 B", 8, 4'000}, Size{"64 KiB", 64 << 10, 100}};

/// Nanoseconds per call, by size, variant and round.
using Times = std::array<std::array<std::vector<double>, kVariants.size()>, kSizes.size()>;

Options options_of(const Variant& variant, const char* transports) {
  Options options;
  if (*transports != 0) options.transports = transports;
  options.calibration = false;
  options.check = variant.signatures;
  options.check_values = variant.values ? 1 : 0;
  if (!variant.recorder) options.recorded = 0;
  return options;
}

class Rank0And1 {
 public:
  Rank0And1(core::Runtime& runtime, const core::UniqueId& id, Rank rank)
      : communicator_(runtime, core::IdOrigin{id, kRanks, rank}, {}) {}
  Status meet() { return communicator_.connect(); }
  Status sum(std::vector<float>& values, size_t bytes, int calls) {
    const core::Operation operation = core::CollectiveOp{.reduction = {.op = RedOp::max},
                                                         .input = values.data(),
                                                         .output = values.data(),
                                                         .count = bytes / sizeof(float)};
    for (int i = 0; i < calls; ++i) WEIR_TRY(communicator_.run({&operation, 1}));
    return {};
  }

 private:
  core::Communicator communicator_;
};

Status measure(Rank rank, const std::vector<std::unique_ptr<core::Runtime>>& runtimes,
               const std::vector<core::UniqueId>& ids, int rounds, Times& times) {
  std::vector<std::unique_ptr<Rank0And1>> ranks;
  for (size_t v = 0; v < runtimes.size(); ++v) {
    ranks.push_back(std::make_unique<Rank0And1>(*runtimes[v], ids[v], rank));
    WEIR_TRY(ranks.back()->meet());
  }
  std::vector<float> values(1 << 16, 1.0F);
  for (int round = -1; round < rounds; ++round) {
    for (size_t s = 0; s < kSizes.size(); ++s) {
      for (size_t turn = 0; turn < ranks.size(); ++turn) {
        const size_t v = (turn + static_cast<size_t>(round + 1)) % ranks.size();
        WEIR_TRY(ranks[v]->sum(values, kSizes[s].bytes, kSizes[s].calls / 10));  // warms up and synchronizes
        const int64_t begin = now_ns();
        WEIR_TRY(ranks[v]->sum(values, kSizes[s].bytes, kSizes[s].calls));
        const double each = static_cast<double>(now_ns() - begin) / kSizes[s].calls;
        if (round >= 0 && rank == 0) times[s][v].push_back(each);
      }
    }
  }
  return {};
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Time of begin() and end() of an operation alone, in nanoseconds: the minimum of many short runs.
double alone(size_t recorded) {
  core::Activity activity(recorded);
  const core::CollectiveOp operation{.count = 2};
  constexpr int kCalls = 2'000;
  double least = 1e9;
  uint64_t sequence = 0;
  for (int run = 0; run < 2'000; ++run) {
    const int64_t begin = now_ns();
    for (int i = 0; i < kCalls; ++i) {
      activity.begin(++sequence, 1, summary_of(operation));
      activity.end();
    }
    least = std::min(least, static_cast<double>(now_ns() - begin) / kCalls);
  }
  return least;
}

/// One set: new communicators, and the times of calls on them.
Status run_set(int rounds, const char* transports, Times& times) {
  std::vector<std::unique_ptr<core::Runtime>> runtimes;
  std::vector<core::UniqueId> ids;
  for (const Variant& variant : kVariants) {
    runtimes.push_back(std::make_unique<core::Runtime>(options_of(variant, transports)));
    const auto id = runtimes.back()->make_unique_id();
    WEIR_TRY(id.status());
    ids.push_back(*id);
  }
  std::array<Status, kRanks> statuses;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < kRanks; ++rank)
    threads.emplace_back(
        [&, rank] { statuses[static_cast<size_t>(rank)] = measure(rank, runtimes, ids, rounds, times); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) WEIR_TRY(status);
  return {};
}

void print(const std::vector<Times>& sets) {
  fmt::print("recording one call: {:.1f} ns without the recorder, {:.1f} ns with it\n", alone(0),
             alone(core::Recorder::kDefaultCapacity));
  fmt::print("{:<8} {:<16} {:>12} {:>24}\n", "size", "with", "ns", "overhead");
  for (size_t s = 0; s < kSizes.size(); ++s) {
    for (size_t v = 0; v < kVariants.size(); ++v) {
      std::vector<double> times, ratios;
      for (const Times& set : sets) {
        const double bare = (quantile(set[s][0], 0.1) + quantile(set[s][kAgain], 0.1)) / 2;
        times.push_back(quantile(set[s][v], 0.1));
        ratios.push_back(times.back() / bare);
      }
      fmt::print("{:<8} {:<16} {:>12.1f} {:>+23.1f}%\n", kSizes[s].name, kVariants[v].name,
                 quantile(times, 0.5), 100 * (quantile(ratios, 0.5) - 1));
    }
  }
}

int run(int rounds, int sets, const char* transports) {
  std::vector<Times> all(static_cast<size_t>(sets));
  for (Times& times : all) {
    if (const Status done = run_set(rounds, transports, times); !done.ok())
      return fmt::print(stderr, "{}\n", done.message()), 1;
  }
  print(all);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const int sets = argc > 2 ? std::atoi(argv[2]) : 600;
  return weir::run(std::max(rounds, 1), std::max(sets, 1), argc > 3 ? argv[3] : "");
}
