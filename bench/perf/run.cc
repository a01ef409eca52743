// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/run.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "bench/perf/control.h"
#include "bench/perf/launch.h"
#include "bench/perf/limit.h"
#include "bench/perf/memory.h"
#include "bench/perf/options.h"
#include "bench/perf/placement.h"
#include "bench/perf/ranks.h"
#include "bench/perf/report.h"
#include "bench/perf/split.h"
#include "bench/perf/team.h"
#include "bench/perf/watchdog.h"
#include "bench/perf/worker.h"

namespace weir::perf {
namespace {

/// Time that a failed process waits for its other threads, which may be blocked in the library.
constexpr auto kGrace = std::chrono::seconds(5);

const char* environment(const char* name) { return std::getenv(name); }

/// One process of a run.
class Process {
 public:
  Process(const Collective& collective, PerfOptions& options) : collective_(collective), options_(options) {}

  /// Connects to the other processes.
  Outcome meet();
  /// Joins the communicators, measures, and destroys them. `report` is null for all processes but the first.
  Outcome run(Report* report);
  bool is_first() const { return control_->rank() == 0; }

 private:
  int ranks_per_process() const { return options_.threads * options_.gpus; }
  Outcome refuse_impossible() const;
  Outcome find_devices();
  int first_on_host() const;
  Outcome share_ranks();
  Outcome agree_on_memory(Report* report);
  Outcome share_id(ncclUniqueId* id);
  Outcome join_all(const ncclUniqueId& id);
  Outcome work(int thread, const ncclUniqueId& id, Report* report);
  Outcome work_in_threads(const ncclUniqueId& id, Report* report);
  void give_up(const Outcome& why);
  [[noreturn]] void end_late();
  void abort_all();

  const Collective& collective_;
  PerfOptions& options_;
  Placement placement_;
  GroupPlace group_{};
  std::unique_ptr<Devices> devices_;
  std::vector<RankInfo> infos_;  ///< all ranks
  std::unique_ptr<Control> control_;
  std::unique_ptr<Team> team_;
  std::vector<std::unique_ptr<Ranks>> ranks_;  ///< one element per thread
  std::unique_ptr<Watchdog> watchdog_;  ///< declared last, so that it ends before the objects that it uses
};

Outcome Process::meet() {
  WEIR_TRY(find_placement(environment, getppid(), &placement_));
  std::function<int(int)> group_of;
  WEIR_TRY(find_split(environment, &group_of));
  group_ = place_in_group(group_of, placement_.rank, placement_.size);
  // Several communicators cannot use one bootstrap address.
  if (group_.size < placement_.size) unsetenv("NCCL_COMM_ID");
  return Control::join(placement_, &control_);
}

Outcome Process::refuse_impossible() const {
  const int ranks = group_.size * ranks_per_process();
  const bool host = options_.device == "host";
  if (host && options_.graph > 0)
    return Outcome::failure(ExitCode::not_implemented,
                            "-G captures CUDA graphs and needs a GPU, but these ranks use host memory; "
                            "expected --device cuda or hip");
  if (options_.device_implementation > 0)
    return Outcome::failure(ExitCode::not_implemented,
                            host ? "-D runs a kernel on a GPU, but these ranks use host memory; omit -D"
                                 : "-D runs a kernel that calls the library on the GPU, but this program has "
                                   "no such kernel; omit -D");
  for (const char* variable : {"NCCL_TESTS_ALLTOALLV_SPREAD", "NCCL_TESTS_ALLTOALLV_MATRIX_FILE"})
    if (collective_.program == "alltoallv_perf" && environment(variable) != nullptr)
      return Outcome::failure(ExitCode::not_implemented,
                              fmt::format("{} is set, but alltoallv_perf sends equal counts only", variable));
  if (collective_.hypercube && !std::has_single_bit(static_cast<unsigned>(ranks)))
    return Outcome::failure(
        ExitCode::usage, fmt::format("{} has {} ranks; expected a power of two", collective_.program, ranks));
  if (collective_.hypercube && (options_.gpus > 1 || options_.aggregated > 1))
    return Outcome::failure(
        ExitCode::usage,
        fmt::format("{} forwards received data, but -g and -m would put both into one group; "
                    "use -t or --ranks",
                    collective_.program));
  if (collective_.has_root && options_.root >= ranks)
    return Outcome::failure(
        ExitCode::usage,
        fmt::format("root is {}; expected 0 to {}, or -1 for each rank in turn", options_.root, ranks - 1));
  return Outcome();
}

Outcome Process::find_devices() {
  if (options_.device != "host") return gpu_devices(options_.device, options_.stream_null != 0, &devices_);
  devices_ = host_devices();
  return Outcome();
}

/// Number of this process's first rank on its host, or the number that NCCL_TESTS_DEVICE specifies.
int Process::first_on_host() const {
  const char* given = environment("NCCL_TESTS_DEVICE");
  return given != nullptr ? std::atoi(given) : placement_.local_rank * ranks_per_process();
}

/// Collects what the first process prints about all ranks.
Outcome Process::share_ranks() {
  struct Line {
    int rank, group, pid, device;
    char host[64], hardware[128];
  };
  const int per_process = ranks_per_process();
  const std::string host = host_name();
  std::vector<Line> mine(static_cast<size_t>(per_process));
  for (int i = 0; i < per_process; ++i) {
    Line& line = mine[static_cast<size_t>(i)];
    const int device = devices_->of(first_on_host() + i);
    std::string hardware;
    WEIR_TRY(devices_->describe(device, &hardware));
    line = {placement_.rank * per_process + i, group_.group, getpid(), device, {}, {}};
    std::strncpy(line.host, host.c_str(), sizeof(line.host) - 1);
    std::strncpy(line.hardware, hardware.c_str(), sizeof(line.hardware) - 1);
  }
  std::string bytes;
  WEIR_TRY(control_->exchange(mine.data(), mine.size() * sizeof(Line), &bytes));
  std::vector<Line> lines(bytes.size() / sizeof(Line));
  std::memcpy(lines.data(), bytes.data(), bytes.size());
  for (const Line& line : lines)
    infos_.push_back({line.rank, line.group, line.pid, line.host, line.device, line.hardware});
  return Outcome();
}

/// Reduces the largest size to what the host or GPU with the least memory per rank can hold.
Outcome Process::agree_on_memory(Report* report) {
  const size_t buffers = 2;
  uint64_t most = UINT64_MAX;
  for (int i = 0; i < ranks_per_process(); ++i) {
    const RankInfo& own = infos_[static_cast<size_t>(placement_.rank * ranks_per_process() + i)];
    const auto shares = [&own](const RankInfo& other) {
      return own.host == other.host && own.hardware == other.hardware;
    };
    size_t available = 0;
    WEIR_TRY(devices_->available(own.device, &available));
    const size_t usable = available / 8 * 7;  // the rest is for the library and the system
    most = std::min(most, usable / static_cast<size_t>(std::ranges::count_if(infos_, shares)) / buffers);
  }
  std::string bytes;
  WEIR_TRY(control_->exchange(&most, sizeof(most), &bytes));
  for (size_t at = 0; at < bytes.size(); at += sizeof(most)) {
    uint64_t other = 0;
    std::memcpy(&other, bytes.data() + at, sizeof(other));
    most = std::min(most, other);
  }
  if (most >= options_.max_bytes) return Outcome();
  options_.max_bytes = most;
  options_.min_bytes = std::min(options_.min_bytes, options_.max_bytes);
  if (report != nullptr) report->say_reduced(options_.max_bytes);
  return Outcome();
}

Outcome Process::share_id(ncclUniqueId* id) {
  std::memset(id, 0, sizeof(*id));
  if (group_.index == 0) WEIR_TRY(nccl(ncclGetUniqueId(id)));
  std::string ids;
  WEIR_TRY(control_->exchange(id, sizeof(*id), &ids));
  std::memcpy(id, ids.data() + static_cast<size_t>(group_.first) * sizeof(*id), sizeof(*id));
  return Outcome();
}

Outcome Process::join_all(const ncclUniqueId& id) {
  WEIR_TRY(nccl(ncclGroupStart()));
  Outcome joined;
  for (std::unique_ptr<Ranks>& ranks : ranks_)
    if (joined.ok()) joined = ranks->join(id);
  Outcome end = nccl(ncclGroupEnd());
  return joined.ok() ? std::move(end) : std::move(joined);
}

Outcome Process::work(int thread, const ncclUniqueId& id, Report* report) {
  Ranks& ranks = *ranks_[static_cast<size_t>(thread)];
  if (options_.parallel_init) WEIR_TRY(ranks.join(id));
  WEIR_TRY(ranks.allocate(options_.max_bytes));
  WEIR_TRY(team_->barrier(thread));
  Limit limit;
  if (options_.limit) {
    const int first = placement_.rank * ranks_per_process() + thread * options_.gpus;
    WEIR_TRY(limit.measure(*team_, thread, ranks, infos_, first, group_.group, options_.max_bytes));
  }
  if (report != nullptr) {
    for (const std::string& line : limit.lines()) report->say(line);
    report->begin_table();
  }
  Worker worker({collective_, options_, *team_, *watchdog_, placement_.local_rank == 0,
                 options_.limit ? &limit : nullptr},
                thread, ranks, report);
  WEIR_TRY(worker.run());
  // Wait for all ranks, because an early end would look like a failure to the others.
  WEIR_TRY(team_->barrier(thread));
  return ranks.leave();
}

/// Unblocks the other threads; if that does not work, the process exits.
void Process::give_up(const Outcome& why) {
  std::thread([text = why.report(), code = static_cast<int>(why.code())] {
    std::this_thread::sleep_for(kGrace);
    fmt::print("{}", text);
    fflush(stdout);
    _exit(code);
  }).detach();
  team_->fail();
  abort_all();
}

/// The calling thread is the first one.
Outcome Process::work_in_threads(const ncclUniqueId& id, Report* report) {
  auto guarded = [this, &id](int thread, Report* its_report) {
    Outcome outcome = work(thread, id, its_report);
    if (!outcome.ok()) give_up(outcome);
    return outcome;
  };
  std::vector<std::future<Outcome>> others;
  for (int thread = 1; thread < options_.threads; ++thread) {
    std::packaged_task<Outcome()> task([&guarded, thread] { return guarded(thread, nullptr); });
    others.push_back(task.get_future());
    std::thread(std::move(task)).detach();
  }
  Outcome first = guarded(0, report);
  for (std::future<Outcome>& other : others) {
    Outcome outcome = other.get();
    // The original error is more useful than "another thread has failed".
    if (first.ok() || (first.code() == ExitCode::internal && !outcome.ok())) first = std::move(outcome);
  }
  return first;
}

void Process::abort_all() {
  for (std::unique_ptr<Ranks>& ranks : ranks_) ranks->abort();
}

void Process::end_late() {
  fmt::print("{}: Test timeout ({}s) {}:{}\n", host_name(), options_.timeout_s, "run.cc", __LINE__);
  fflush(stdout);
  alarm(static_cast<unsigned>(kGrace.count()));  // in case abort() does not return
  abort_all();
  _exit(static_cast<int>(ExitCode::timeout));
}

Outcome Process::run(Report* report) {
  int version = 0;
  WEIR_TRY(nccl(ncclGetVersion(&version)));
  WEIR_TRY(refuse_impossible());
  WEIR_TRY(find_devices());
  WEIR_TRY(share_ranks());
  if (report != nullptr) report->begin(infos_, version);
  WEIR_TRY(agree_on_memory(report));
  ncclUniqueId id;
  WEIR_TRY(share_id(&id));

  const int first = group_.index * ranks_per_process(), size = group_.size * ranks_per_process();
  for (int i = 0; i < ranks_per_process(); i += options_.gpus) {
    ranks_.push_back(std::make_unique<Ranks>(options_, first + i, options_.gpus, size));
    WEIR_TRY(ranks_.back()->open(*devices_, first_on_host() + i));
  }
  team_ = std::make_unique<Team>(*control_, options_.threads);
  watchdog_ = std::make_unique<Watchdog>(options_.timeout_s, options_.threads, [this] { end_late(); });
  if (!options_.parallel_init) {
    watchdog_->arm(0);
    WEIR_TRY(join_all(id));
    watchdog_->disarm(0);
  }
  return work_in_threads(id, report);
}

std::string memory_line() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return fmt::format("{:20} : Total {} MiB in the first process", "Host memory usage",
                     usage.ru_maxrss / 1024);
}

std::optional<double> minimum_bandwidth() {
  const char* text = environment("NCCL_TESTS_MIN_BW");
  if (text == nullptr) return std::nullopt;
  return std::strtod(text, nullptr);
}

}  // namespace

int run_program(const Collective& collective, int argc, char** argv) {
  CommandLine line = parse_command_line(argc, argv);
  if (line.exit_code) {
    fmt::print("{}", line.text);
    return *line.exit_code;
  }
  const bool launched = was_launched();
  if (line.options.ranks > 0 && !launched) {
    // Printed before the ranks are bound, since a bound rank may see only its own cores.
    if (std::string found = library_description(); !found.empty()) fmt::print("# {}\n", found);
    fflush(stdout);
    Outcome failed = launch(line.options, argc, argv);
    fmt::print("{}", failed.report());
    return static_cast<int>(failed.code());
  }

  Process process(collective, line.options);
  Outcome outcome = process.meet();
  std::unique_ptr<Report> report;
  if (outcome.ok() && process.is_first()) {
    report = std::make_unique<Report>(std::string(collective.program), line.options, argc, argv);
  }
  if (outcome.ok()) outcome = process.run(report.get());
  if (!outcome.ok()) fmt::print("{}", outcome.report());
  ExitCode code = outcome.code();
  if (report) code = report->finish(outcome, minimum_bandwidth(), line.options.memory ? memory_line() : "");
  fflush(stdout);
  return static_cast<int>(code);
}

}  // namespace weir::perf
