// SPDX-License-Identifier: Apache-2.0
// After how many calls a fault of one rank is named: a rank that works a few percent longer than the others,
// and one with NaNs in its input. The ranks are threads of one process; what is told of them is what `weir
// top` prints. For a link that becomes slower see tests/netlab/slow_link_test.py.
//
//     build/bench/faulty_ranks [PERCENT [WORK_US [RANKS]]]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/host.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "src/core/diagnosis/process_report.h"
#include "src/survey/stragglers.h"

namespace weir {
namespace {

constexpr Rank kFaulty = 1;
constexpr uint64_t kCalls = 1'000;     ///< within which the rank has to be named
constexpr uint64_t kHealthy = 300;     ///< number of calls before the first NaN
constexpr size_t kValues = 2;          ///< of a call: 8 bytes
constexpr uint64_t kEnoughCalls = 50;  ///< below which who was last may be chance
constexpr double kOften = 0.6;         ///< share of the calls to which a rank comes last that is slow

struct Job {
  double percent = 5;  ///< by which the slow rank works longer
  int work_us = 10'000;
  int ranks = 4;
};

/// What a rank does before call `call`.
using Prepare = std::function<void(Rank rank, uint64_t call, std::vector<float>& values)>;
/// Looks at the reports of the process; the sentence that names a rank, or "".
using Look = std::function<std::string(const core::ProcessReport& report)>;

struct Named {
  std::string sentence;  ///< empty: no rank was named
  uint64_t calls = 0;    ///< calls that had begun by then
};

Status be_rank(core::Runtime& runtime, const core::UniqueId& id, int ranks, Rank rank, const Prepare& prepare,
               const std::atomic<bool>& done) {
  core::Communicator communicator(runtime, core::IdOrigin{id, ranks, rank}, {});
  WEIR_TRY(communicator.connect());
  std::vector<float> values(kValues), sums(kValues);
  // The ranks end together: that it is over is itself summed up.
  for (uint64_t call = 1;; ++call) {
    values.assign(kValues, 1);
    values[0] = done ? 1 : 0;
    prepare(rank, call, values);
    const core::Operation operation =
        core::CollectiveOp{.input = values.data(), .output = sums.data(), .count = kValues};
    WEIR_TRY(communicator.run({&operation, 1}));
    if (sums[0] > 0) return {};
  }
}

/// Runs ranks until look() has named one, or for kCalls calls.
Result<Named> run_until_named(const Job& job, const Prepare& prepare, const Look& look) {
  Options options;
  options.calibration = false;
  options.check_values = 1;
  core::Runtime runtime(options);
  const auto id = runtime.make_unique_id();
  WEIR_TRY(id.status());
  std::atomic<bool> done = false;
  std::vector<Status> statuses(static_cast<size_t>(job.ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < job.ranks; ++rank)
    threads.emplace_back([&, rank] {
      Status& status = statuses[static_cast<size_t>(rank)];
      status = be_rank(runtime, *id, job.ranks, rank, prepare, done);
      if (!status.ok()) done = true;
    });
  Named named;
  while (!done) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const core::ProcessReport report = core::report_of(runtime.activities(), host_identity(""));
    for (const core::CommunicatorReport& one : report.communicators)
      named.calls = std::max(named.calls, one.calls);
    named.sentence = look(report);
    if (!named.sentence.empty() || named.calls >= kCalls) done = true;
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) WEIR_TRY(status);
  return named;
}

Result<Named> name_slow_rank(const Job& job) {
  survey::Stragglers stragglers;
  const auto work = std::chrono::microseconds(job.work_us);
  const auto longer = std::chrono::microseconds(std::lround(job.work_us * (1 + job.percent / 100)));
  return run_until_named(
      job,
      [&](Rank rank, uint64_t, std::vector<float>&) {
        std::this_thread::sleep_for(rank == kFaulty ? longer : work);
      },
      [&](const core::ProcessReport& report) -> std::string {
        survey::QueriedProcess process;
        process.report = report;
        stragglers.add({process});
        if (report.communicators.empty()) return "";
        uint64_t all = 0, most = 0;
        for (const auto& [rank, one] : stragglers.recent(report.communicators.front().id)) {
          all += one.calls;
          most = std::max(most, one.calls);
        }
        if (all < kEnoughCalls || static_cast<double>(most) < kOften * static_cast<double>(all)) return "";
        return stragglers.text();
      });
}

Result<Named> name_rank_with_nan(const Job& job) {
  return run_until_named(
      job,
      [](Rank rank, uint64_t call, std::vector<float>& values) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (rank == kFaulty && call == kHealthy + 1) values[1] = NAN;
      },
      [](const core::ProcessReport& report) -> std::string {
        for (const core::CommunicatorReport& one : report.communicators)
          if (one.bad_values > 0)
            return fmt::format("communicator {}: the input of rank {} had NaN or infinity in {} call\n",
                               one.id, one.rank, one.bad_values);
        return "";
      });
}

/// 0: the faulty rank was named in time.
int print(const std::string& fault, uint64_t begun, const Result<Named>& named) {
  if (!named.ok()) return fmt::print(stderr, "{}\n", named.status().message()), 1;
  if (named->sentence.empty()) return fmt::print("{}: not named within {} calls\n", fault, kCalls), 1;
  const bool right = named->sentence.find(fmt::format("rank {} ", kFaulty)) != std::string::npos;
  fmt::print("{}: {} after {} calls\n  {}", fault, right ? "named" : "another rank is named",
             named->calls - begun, named->sentence);
  return right ? 0 : 1;
}

int run(const Job& job) {
  const int slow = print(
      fmt::format("rank {} of {} works {} % longer than {} us", kFaulty, job.ranks, job.percent, job.work_us),
      0, name_slow_rank(job));
  const int nan = print(fmt::format("one NaN of rank {} in call {}", kFaulty, kHealthy + 1), kHealthy,
                        name_rank_with_nan(job));
  return std::max(slow, nan);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Job job;
  if (argc > 1) job.percent = std::max(std::atof(argv[1]), 0.0);
  if (argc > 2) job.work_us = std::max(std::atoi(argv[2]), 1);
  if (argc > 3) job.ranks = std::max(std::atoi(argv[3]), 2);
  return weir::run(job);
}
