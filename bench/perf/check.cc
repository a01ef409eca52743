// SPDX-License-Identifier: Apache-2.0
// A worker's check: fill the buffers, run once, compare.
#include <algorithm>

#include "bench/perf/pattern.h"
#include "bench/perf/worker.h"

namespace weir::perf {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 10;  ///< bytes that are copied through host memory at a time
constexpr char kPoison = '\x5a';                  ///< value of receive buffers before the operation

Pattern pattern_of(const Collective& collective, const Job& job, int ranks, uint64_t seed) {
  return collective.reduces ? Pattern(job.type, job.op.op, ranks, seed) : Pattern(job.type, seed);
}

Outcome copy_now(const LocalRank& rank, void* to, const void* from, size_t bytes) {
  WEIR_TRY(rank.memory->copy(to, from, bytes));
  return rank.memory->synchronize();
}

}  // namespace

Outcome Worker::fill(const Job& job, const LocalRank& rank, bool in_place, uint64_t seed) {
  char block[kBlockBytes];
  Call c = call(job, rank, in_place);
  std::fill_n(block, kBlockBytes, kPoison);
  for (size_t at = 0; at < job.recv_bytes(); at += kBlockBytes)
    WEIR_TRY(
        copy_now(rank, static_cast<char*>(c.recv) + at, block, std::min(kBlockBytes, job.recv_bytes() - at)));

  const Pattern pattern = pattern_of(collective_, job, ranks_.size(), seed);
  const size_t elements = kBlockBytes / job.type.size;
  auto* send = static_cast<char*>(const_cast<void*>(c.send));
  for (size_t at = 0; at < job.layout.send; at += elements) {
    size_t count = std::min(elements, job.layout.send - at);
    pattern.input(block, rank.rank, at, count);
    WEIR_TRY(copy_now(rank, send + at * job.type.size, block, count * job.type.size));
  }
  return Outcome();
}

Outcome Worker::count_wrong(const Job& job, const LocalRank& rank, bool in_place, uint64_t seed,
                            double* wrong) {
  char block[kBlockBytes];
  const Pattern pattern = pattern_of(collective_, job, ranks_.size(), seed);
  const size_t elements = kBlockBytes / job.type.size;
  const char* recv = static_cast<const char*>(call(job, rank, in_place).recv);
  for (const Segment& segment : collective_.expected(job.layout, rank.rank, ranks_.size(), job.root)) {
    for (size_t at = 0; at < segment.count; at += elements) {
      size_t count = std::min(elements, segment.count - at);
      WEIR_TRY(copy_now(rank, block, recv + (segment.at + at) * job.type.size, count * job.type.size));
      *wrong += static_cast<double>(pattern.wrong(block, segment.from, segment.source_at + at, count));
    }
  }
  return Outcome();
}

Outcome Worker::check(const Job& job, bool in_place, double* wrong) {
  double mine = 0;
  for (int round = 0; round < options_.checks; ++round) {
    // The seed differs between checks, so that the result of an earlier check is not correct for this one.
    const uint64_t seed = (job.bytes() * 2 + in_place) * 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(round);
    for (const LocalRank& rank : ranks_.local()) WEIR_TRY(fill(job, rank, in_place, seed));
    WEIR_TRY(run_once(job, in_place));
    for (const LocalRank& rank : ranks_.local()) WEIR_TRY(count_wrong(job, rank, in_place, seed, &mine));
  }
  return team_.sum(thread_, mine, wrong);
}

}  // namespace weir::perf
