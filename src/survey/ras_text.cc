// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "src/base/text.h"
#include "src/survey/ras_report.h"

namespace weir::survey {
namespace {

/// Whether `count` items, out of `total` if that is not 0, are few enough to be listed one by one.
bool is_listed(size_t count, bool verbose, size_t total = 0) {
  if (verbose) return total == 0 || 2 * count < total;
  return count <= 10 && (total == 0 || 4 * count <= total);
}

/// "3" or "2-4".
std::string range_words(int least, int most) {
  return least == most ? std::to_string(least) : fmt::format("{}-{}", least, most);
}

std::string heading(std::string_view title) {
  return fmt::format("{}\n{}\n\n", title, std::string(title.size(), '='));
}

std::string result_words(Code code) {
  switch (code) {
    case Code::device_error: return "Unhandled CUDA error";
    case Code::system_error: return "System error";
    case Code::internal_error: return "Internal error";
    case Code::invalid_argument: return "Invalid argument";
    case Code::invalid_usage: return "Invalid usage";
    case Code::remote_error: return "Remote process error";
    default: return "Unexpected error";
  }
}

std::string summary(const Job& job) {
  std::map<std::string, int> on_node;
  int least_gpus = 0, most_gpus = 0, gpus = 0;
  for (const JobProcess& one : job.processes) {
    ++on_node[one.node];
    const int count = static_cast<int>(one.gpus.size());
    least_gpus = &one == &job.processes.front() ? count : std::min(least_gpus, count);
    most_gpus = std::max(most_gpus, count);
    gpus += count;
  }
  int least = static_cast<int>(job.processes.size()), most = 0;
  for (const auto& [node, count] : on_node) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return heading("Job summary") +
         "  Nodes  Processes         GPUs  Processes     GPUs\n"
         "(total)   per node  per process    (total)  (total)\n" +
         fmt::format("{:>7}  {:>9}  {:>11}  {:>9}  {:>7}\n", on_node.size(), range_words(least, most),
                     range_words(least_gpus, most_gpus), job.processes.size(), gpus);
}

std::string table(const Job& job) {
  if (job.groups.empty()) return "No communicator data collected!\n";
  std::string out =
      "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
      "    #  in group  per comm  per node  per comm  in group\n";
  for (size_t number = 0; number < job.groups.size(); ++number) {
    const JobGroup& group = job.groups[number];
    const JobCommunicator& first = job.communicators[group.first];
    int least = first.least_per_node, most = 0;
    for (size_t i = group.first; i < group.first + group.count; ++i) {
      least = std::min(least, job.communicators[i].least_per_node);
      most = std::max(most, job.communicators[i].most_per_node);
    }
    out += fmt::format("{:>5}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>6}\n", number, group.count,
                       first.nodes, range_words(least, most), first.size, group.ranks, name(first.standing),
                       error_words(first));
  }
  return out;
}

std::string processes_in(const Job& job, JobProcess::State state, bool verbose, std::string_view word,
                         const std::function<std::string(size_t)>& says) {
  std::vector<const JobProcess*> found;
  for (const JobProcess& one : job.processes) {
    if (one.state == state) found.push_back(&one);
  }
  if (found.empty()) return "";
  std::string out = fmt::format("{}\n  {}\n", word, says(found.size()));
  if (is_listed(found.size(), verbose)) {
    for (const JobProcess* one : found) out += "  " + process_words(*one) + "\n";
  }
  return out + "\n";
}

/// Ranks of a communicator with a common property: reported in one line, and one by one if they are few.
struct Alike {
  std::string all;   ///< predicate for several ranks: "have status INIT"
  std::string each;  ///< predicate for one rank: "has status INIT"
  std::vector<const JobRank*> ranks;
};

/// The lines of all groups, the largest first.
std::string tell(const Job& job, std::vector<Alike> groups, bool verbose, size_t total) {
  std::ranges::stable_sort(groups, std::greater(), [](const Alike& one) { return one.ranks.size(); });
  std::string out;
  for (const Alike& group : groups) {
    const bool several = group.ranks.size() > 1;
    if (several) out += fmt::format("  {} ranks {}\n", group.ranks.size(), group.all);
    if (!is_listed(group.ranks.size(), verbose, total)) continue;
    for (const JobRank* one : group.ranks)
      out += fmt::format("  Rank {}{} -- {}\n", one->rank, several ? "" : " " + group.each,
                         place_words(job, *one));
  }
  return out;
}

std::string missing_ranks(const Job& job, const JobCommunicator& one, bool verbose) {
  std::string out =
      fmt::format("  Missing communicator data from {}\n", plural(static_cast<int64_t>(one.silent), "rank"));
  if (!is_listed(one.silent, verbose)) return out;
  for (const JobRank& rank : one.missing) {
    if (job.processes[rank.process].state != JobProcess::State::answers)
      out += fmt::format("  Rank {} -- {}\n", rank.rank, place_words(job, rank));
  }
  return out;
}

std::string failed_ranks(const Job& job, const JobCommunicator& one, bool verbose) {
  std::map<Code, Alike> by_code;
  std::map<std::string, size_t> sentences;
  size_t failed = 0;
  for (const JobRank& rank : one.ranks) {
    if (rank.code == Code::success) continue;
    Alike& alike = by_code[rank.code];
    alike.all = alike.each = "reported " + result_words(rank.code);
    alike.ranks.push_back(&rank);
    ++sentences[rank.sentence];
    ++failed;
  }
  std::vector<Alike> groups;
  for (auto& [code, alike] : by_code) groups.push_back(std::move(alike));
  std::string out = fmt::format("  Asynchronous error{} on {}\n", failed > 1 ? "s" : "",
                                plural(static_cast<int64_t>(failed), "rank")) +
                    tell(job, std::move(groups), verbose, 0);
  for (const auto& [sentence, count] : sentences) out += fmt::format("  {}\n", sentence);
  return out;
}

std::string differing_standings(const Job& job, const JobCommunicator& one, bool verbose) {
  std::map<CommState, Alike> by_standing;
  const auto add = [&](const JobRank& rank) {
    Alike& alike = by_standing[rank.standing];
    alike.all = fmt::format("have status {}", name(rank.standing));
    alike.each = fmt::format("has status {}", name(rank.standing));
    alike.ranks.push_back(&rank);
  };
  for (const JobRank& rank : one.ranks) add(rank);
  for (const JobRank& rank : one.missing) {
    if (job.processes[rank.process].state == JobProcess::State::answers) add(rank);
  }
  if (by_standing.size() < 2) return "";
  std::vector<Alike> groups;
  for (auto& [standing, alike] : by_standing) groups.push_back(std::move(alike));
  return "  Communicator ranks have different status\n" +
         tell(job, std::move(groups), verbose, static_cast<size_t>(one.size));
}

std::string differing_counts(const Job& job, const JobCommunicator& one, Collective kind, bool verbose) {
  std::map<uint64_t, Alike> by_count;
  for (const JobRank& rank : one.ranks) {
    const uint64_t count = rank.counts[static_cast<size_t>(kind)];
    Alike& alike = by_count[count];
    const std::string what = count > 0 ? fmt::format("launched up to operation {}", count)
                                       : std::string("not launched any operations");
    alike.all = "have " + what;
    alike.each = "has " + what;
    alike.ranks.push_back(&rank);
  }
  std::vector<Alike> groups;
  for (auto& [count, alike] : by_count) groups.push_back(std::move(alike));
  return fmt::format("  Communicator ranks have different {} operation counts\n", core::nccl_name(kind)) +
         tell(job, std::move(groups), verbose, static_cast<size_t>(one.size));
}

std::string mismatches(const Job& job, const JobCommunicator& one, bool verbose) {
  std::string out = differing_standings(job, one, verbose);
  for (int kind = 0; kind < kCollectives; ++kind) {
    if (one.differs_in(static_cast<Collective>(kind)))
      out += differing_counts(job, one, static_cast<Collective>(kind), verbose);
  }
  return out;
}

/// Which ranks wait for which, grouped by the awaited ranks.
std::string waits(const Job& job, const JobCommunicator& one, bool verbose) {
  std::map<std::vector<Rank>, std::vector<const JobRank*>> by_awaited;
  for (const JobRank& rank : one.ranks) {
    if (!rank.waiting_for.empty()) by_awaited[rank.waiting_for].push_back(&rank);
  }
  std::string out;
  for (const auto& [awaited, waiting] : by_awaited) {
    const bool several = waiting.size() > 1;
    double longest = 0;
    for (const JobRank* rank : waiting) longest = std::max(longest, rank->waiting_s);
    const std::string what = fmt::format("for {} {} for {:.1f} s", awaited.size() > 1 ? "ranks" : "rank",
                                         fmt::join(awaited, ","), longest);
    if (several) out += fmt::format("  {} ranks wait {}\n", waiting.size(), what);
    if (several && !is_listed(waiting.size(), verbose)) continue;
    for (const JobRank* rank : waiting)
      out += fmt::format("  Rank {}{} in {} -- {}\n", rank->rank, several ? "" : " waits " + what,
                         rank->operation, place_words(job, *rank));
  }
  return out;
}

/// The sections of all communicators for which `body` is not empty.
std::string sections(const Job& job, std::string_view word,
                     const std::function<std::string(const JobCommunicator&)>& body) {
  std::string out;
  for (size_t number = 0; number < job.groups.size(); ++number) {
    const JobGroup& group = job.groups[number];
    for (size_t i = 0; i < group.count; ++i) {
      const JobCommunicator& one = job.communicators[group.first + i];
      const std::string text = body(one);
      if (!text.empty()) out += fmt::format("#{}-{} ({}) {}\n{}\n", number, i, one.id, word, text);
    }
  }
  return out;
}

std::string errors(const Job& job, bool verbose) {
  const auto count_words = [](size_t count) { return plural(static_cast<int64_t>(count), "job process"); };
  return processes_in(job, JobProcess::State::silent, verbose, "INCOMPLETE",
                      [&](size_t count) {
                        return fmt::format("Missing communicator data from {}", count_words(count));
                      }) +
         processes_in(job, JobProcess::State::dead, verbose, "DEAD",
                      [&](size_t count) {
                        return fmt::format("{} {} considered dead (unreachable via the RAS network)",
                                           count_words(count), count > 1 ? "are" : "is");
                      }) +
         sections(job, "INCOMPLETE",
                  [&](const JobCommunicator& one) {
                    return one.incomplete ? missing_ranks(job, one, verbose) : std::string();
                  }) +
         sections(job, "ERROR", [&](const JobCommunicator& one) {
           return one.error ? failed_ranks(job, one, verbose) : std::string();
         });
}

std::string warnings(const Job& job, bool verbose) {
  std::string joining;
  for (const JobJoining& one : job.joining) {
    joining += fmt::format("  Rank {} of {} has looked for the others for {:.1f} s -- {}\n", one.rank,
                           one.ranks, one.since_s, process_words(job.processes[one.process]));
  }
  return sections(job, "MISMATCH",
                  [&](const JobCommunicator& one) {
                    return one.mismatch ? mismatches(job, one, verbose) : std::string();
                  }) +
         sections(job, "WAITING", [&](const JobCommunicator& one) { return waits(job, one, verbose); }) +
         (joining.empty() ? "" : "INIT\n" + joining + "\n");
}

}  // namespace

std::string error_words(const JobCommunicator& communicator) {
  std::vector<std::string_view> words;
  if (communicator.incomplete) words.emplace_back("INCOMPLETE");
  if (communicator.error) words.emplace_back("ERROR");
  if (communicator.mismatch) words.emplace_back("MISMATCH");
  return words.empty() ? "OK" : fmt::format("{}", fmt::join(words, ","));
}

std::string place_words(const Job& job, const JobRank& rank) {
  const JobProcess& process = job.processes[rank.process];
  const std::string device = rank.gpu >= 0 ? fmt::format("GPU {}", rank.gpu) : "host memory";
  return fmt::format("{} managed by process {} on node {}", device, process.pid, process.node);
}

std::string process_words(const JobProcess& process) {
  std::string out = fmt::format("Process {} on node {}", process.pid, process.node);
  if (!process.gpus.empty())
    out +=
        fmt::format(" managing GPU{} {}", process.gpus.size() > 1 ? "s" : "", fmt::join(process.gpus, ","));
  return out;
}

std::string ras_text(const Job& job, const RasVersions& versions, bool verbose) {
  return fmt::format("NCCL version {}+weir{}\nCUDA runtime version {}, driver version {}\n\n", versions.nccl,
                     WEIR_VERSION, versions.cuda_runtime, versions.cuda_driver) +
         summary(job) + fmt::format("\nCommunicators... ({:.3f}s)\n=============\n\n", job.seconds) +
         table(job) + "\n" + heading("Errors") + errors(job, verbose) + heading("Warnings") +
         warnings(job, verbose);
}

}  // namespace weir::survey
