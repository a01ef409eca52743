// SPDX-License-Identifier: Apache-2.0
// The timed loop of a worker.
#include <algorithm>

#include "bench/perf/pattern.h"
#include "bench/perf/worker.h"

namespace weir::perf {
namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Call Worker::call(const Job& job, const LocalRank& rank, bool in_place) const {
  const size_t unit = static_cast<size_t>(rank.rank) * job.type.size;
  Call call{};
  const size_t unaligned = static_cast<size_t>(options_.unalign) * job.type.size;
  char* const recv = rank.recv + unaligned;
  call.send = in_place ? recv + unit * job.layout.send_in_place : rank.send + unaligned;
  call.recv = in_place ? recv + unit * job.layout.recv_in_place : recv;
  call.count = job.layout.count;
  call.type = job.type.type;
  call.op = job.op.builtin;
  call.root = job.root;
  call.rank = rank.rank;
  call.ranks = ranks_.size();
  call.type_size = job.type.size;
  call.comm = rank.communicator;
  call.stream = rank.memory->stream();
  return call;
}

/// Number of bytes, in whole operations, by which the buffers exceed one operation: successive iterations use
/// successive parts, so that addresses change and caches do not help.
size_t Worker::largest_shift(const Job& job) const {
  const size_t bytes = job.bytes();
  return bytes == 0 || bytes > options_.max_bytes ? 0 : (options_.max_bytes / bytes - 1) * bytes;
}

Outcome Worker::complete() {
  watchdog_.arm(thread_);
  for (LocalRank& rank : ranks_.local()) WEIR_TRY(rank.memory->synchronize());
  watchdog_.disarm(thread_);
  return ranks_.asynchronous_error();
}

/// Starts one operation of every rank of this thread.
Outcome Worker::start(const Job& job, bool in_place, size_t shift) {
  watchdog_.arm(thread_);
  const bool group = ranks_.local().size() > 1;
  if (group) WEIR_TRY(nccl(ncclGroupStart()));
  for (const LocalRank& rank : ranks_.local()) {
    Call c = call(job, rank, in_place);
    c.send = static_cast<const char*>(c.send) + shift;
    c.recv = static_cast<char*>(c.recv) + shift;
    if (job.op.op == Op::mulsum && collective_.reduces)
      WEIR_TRY(start_scaled(job, c));
    else
      WEIR_TRY(nccl(collective_.run(c)));
  }
  if (group) WEIR_TRY(nccl(ncclGroupEnd()));
  watchdog_.disarm(thread_);
  return Outcome();
}

Outcome Worker::start_scaled(const Job& job, Call c) {
  WEIR_TRY(with_type(job.type.type, [&]<typename T>(std::type_identity<T>) {
    const int factor = Pattern::mulsum_factor(c.rank);
    T scalar;
    if constexpr (kIsSmallFloat<T>)
      scalar = T::from(factor);
    else
      scalar = static_cast<T>(factor);
    return nccl(ncclRedOpCreatePreMulSum(&c.op, &scalar, c.type, ncclScalarHostImmediate, c.comm));
  }));
  WEIR_TRY(nccl(collective_.run(c)));
  return nccl(ncclRedOpDestroy(c.op, c.comm));
}

/// The loop for one rank and one operation at a time; it contains only the call.
Outcome Worker::run_plain(const Job& job, bool in_place, int iterations) {
  Call c = call(job, ranks_.local().front(), in_place);
  const char* const send = static_cast<const char*>(c.send);
  char* const recv = static_cast<char*>(c.recv);
  const size_t step = job.bytes(), last = largest_shift(job);
  auto* const run = collective_.run;
  size_t shift = 0;
  for (int i = 0; i < iterations; ++i) {
    c.send = send + shift;
    c.recv = recv + shift;
    if (ncclResult_t result = run(c); result != ncclSuccess) [[unlikely]]
      return nccl_failure(result);
    shift = shift == last ? 0 : shift + step;
  }
  return Outcome();
}

Outcome Worker::run_general(const Job& job, bool in_place, int iterations, std::vector<double>* times,
                            double* untimed) {
  const size_t step = job.bytes(), last = largest_shift(job);
  size_t shift = 0;
  for (int i = 0; i < iterations; ++i) {
    auto begin = Clock::now();
    if (options_.aggregated > 1) WEIR_TRY(nccl(ncclGroupStart()));
    for (int j = 0; j < options_.aggregated; ++j) {
      WEIR_TRY(start(job, in_place, shift));
      shift = shift == last ? 0 : shift + step;
    }
    if (options_.aggregated > 1) WEIR_TRY(nccl(ncclGroupEnd()));
    if (times == nullptr) continue;  // during a capture nothing runs yet
    if (options_.blocking != 0 || options_.per_iteration) WEIR_TRY(complete());
    if (options_.per_iteration && i >= options_.per_iteration_skip)
      times->push_back(seconds_since(begin) * 1e6);
    if (options_.blocking != 1 && options_.blocking != 3) continue;
    auto before = Clock::now();
    WEIR_TRY(team_.exchange(thread_, {}, nullptr));
    if (options_.blocking == 3) *untimed += seconds_since(before);
  }
  return Outcome();
}

/// Captures the iterations of a row on the streams of all ranks of this thread.
Outcome Worker::capture(const Job& job, bool in_place, int iterations) {
  for (const LocalRank& rank : ranks_.local()) {
    WEIR_TRY(rank.memory->select());
    WEIR_TRY(rank.memory->graph()->begin());
  }
  double untimed = 0;
  Outcome called = run_general(job, in_place, iterations, nullptr, &untimed);
  for (const LocalRank& rank : ranks_.local()) {
    Outcome ended = rank.memory->graph()->end();
    if (called.ok()) called = std::move(ended);  // a call that failed may have invalidated the capture
  }
  WEIR_TRY(std::move(called));
  for (const LocalRank& rank : ranks_.local()) {
    WEIR_TRY(rank.memory->select());
    WEIR_TRY(rank.memory->graph()->prepare());
  }
  return Outcome();
}

Outcome Worker::launch_graphs(int times) {
  for (int i = 0; i < times; ++i)
    for (const LocalRank& rank : ranks_.local()) WEIR_TRY(rank.memory->graph()->launch());
  return Outcome();
}

Outcome Worker::run_once(const Job& job, bool in_place) {
  if (options_.graph == 0) {
    WEIR_TRY(start(job, in_place, 0));
  } else {
    WEIR_TRY(capture(job, in_place, 1));
    WEIR_TRY(launch_graphs(1));
  }
  return complete();
}

Outcome Worker::time_graph(const Job& job, bool in_place, double* seconds) {
  WEIR_TRY(capture(job, in_place, options_.iterations));
  WEIR_TRY(net_.begin());
  WEIR_TRY(team_.barrier(thread_));
  watchdog_.arm(thread_);
  auto begin = Clock::now();
  WEIR_TRY(launch_graphs(options_.graph));
  const double returned = seconds_since(begin);
  WEIR_TRY(complete());
  const double completed = seconds_since(begin);
  WEIR_TRY(net_.end());
  *seconds =
      (options_.cpu_time ? returned : completed) / options_.iterations / options_.aggregated / options_.graph;
  return Outcome();
}

Outcome Worker::time_iterations(const Job& job, bool in_place, double* seconds, std::vector<double>* times) {
  const bool scaled = job.op.op == Op::mulsum && collective_.reduces;
  const bool plain = ranks_.local().size() == 1 && options_.aggregated == 1 && options_.blocking == 0 &&
                     !options_.per_iteration && !scaled;
  WEIR_TRY(start(job, in_place, 0));
  WEIR_TRY(complete());
  if (options_.graph > 0) return time_graph(job, in_place, seconds);
  WEIR_TRY(net_.begin());
  WEIR_TRY(team_.barrier(thread_));
  watchdog_.arm(thread_);
  double untimed = 0;
  auto begin = Clock::now();
  if (plain)
    WEIR_TRY(run_plain(job, in_place, options_.iterations));
  else
    WEIR_TRY(run_general(job, in_place, options_.iterations, times, &untimed));
  const double returned = seconds_since(begin);
  WEIR_TRY(complete());
  const double completed = seconds_since(begin);
  WEIR_TRY(net_.end());
  *seconds =
      ((options_.cpu_time ? returned : completed) - untimed) / options_.iterations / options_.aggregated;
  return Outcome();
}

}  // namespace weir::perf
