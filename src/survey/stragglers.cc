// SPDX-License-Identifier: Apache-2.0

#include "src/survey/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::survey {
namespace {

/// Whether no rank can end such an operation before all have begun it.
bool ends_together(const core::OperationReport& one) {
  if (one.operation.call != core::OperationSummary::Call::collective) return false;
  switch (one.operation.kind()) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return true;
    default: return false;
  }
}

/// The duration of each call on each rank of a communicator.
struct Durations {
  size_t ranks = 0;
  std::map<uint64_t, std::map<Rank, int64_t>> by_call;
};

std::map<std::string, Durations> durations_of(const std::vector<QueriedProcess>& asked) {
  std::map<std::string, Durations> out;
  for (const QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators) {
      Durations& durations = out[one.id];
      durations.ranks = static_cast<size_t>(std::max(one.ranks, 0));
      for (const core::OperationReport& operation : one.recent)
        if (operation.ended && operation.exact && operation.took_ns > 0 && ends_together(operation))
          durations.by_call[operation.call][one.rank] = operation.took_ns;
    }
  }
  return out;
}

/// The rank that was in the call for the shortest time, and by how much less than the median of the others.
std::pair<Rank, int64_t> last_of(const std::map<Rank, int64_t>& durations) {
  const auto last = std::ranges::min_element(durations, {}, [](const auto& one) { return one.second; });
  std::vector<int64_t> others;
  for (const auto& [rank, took] : durations)
    if (rank != last->first) others.push_back(took);
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::ranges::nth_element(others, middle);
  return {last->first, *middle - last->second};
}

std::string time_words(double ns) {
  return ns < 1e6 ? fmt::format("{:.1f} us", ns / 1e3) : fmt::format("{:.1f} ms", ns / 1e6);
}

}  // namespace

void Stragglers::add(const std::vector<QueriedProcess>& asked) {
  for (const auto& [id, durations] : durations_of(asked)) {
    if (durations.ranks < 2) continue;
    Seen& seen = communicators_[id];
    for (const auto& [call, by_rank] : durations.by_call) {
      if (call <= seen.newest || by_rank.size() < durations.ranks) continue;
      const auto [last, behind_ns] = last_of(by_rank);
      seen.newest = call;
      seen.calls.push_back({last, behind_ns});
      if (seen.calls.size() > kMostCalls) seen.calls.pop_front();
      StragglerReport& total = seen.total[last];
      ++total.calls;
      total.behind_ns += behind_ns;
    }
  }
}

std::map<Rank, StragglerReport> Stragglers::recent(const std::string& communicator) const {
  std::map<Rank, StragglerReport> out;
  const auto seen = communicators_.find(communicator);
  if (seen == communicators_.end()) return out;
  for (const Call& call : seen->second.calls) {
    StragglerReport& count = out[call.last];
    ++count.calls;
    count.behind_ns += call.behind_ns;
  }
  return out;
}

std::map<Rank, StragglerReport> Stragglers::total(const std::string& communicator) const {
  const auto seen = communicators_.find(communicator);
  return seen == communicators_.end() ? std::map<Rank, StragglerReport>() : seen->second.total;
}

std::string Stragglers::text() const {
  std::string out;
  for (const auto& [id, seen] : communicators_) {
    if (seen.calls.empty()) continue;
    const auto counts = recent(id);
    const auto& [rank, count] =
        *std::ranges::max_element(counts, {}, [](const auto& one) { return one.second.calls; });
    const auto calls = static_cast<double>(count.calls);
    out +=
        fmt::format("communicator {}: rank {} was last in {:.0f} % of {} timed calls, {} behind the others\n",
                    id, rank, 100 * calls / static_cast<double>(seen.calls.size()), seen.calls.size(),
                    time_words(static_cast<double>(count.behind_ns) / calls));
  }
  return out;
}

}  // namespace weir::survey
