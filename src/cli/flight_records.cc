// SPDX-License-Identifier: Apache-2.0

#include "src/cli/flight_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace weir::cli {
namespace {

using core::CommunicatorReport;
using core::OperationReport;
using core::ProcessReport;
using nlohmann::ordered_json;
using Call = core::OperationSummary::Call;

constexpr const char* kVersion = "2.10";  ///< of PyTorch's format

/// A rank's report, and that of its process.
struct ReportedRank {
  const ProcessReport* process = nullptr;
  const CommunicatorReport* report = nullptr;
};

/// A communicator, put together from the reports of its processes.
struct JobCommunicator {
  std::string id;
  std::string name;
  std::vector<core::PeerAddress> members = {};  ///< by rank
  std::map<Rank, ReportedRank> ranks = {};      ///< that have reported
  std::vector<int> numbers = {};                ///< in the job, by rank
};

/// Of each process the latest report.
std::vector<const ProcessReport*> latest_of(const std::vector<ProcessReport>& reports) {
  std::vector<const ProcessReport*> out;
  for (const ProcessReport& report : reports) {
    const auto same = std::ranges::find_if(out, [&report](const ProcessReport* other) {
      return other->host == report.host && other->pid == report.pid;
    });
    if (same == out.end())
      out.push_back(&report);
    else if ((*same)->time_ns < report.time_ns)
      *same = &report;
  }
  return out;
}

/// Those whose ranks know each other.
std::vector<JobCommunicator> communicators_of(const std::vector<const ProcessReport*>& processes) {
  std::vector<JobCommunicator> out;
  for (const ProcessReport* process : processes) {
    for (const CommunicatorReport& report : process->communicators) {
      auto at = std::ranges::find(out, report.id, &JobCommunicator::id);
      if (at == out.end()) at = out.insert(out.end(), JobCommunicator{.id = report.id, .name = report.name});
      if (at->members.empty()) at->members = report.members;
      at->ranks.insert_or_assign(report.rank, ReportedRank{process, &report});
    }
  }
  std::erase_if(out, [](const JobCommunicator& one) {
    return one.members.empty() || one.ranks.begin()->first < 0 ||
           static_cast<size_t>(one.ranks.rbegin()->first) >= one.members.size();
  });
  return out;
}

/// The numbers of the ranks of a job: those of the largest communicator, and further ones for processes that
/// have no rank there.
class JobNumbers {
 public:
  explicit JobNumbers(const JobCommunicator& largest) {
    for (const core::PeerAddress& member : largest.members) by_process_[key(member)].push_back(next_++);
  }
  /// Gives the ranks of a communicator their numbers. False: it is not known which of the ranks of a process
  /// are in it.
  bool number(JobCommunicator& communicator) {
    std::map<std::string, std::vector<Rank>> ranks;
    for (size_t rank = 0; rank < communicator.members.size(); ++rank)
      ranks[key(communicator.members[rank])].push_back(static_cast<Rank>(rank));
    communicator.numbers.resize(communicator.members.size());
    for (const auto& [process, own] : ranks) {
      const auto [known, is_new] = by_process_.try_emplace(process);
      for (size_t i = 0; is_new && i < own.size(); ++i) known->second.push_back(next_++);
      if (known->second.size() != own.size()) return false;
      for (size_t i = 0; i < own.size(); ++i)
        communicator.numbers[static_cast<size_t>(own[i])] = known->second[i];
    }
    return true;
  }

 private:
  static std::string key(const core::PeerAddress& member) {
    return fmt::format("{} {} {}", member.hostname, member.pid, member.listener.text());
  }
  std::map<std::string, std::vector<int>> by_process_;
  int next_ = 0;
};

bool is_collective(const OperationReport& one) { return one.operation.call == Call::collective; }
bool is_message(const OperationReport& one) {
  return one.operation.call == Call::send || one.operation.call == Call::receive;
}
/// Whether it has begun operations, but none is recorded.
bool is_without_record(const CommunicatorReport& report) {
  return report.recent.empty() &&
         (report.calls > 0 || std::ranges::any_of(report.counts, [](const auto& one) { return one.begun; }));
}
/// Whether its record goes back to its first operation.
bool is_whole(const CommunicatorReport& report) {
  return report.recent.empty() ? !is_without_record(report) : report.recent.front().number == 1;
}

/// The first call that all ranks with a report have recorded, with all that belongs to it.
uint64_t first_common_call(const JobCommunicator& communicator) {
  uint64_t first = 0;
  for (const auto& [rank, one] : communicator.ranks) {
    if (is_whole(*one.report)) continue;
    const OperationReport& oldest = one.report->recent.front();
    first = std::max(first, is_collective(oldest) ? oldest.call : oldest.call + 1);
  }
  return first;
}

/// PyTorch's names, by Collective.
constexpr const char* kNames[] = {"all_reduce",           "reduce",     "broadcast", "_all_gather_base",
                                  "_reduce_scatter_base", "all_to_all", "gather",    "scatter"};
/// Of its types, by DataType.
constexpr const char* kTypes[kDataTypes] = {"Char",   "Byte",     "Int",           "UInt32",
                                            "Long",   "UInt64",   "Half",          "Float",
                                            "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};

/// The elements of a call's buffers; nullopt: the rank has none.
struct Elements {
  std::optional<uint64_t> input;
  std::optional<uint64_t> output;
};

Elements elements_of(const core::OperationSummary& operation, Rank rank, uint64_t ranks) {
  const uint64_t one = operation.count, all = operation.count * ranks;
  const bool is_root = operation.rank == rank;
  switch (operation.call) {
    case Call::send: return {one, std::nullopt};
    case Call::receive: return {std::nullopt, one};
    default: break;
  }
  switch (operation.collective) {
    case Collective::all_gather: return {one, all};
    case Collective::reduce_scatter: return {all, one};
    case Collective::all_to_all: return {all, all};
    case Collective::gather: return {one, is_root ? std::optional(all) : std::nullopt};
    case Collective::scatter: return {is_root ? std::optional(all) : std::nullopt, one};
    default: return {one, one};
  }
}

/// Puts the sizes and types of one side ("input") into an entry.
void put_side(ordered_json& entry, const char* side, std::optional<uint64_t> elements, DataType type) {
  ordered_json sizes = ordered_json::array(), types = ordered_json::array();
  if (elements) {
    sizes.push_back(ordered_json::array({*elements}));
    types.push_back(kTypes[static_cast<size_t>(type)]);
  }
  entry[fmt::format("{}_sizes", side)] = std::move(sizes);
  entry[fmt::format("{}_dtypes", side)] = std::move(types);
}

/// A process group of PyTorch.
struct ProcessGroup {
  std::string name;
  std::string description;
  std::vector<int> members;  ///< numbers in the job

  ordered_json config() const {
    return {{"name", name}, {"desc", description}, {"ranks", fmt::format("[{}]", fmt::join(members, ", "))}};
  }
};

/// Collects the records of all ranks.
class Writer {
 public:
  /// For a rank that has reported, even if it has recorded nothing.
  void open(int number, const ProcessReport& process) { ranks_[number].version = process.version; }

  /// Adds an operation of the rank with this number in the job. `sequence`: its number in the group.
  void add(const ProcessGroup& group, int number, const ReportedRank& rank, const OperationReport& one,
           std::string profiling_name, uint64_t sequence) {
    Record& record = ranks_[number];
    if (!record.groups.contains(group.name)) record.groups[group.name] = group.config();
    ordered_json& status = record.status[group.name];
    status["last_enqueued_collective"] = status["last_started_collective"] = sequence;
    if (!one.ended) status.emplace("last_completed_collective", -1);
    if (one.ended) status["last_completed_collective"] = sequence;
    const core::OperationSummary& operation = one.operation;
    ordered_json entry = {{"pg_id", std::distance(record.groups.begin(), record.groups.find(group.name))},
                          {"process_group", ordered_json::array({group.name, group.description})},
                          {"collective_seq_id", sequence},
                          {"p2p_seq_id", is_message(one) ? sequence : 0},
                          {"op_id", one.number},
                          {"profiling_name", std::move(profiling_name)},
                          {"time_created_ns", one.begun_ns}};
    if (one.ended && one.took_ns > 0) entry["duration_ms"] = static_cast<double>(one.took_ns) / 1e6;
    const auto [input, output] =
        elements_of(operation, rank.report->rank, static_cast<uint64_t>(rank.report->ranks));
    put_side(entry, "input", input, operation.type);
    put_side(entry, "output", output, operation.type);
    entry["state"] = one.ended ? "completed" : "started";
    entry["time_discovered_started_ns"] = one.begun_ns;
    entry["time_discovered_completed_ns"] =
        one.ended && one.took_ns > 0 ? ordered_json(one.begun_ns + one.took_ns) : ordered_json();
    entry["retired"] = one.ended;
    entry["timeout_ms"] = 0;
    entry["is_p2p"] = is_message(one);
    const ordered_json frame = {{"name", core::describe(operation)},
                                {"filename", fmt::format("rank {}, process {} of {}", rank.report->rank,
                                                         rank.process->pid, rank.process->hostname)},
                                {"line", one.call}};
    entry["frames"] = ordered_json::array({frame});
    record.entries.emplace_back(one.begun_ns, std::move(entry));
  }

  std::map<int, ordered_json> take() {
    std::map<int, ordered_json> out;
    for (auto& [number, record] : ranks_) {
      // Times of one communicator never decrease, so its order stays.
      std::ranges::stable_sort(record.entries, {}, &std::pair<int64_t, ordered_json>::first);
      ordered_json entries = ordered_json::array();
      for (auto& [begun_ns, entry] : record.entries) {
        entry["record_id"] = entries.size();
        entries.push_back(std::move(entry));
      }
      out[number] = {{"version", kVersion},
                     {"comm_lib_version", "weir " + record.version},
                     {"pg_config", std::move(record.groups)},
                     {"pg_status", std::move(record.status)},
                     {"entries", std::move(entries)}};
    }
    return out;
  }

 private:
  struct Record {
    std::string version;
    ordered_json groups = ordered_json::object();
    ordered_json status = ordered_json::object();
    std::vector<std::pair<int64_t, ordered_json>> entries;  ///< with the begin of each
  };
  std::map<int, Record> ranks_;
};

/// What follows the name of a group, where its communicator has one.
std::string description_of(const JobCommunicator& communicator) {
  return communicator.name.empty() ? "undefined" : communicator.name;
}

void add_collectives(const JobCommunicator& communicator, Writer& writer) {
  const ProcessGroup group{communicator.id, description_of(communicator), communicator.numbers};
  const uint64_t first = first_common_call(communicator);
  for (const auto& [rank, one] : communicator.ranks) {
    for (const OperationReport& operation : one.report->recent) {
      if (!is_collective(operation) || operation.call < first) continue;
      const char* const name = kNames[static_cast<size_t>(operation.operation.collective)];
      writer.add(group, communicator.numbers[static_cast<size_t>(rank)], one, operation,
                 fmt::format("nccl:{}", name), operation.call);
    }
  }
}

/// The group of the messages from one rank to another.
ProcessGroup direction(const JobCommunicator& communicator, int from, int to) {
  return {fmt::format("{} {}->{}", communicator.id, from, to),
          description_of(communicator),
          {std::min(from, to), std::max(from, to)}};
}

/// Of pairs of which both records go back to the beginning: later nobody knows which message is which. False:
/// some have been left out.
bool add_messages(const JobCommunicator& communicator, Writer& writer) {
  bool all = true;
  const auto is_known = [&communicator](Rank rank) {
    const auto found = communicator.ranks.find(rank);
    return found == communicator.ranks.end() || is_whole(*found->second.report);
  };
  for (const auto& [rank, one] : communicator.ranks) {
    std::map<std::pair<Rank, Rank>, uint64_t> sent;
    for (const OperationReport& operation : one.report->recent) {
      const Rank peer = operation.operation.rank;
      if (!is_message(operation) || peer == rank || peer < 0 ||
          static_cast<size_t>(peer) >= communicator.members.size())
        continue;
      if (!is_known(rank) || !is_known(peer)) {
        all = false;
        continue;
      }
      const bool sends = operation.operation.call == Call::send;
      const auto ends = sends ? std::pair(rank, peer) : std::pair(peer, rank);
      const int from = communicator.numbers[static_cast<size_t>(ends.first)];
      const int to = communicator.numbers[static_cast<size_t>(ends.second)];
      // The analyzer counts the members of a group from 0.
      const int place = from < to ? 0 : 1;
      writer.add(direction(communicator, from, to), sends ? from : to, one, operation,
                 sends ? fmt::format("nccl:send {}->{}", place, 1 - place)
                       : fmt::format("nccl:recv {}<-{}", 1 - place, place),
                 ++sent[ends]);
    }
  }
  return all;
}

/// Says which ranks have not reported.
void note_missing(const JobCommunicator& communicator, std::set<int>& noted, FlightRecords& out) {
  for (size_t rank = 0; rank < communicator.members.size(); ++rank) {
    const int number = communicator.numbers[rank];
    if (communicator.ranks.contains(static_cast<Rank>(rank)) || out.by_rank.contains(number) ||
        !noted.insert(number).second)
      continue;
    const core::PeerAddress& member = communicator.members[rank];
    out.left_out.push_back(
        fmt::format("there is no report of rank {} (process {} on {})", number, member.pid, member.hostname));
    out.complete = false;
  }
}

}  // namespace

FlightRecords flight_records_of(const std::vector<ProcessReport>& reports) {
  FlightRecords out;
  std::vector<JobCommunicator> all = communicators_of(latest_of(reports));
  if (all.empty()) return out;
  JobNumbers numbers(*std::ranges::max_element(all, {}, [](const auto& one) { return one.members.size(); }));
  const auto leave_out = [&out](const JobCommunicator& one, const std::string& why) {
    out.left_out.push_back(fmt::format("communicator {} is left out: {}", one.id, why));
  };
  std::vector<JobCommunicator> known;
  for (JobCommunicator& one : all) {
    if (numbers.number(one))
      known.push_back(std::move(one));
    else
      leave_out(one, "only some of the ranks of a process are in it, and nothing says which");
  }
  Writer writer;
  for (const JobCommunicator& one : known) {
    for (const auto& [rank, reported] : one.ranks)
      writer.open(one.numbers[static_cast<size_t>(rank)], *reported.process);
    const auto silent = std::ranges::find_if(
        one.ranks, [](const auto& rank) { return is_without_record(*rank.second.report); });
    if (silent != one.ranks.end()) {
      leave_out(one, fmt::format("rank {} records nothing (WEIR_RECORDER)", silent->first));
      continue;
    }
    add_collectives(one, writer);
    if (!add_messages(one, writer))
      out.left_out.push_back(fmt::format(
          "communicator {}: messages are left out of ranks that have no record of their first ones any more "
          "(WEIR_RECORDER sets how many operations are kept)",
          one.id));
  }
  out.by_rank = writer.take();
  std::set<int> noted;
  for (const JobCommunicator& one : known) note_missing(one, noted, out);
  return out;
}

}  // namespace weir::cli
