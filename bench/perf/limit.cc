// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/perf/control.h"
#include "bench/perf/pattern.h"

namespace weir::perf {
namespace {

// More than a GPU's caches hold; enough to measure the bandwidth of its memory.
constexpr size_t kLeastCopied = size_t{64} << 20;
constexpr size_t kMostCopied = size_t{256} << 20;
constexpr int kCopies = 8;  ///< copies queued at a time, to hide their start
constexpr int kRounds = 2;

using Ranges = std::vector<std::pair<size_t, size_t>>;  ///< begin and end of each range, in elements

/// Number of elements in the union of the ranges.
size_t covered(Ranges& ranges) {
  std::sort(ranges.begin(), ranges.end());
  size_t sum = 0, end = 0;
  for (const auto& [from, to] : ranges) {
    if (to > end) sum += to - std::max(from, end);
    end = std::max(end, to);
  }
  return sum;
}

Outcome time_copies(Memory& memory, char* to, const char* from, size_t bytes, double* bandwidth) {
  for (int round = 0; round <= kRounds; ++round) {  // the first round warms up
    const auto begin = Clock::now();
    for (int i = 0; i < kCopies; ++i) WEIR_TRY(memory.copy(to, from, bytes));
    WEIR_TRY(memory.synchronize());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (round > 0) *bandwidth = std::max(*bandwidth, 2.0 * kCopies * static_cast<double>(bytes) / seconds);
  }
  return Outcome();
}

/// Copies between two buffers that are freed afterwards.
Outcome measure_copies(Memory& memory, size_t bytes, double* bandwidth) {
  void *to = nullptr, *from = nullptr;
  Outcome outcome = memory.allocate(bytes, false, &to);
  if (outcome.ok()) outcome = memory.allocate(bytes, false, &from);
  if (outcome.ok())
    outcome = time_copies(memory, static_cast<char*>(to), static_cast<const char*>(from), bytes, bandwidth);
  memory.release(from, false);
  memory.release(to, false);
  return outcome;
}

}  // namespace

std::vector<size_t> bytes_to_move(const Collective& collective, const Layout& layout, size_t type_size,
                                  int ranks, int root, bool in_place) {
  std::vector<size_t> written(static_cast<size_t>(ranks), 0);
  std::vector<Ranges> read(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto own = static_cast<size_t>(rank);
    for (const Segment& segment : collective.expected(layout, rank, ranks, root)) {
      const bool reduced = segment.from == Pattern::kReduced;
      const bool there =
          in_place && !reduced && segment.from == rank &&
          segment.at + own * layout.recv_in_place == segment.source_at + own * layout.send_in_place;
      if (there) continue;
      written[own] += segment.count;
      const std::pair range{segment.source_at, segment.source_at + segment.count};
      for (int from = 0; from < ranks; ++from)
        if (reduced || from == segment.from) read[static_cast<size_t>(from)].push_back(range);
    }
  }
  for (size_t rank = 0; rank < written.size(); ++rank)
    written[rank] = (written[rank] + covered(read[rank])) * type_size;
  return written;
}

Outcome Limit::measure(Team& team, int thread, Ranks& ranks, const std::vector<RankInfo>& all, int first,
                       int group, size_t largest) {
  std::map<std::string, size_t> by_name;
  std::vector<size_t> measuring;  // for each GPU, the index in `all` of the rank that measures it
  std::vector<double> mine(ranks.local().size(), 0.0);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = fmt::format("{} {}", all[i].host, all[i].hardware);
    const auto [at, added] = by_name.emplace(name, gpus_.size());
    if (added) {
      gpus_.push_back({name, 0, 0});
      measuring.push_back(i);
    }
    if (all[i].group != group) continue;
    ++gpus_[at->second].ranks;
    gpu_of_.push_back(at->second);
  }
  const size_t bytes = std::clamp(largest, kLeastCopied, kMostCopied);
  for (size_t i = 0; i < mine.size(); ++i)
    if (std::find(measuring.begin(), measuring.end(), static_cast<size_t>(first) + i) != measuring.end())
      WEIR_TRY(measure_copies(*ranks.local()[i].memory, bytes, &mine[i]));
  std::vector<double> measured;
  WEIR_TRY(team.exchange(thread, mine, &measured));
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) gpus_[gpu].bandwidth = measured[measuring[gpu]];
  return Outcome();
}

double Limit::seconds(const Collective& collective, const Layout& layout, size_t type_size, int root,
                      bool in_place) const {
  std::vector<double> on_gpu(gpus_.size(), 0.0);
  const auto bytes =
      bytes_to_move(collective, layout, type_size, static_cast<int>(gpu_of_.size()), root, in_place);
  for (size_t rank = 0; rank < gpu_of_.size(); ++rank)
    on_gpu[gpu_of_[rank]] += static_cast<double>(bytes[rank]);
  double slowest = 0;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu)
    slowest = std::max(slowest, on_gpu[gpu] / gpus_[gpu].bandwidth);
  return slowest;
}

std::vector<std::string> Limit::lines() const {
  std::vector<std::string> lines;
  for (const Gpu& gpu : gpus_)
    if (gpu.ranks > 0)
      lines.push_back(fmt::format("Limit: {} with {} ranks reads and writes {:.1f} GB/s", gpu.name, gpu.ranks,
                                  gpu.bandwidth / 1e9));
  return lines;
}

}  // namespace weir::perf
