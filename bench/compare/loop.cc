// SPDX-License-Identifier: Apache-2.0

#include "bench/compare/loop.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <sstream>
#include <stop_token>
#include <thread>

namespace compare {
namespace {

constexpr std::array<std::string_view, kOps> kNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                       "broadcast",  "reduce",     "all_to_all",
                                                       "gather",     "scatter",    "sendrecv"};
constexpr int kRoot = 0;
constexpr size_t kMostChecked = 1 << 16;
constexpr size_t kPage = 4096;
constexpr size_t kMostCalls = 50'000;  // in a batch: a call may take a hundred times as long in the next one

[[noreturn]] void refuse(const std::string& sentence) {
  std::fprintf(stderr, "compare: %s\n", sentence.c_str());
  std::exit(2);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Op op_of(const std::string& name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) refuse("unknown operation '" + name + "'; see bench/compare/loop.h");
  return static_cast<Op>(found - kNames.begin());
}

/// Element i of a rank's input; small integers, so that sums are exact in any order.
float pattern(int rank, size_t i) { return static_cast<float>((rank + 1) * static_cast<int>(i % 7 + 1)); }

float expected(const Call& call, int rank, int ranks, size_t i) {
  const size_t block = i / call.count;
  const size_t within = i % call.count;
  const size_t own = static_cast<size_t>(rank) * call.count;
  const int sum = ranks * (ranks + 1) / 2;
  switch (call.op) {
    case Op::all_reduce:
    case Op::reduce: return static_cast<float>(sum) * pattern(0, i);
    case Op::reduce_scatter: return static_cast<float>(sum) * pattern(0, own + i);
    case Op::all_gather:
    case Op::gather: return pattern(static_cast<int>(block), within);
    case Op::all_to_all: return pattern(static_cast<int>(block), own + within);
    case Op::broadcast: return pattern(kRoot, i);
    case Op::scatter: return pattern(kRoot, own + i);
    case Op::sendrecv: return pattern((rank + ranks - 1) % ranks, i);
  }
  return 0;
}

size_t output_count(const Call& call, int rank, int ranks) {
  const size_t all = call.count * static_cast<size_t>(ranks);
  switch (call.op) {
    case Op::all_gather:
    case Op::all_to_all: return all;
    case Op::gather: return rank == kRoot ? all : 0;
    case Op::reduce: return rank == kRoot ? call.count : 0;
    case Op::broadcast: return rank == kRoot ? 0 : call.count;
    default: return call.count;
  }
}

bool right(const Call& call, int rank, int ranks) {
  const size_t count = output_count(call, rank, ranks);
  const size_t step = std::max<size_t>(1, count / kMostChecked) | 1;
  for (size_t i = 0; i < count; i += step) {
    const float want = expected(call, rank, ranks, i);
    if (call.output[i] == want) continue;
    std::fprintf(stderr, "compare: %s, rank %d, element %zu of %zu: got %g, expected %g\n",
                 std::string(name_of(call.op)).c_str(), rank, i, count, static_cast<double>(call.output[i]),
                 static_cast<double>(want));
    return false;
  }
  return true;
}

/// Threads and processes that compute until the end.
class Computing {
 public:
  Computing(int threads, int processes) {
    for (int i = 0; i < processes; ++i) {
      const pid_t child = fork();
      if (child < 0) refuse("cannot start a process that computes");
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        compute([] { return getppid() == 1; });
        _exit(0);
      }
      processes_.push_back(child);
    }
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back(
          [](const std::stop_token& stop) { compute([&] { return stop.stop_requested(); }); });
    }
  }
  ~Computing() {
    for (const pid_t process : processes_) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  template <typename Over>
  static void compute(Over over) {
    volatile unsigned sum = 0;
    while (!over()) {
      for (int i = 0; i < 1 << 20; ++i) sum = sum + 1;
    }
  }

  std::vector<std::jthread> threads_;
  std::vector<pid_t> processes_;
};

double time_calls(Library& library, const Call& call, size_t calls) {
  const double begin = seconds();
  for (size_t i = 0; i < calls; ++i) library.run(call);
  return (seconds() - begin) / static_cast<double>(calls);
}

/// Microseconds per call, once per batch. Batches are short, so that many of them run undisturbed, but longer
/// than the start-up skew of the ranks. The fastest batch so far determines the number of calls per batch.
/// All ranks know the same times and therefore decide alike.
struct Batches {
  std::vector<double> times;
  size_t calls = 0;
};

Batches run_batches(Library& library, Control& control, const Call& call, const LoopOptions& options) {
  const double budget = options.budget_ms * 1e-3;
  const double aim = options.batch_ms > 0 ? options.batch_ms * 1e-3 : control.crowded() ? 3e-3 : 2e-4;
  Batches batches;
  double best = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (size_t calls = 1; batches.times.size() < 3 || spent < budget;) {
    control.barrier();
    const double each = control.most(time_calls(library, call, calls));
    spent += each * static_cast<double>(calls);
    best = std::min(best, each);
    if (best * static_cast<double>(calls) >= aim / 2 || calls == kMostCalls) {
      batches.times.push_back(each * 1e6);
      batches.calls += calls;
    }
    calls = std::clamp<size_t>(static_cast<size_t>(aim / best), 1, std::min(calls * 4, kMostCalls));
  }
  return batches;
}

bool measure(Library& library, Control& control, const Call& call, size_t bytes, const LoopOptions& options) {
  const int rank = control.rank();
  const int ranks = control.ranks();
  std::fill_n(call.output, output_count(call, rank, ranks), -1.0F);
  library.prepare(call);
  control.barrier();
  library.run(call);
  control.barrier();  // where ranks write to outputs of others
  const bool ok = control.most(right(call, rank, ranks) ? 0 : 1) == 0;
  auto [times, calls] = run_batches(library, control, call, options);
  if (rank != 0) return ok;
  std::sort(times.begin(), times.end());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  std::printf(
      "{\"op\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"median_us\":%.4f,\"avg_us\":%.4f,\"min_us\":%.4f,"
      "\"calls\":%zu,\"ok\":%s}\n",
      std::string(name_of(call.op)).c_str(), ranks, bytes, times[times.size() / 2], mean, times[0], calls,
      ok ? "true" : "false");
  std::fflush(stdout);
  return ok;
}

}  // namespace

std::string_view name_of(Op op) { return kNames[static_cast<size_t>(op)]; }

float* allocate_ordinary(size_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  if (memory == nullptr) refuse("cannot allocate buffers of " + std::to_string(bytes) + " bytes");
  return static_cast<float*>(memory);
}

size_t count_of(Op op, size_t bytes, int ranks) {
  const size_t floats = bytes / sizeof(float);
  switch (op) {
    case Op::all_reduce:
    case Op::broadcast:
    case Op::reduce:
    case Op::sendrecv: return floats;
    default: return floats / static_cast<size_t>(ranks);
  }
}

LoopOptions parse(int argc, char** argv) {
  LoopOptions options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) refuse("option " + name + " has no value");
    const std::string value = argv[i + 1];
    if (name == "--ranks") {
      options.ranks = std::atoi(value.c_str());
    } else if (name == "--rank") {
      options.rank = std::atoi(value.c_str());
    } else if (name == "--control") {
      options.control = value;
    } else if (name == "--interface") {
      options.interface = value;
    } else if (name == "--pin") {
      options.pinned = value != "0";
    } else if (name == "--mode") {
      options.mode = value;
    } else if (name == "--budget-ms") {
      options.budget_ms = std::atof(value.c_str());
    } else if (name == "--batch-ms") {
      options.batch_ms = std::atof(value.c_str());
    } else if (name == "--computing") {
      options.computing = std::atoi(value.c_str());
    } else if (name == "--hogs") {
      options.hogs = std::atoi(value.c_str());
    } else if (name == "--ops") {
      for (const std::string& part : split(value)) options.ops.push_back(op_of(part));
    } else if (name == "--sizes") {
      for (const std::string& part : split(value))
        options.sizes.push_back(std::strtoull(part.c_str(), nullptr, 10));
    } else {
      refuse("unknown option " + name);
    }
  }
  if (options.ops.empty()) options.ops = {Op::all_reduce};
  if (options.sizes.empty()) {
    for (size_t bytes = 8; bytes <= size_t{128} << 20; bytes *= 8) options.sizes.push_back(bytes);
  }
  if (!(options.budget_ms > 0)) refuse("--budget-ms is too small; expected more than 0");
  if (options.rank >= 0 && (options.control.empty() || options.rank >= options.ranks))
    refuse("--rank needs --control, and --ranks larger than --rank");
  return options;
}

Control begin(const LoopOptions& options) {
  const int ranks = options.ranks == 0 ? 2 : options.ranks;
  if (options.rank >= 0) {
    if (options.pinned) pin(options.rank);
    return Control::shared_by_file(options.control, options.rank, ranks);
  }
  Control control = Control::shared_by_fork(ranks);
  control.adopt(fork_ranks(ranks, options.pinned));
  return control;
}

int end(const LoopOptions& options, const Control& control, int code) {
  if (options.rank >= 0 || control.rank() != 0) return code;
  const int others = wait_for_ranks();
  return code != 0 ? code : others;
}

int run_loop(Library& library, Control& control, const LoopOptions& options) {
  const size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  float* input = library.allocate(most);
  float* output = library.allocate(most);
  for (size_t i = 0; i < most / sizeof(float); ++i) input[i] = pattern(control.rank(), i);
  bool ok = true;
  const Computing computing(options.computing, control.rank() == 0 ? options.hogs : 0);
  for (const Op op : options.ops) {
    if (!library.does(op)) continue;
    for (const size_t bytes : options.sizes) {
      const size_t count = count_of(op, bytes, control.ranks());
      if (count > 0) ok &= measure(library, control, {op, count, input, output}, bytes, options);
    }
  }
  control.barrier();
  library.release(output);
  library.release(input);
  return ok ? 0 : 1;
}

}  // namespace compare
