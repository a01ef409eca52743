// SPDX-License-Identifier: Apache-2.0

#include "src/survey/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace weir::survey {
namespace {

/// Whether all ranks should have the same count: those of sends and receives may differ.
bool is_compared(Collective kind) { return kind != Collective::send_recv; }

CommState standing_of(core::RankState state) {
  switch (state) {
    case core::RankState::joining: return CommState::init;
    case core::RankState::aborted: return CommState::abort;
    default: return CommState::running;
  }
}

/// Numbers the processes of the job.
class Processes {
  using Key = std::pair<std::string, int32_t>;  // host and pid

 public:
  explicit Processes(const std::vector<QueriedProcess>& asked) {
    std::map<Key, JobProcess> found;
    for (const QueriedProcess& one : asked) {
      JobProcess& process = found[{one.host, one.pid}];
      process.node = one.listener.valid() ? one.listener.host_text() : one.host;
      if (one.report) {
        process.gpus = gpus_of(*one.report);
        process.version = one.report->version;
      } else {
        process.state = one.dead ? JobProcess::State::dead : JobProcess::State::silent;
      }
    }
    for (const QueriedProcess& one : asked) {
      if (!one.report) continue;
      for (const core::CommunicatorReport& communicator : one.report->communicators) {
        for (const core::PeerAddress& peer : communicator.members) {
          const auto [at, is_new] = found.try_emplace({peer.hostname, peer.pid});
          if (is_new) at->second.state = JobProcess::State::silent;  // there is no answer: it was not asked
          at->second.node = peer.listener.host_text();
        }
      }
    }
    for (auto& [key, process] : found) {
      std::tie(process.host, process.pid) = key;
      all_.push_back(std::move(process));
    }
    std::ranges::sort(all_, {}, [](const JobProcess& one) { return std::tie(one.node, one.pid); });
    for (size_t i = 0; i < all_.size(); ++i) numbers_[{all_[i].host, all_[i].pid}] = i;
  }

  size_t number(const std::string& host, int32_t pid) const { return numbers_.at({host, pid}); }
  const JobProcess& operator[](size_t number) const { return all_[number]; }
  std::vector<JobProcess> take() { return std::move(all_); }

 private:
  static std::vector<int> gpus_of(const core::ProcessReport& report) {
    std::set<int> gpus;
    for (const core::CommunicatorReport& one : report.communicators) {
      if (one.gpu >= 0) gpus.insert(one.gpu);
    }
    return {gpus.begin(), gpus.end()};
  }

  std::vector<JobProcess> all_;
  std::map<Key, size_t> numbers_;
};

JobRank rank_of(const core::CommunicatorReport& report) {
  JobRank out;
  out.rank = report.rank;
  out.gpu = report.gpu;
  out.standing = standing_of(report.state);
  out.code = report.code;
  out.sentence = report.sentence;
  for (size_t kind = 0; kind < out.counts.size(); ++kind) out.counts[kind] = report.counts[kind].begun;
  if (report.state == core::RankState::waiting) {
    out.waiting_for = report.waiting_for;
    out.waiting_s = static_cast<double>(report.waiting_ns) / 1e9;
  }
  if (report.last) out.operation = core::describe(report.last->operation);
  return out;
}

void count_nodes(JobCommunicator& communicator, const Processes& processes) {
  std::map<std::string, int> ranks;
  for (const auto* const some : {&communicator.ranks, &communicator.missing}) {
    for (const JobRank& one : *some) ++ranks[processes[one.process].node];
  }
  communicator.nodes = static_cast<int>(ranks.size());
  communicator.least_per_node = communicator.size;
  for (const auto& [node, count] : ranks) {
    communicator.least_per_node = std::min(communicator.least_per_node, count);
    communicator.most_per_node = std::max(communicator.most_per_node, count);
  }
}

void judge(JobCommunicator& communicator, const Processes& processes) {
  std::set<CommState> standings;
  for (const JobRank& one : communicator.ranks) {
    standings.insert(one.standing);
    communicator.error = communicator.error || one.code != Code::success;
  }
  for (const JobRank& one : communicator.missing) {
    if (processes[one.process].state == JobProcess::State::answers)
      standings.insert(CommState::no_communicator);
    else
      ++communicator.silent;
  }
  communicator.standing = *standings.rbegin();
  communicator.incomplete = communicator.silent > 0;
  communicator.mismatch = standings.size() > 1;
  for (int kind = 0; kind < kCollectives; ++kind)
    communicator.mismatch = communicator.mismatch || communicator.differs_in(static_cast<Collective>(kind));
}

JobCommunicator communicator_of(const CommunicatorView& view, const Processes& processes) {
  JobCommunicator out;
  out.id = view.id;
  out.name = view.name;
  out.size = static_cast<int>(view.members.size());
  for (size_t rank = 0; rank < view.members.size(); ++rank) {
    const CommunicatorView::Member& member = view.members[rank];
    if (member.host.empty()) continue;  // no report names its host yet
    JobRank one;
    if (member.report) one = rank_of(*member.report);
    one.rank = static_cast<Rank>(rank);
    one.process = processes.number(member.host, member.pid);
    if (!member.report) one.standing = CommState::no_communicator;
    (member.report ? out.ranks : out.missing).push_back(std::move(one));
  }
  count_nodes(out, processes);
  judge(out, processes);
  return out;
}

/// The properties that communicators of a group share.
auto group_key(const JobCommunicator& one) {
  return std::tuple(one.size, one.nodes, one.standing, one.incomplete, one.error, one.mismatch);
}

/// Number of devices of a group. Ranks on host memory: the largest number that a process has in one
/// communicator.
int devices_of(const std::vector<JobCommunicator>& communicators, const JobGroup& group) {
  std::set<std::pair<size_t, int>> gpus;
  std::map<size_t, int> on_host;
  for (size_t i = group.first; i < group.first + group.count; ++i) {
    std::map<size_t, int> here;
    for (const JobRank& one : communicators[i].ranks) {
      if (one.gpu >= 0)
        gpus.insert({one.process, one.gpu});
      else
        ++here[one.process];
    }
    for (const auto& [process, count] : here) on_host[process] = std::max(on_host[process], count);
  }
  int devices = static_cast<int>(gpus.size());
  for (const auto& [process, count] : on_host) devices += count;
  return devices;
}

}  // namespace

std::string_view name(CommState standing) {
  constexpr std::string_view kNames[] = {"NOCOMM", "INIT", "RUNNING", "FINALIZE", "ABORT"};
  return kNames[static_cast<size_t>(standing)];
}

bool JobCommunicator::differs_in(Collective kind) const {
  if (!is_compared(kind) || ranks.empty()) return false;
  const auto count = [kind](const JobRank& one) { return one.counts[static_cast<size_t>(kind)]; };
  return std::ranges::any_of(ranks, [&](const JobRank& one) { return count(one) != count(ranks.front()); });
}

Job job_of(const std::vector<QueriedProcess>& asked, double seconds) {
  Processes processes(asked);
  Job job;
  job.seconds = seconds;
  for (const CommunicatorView& view : by_communicator(asked)) {
    // A malformed report may have no rank of its own; the communicator then has no report at all.
    if (std::ranges::none_of(view.members, [](const auto& one) { return one.report.has_value(); })) continue;
    job.communicators.push_back(communicator_of(view, processes));
  }
  std::ranges::sort(job.communicators, [](const JobCommunicator& a, const JobCommunicator& b) {
    return group_key(a) != group_key(b) ? group_key(a) > group_key(b) : a.id < b.id;
  });
  for (size_t i = 0; i < job.communicators.size(); ++i) {
    if (i == 0 || group_key(job.communicators[i]) != group_key(job.communicators[i - 1]))
      job.groups.push_back({i, 0, 0});
    ++job.groups.back().count;
  }
  for (JobGroup& group : job.groups) group.ranks = devices_of(job.communicators, group);
  for (const QueriedProcess& one : asked) {
    if (!one.report) continue;
    for (const core::ActivityRegistry::Joining& joining : one.report->joining)
      job.joining.push_back({processes.number(one.host, one.pid), joining.rank, joining.ranks,
                             static_cast<double>(one.report->time_ns - joining.since_ns) / 1e9});
  }
  job.processes = processes.take();
  return job;
}

}  // namespace weir::survey
