// SPDX-License-Identifier: Apache-2.0
// Checks of a job, each of which gives a line that begins with OK or WARN.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "src/base/host.h"
#include "src/base/text.h"
#include "src/survey/ras_report.h"

namespace weir::survey {
namespace {

constexpr size_t kMostFindings = 10;  ///< number of findings that a check names

/// A check with what it has found; nothing: all is well.
struct Check {
  std::string_view name;
  std::string well;  ///< what is said then
  std::vector<std::string> findings;
};

std::string line_of(const Check& check) {
  if (check.findings.empty()) return fmt::format("OK {}: {}", check.name, check.well);
  std::vector<std::string> named(
      check.findings.begin(),
      check.findings.begin() + static_cast<std::ptrdiff_t>(std::min(check.findings.size(), kMostFindings)));
  if (named.size() < check.findings.size())
    named.push_back(fmt::format("and {} more", check.findings.size() - named.size()));
  return fmt::format("WARN {}: {}", check.name, fmt::join(named, "; "));
}

Check check_processes(const Job& job) {
  Check check{"processes",
              fmt::format("{} answer", plural(static_cast<int64_t>(job.processes.size()), "process")),
              {}};
  for (const JobProcess& one : job.processes) {
    if (one.state == JobProcess::State::answers) continue;
    const bool dead = one.state == JobProcess::State::dead;
    check.findings.push_back(process_words(one) + (dead ? " is dead" : " does not answer"));
  }
  return check;
}

Check check_versions(const Job& job) {
  std::map<std::string, std::vector<const JobProcess*>> by_version;
  for (const JobProcess& one : job.processes)
    if (!one.version.empty()) by_version[one.version].push_back(&one);
  Check check{
      "versions", by_version.empty() ? "none is known" : "all have weir " + by_version.begin()->first, {}};
  if (by_version.size() < 2) return check;
  for (const auto& [version, all] : by_version)
    check.findings.push_back(fmt::format("{} ({}) have weir {}",
                                         plural(static_cast<int64_t>(all.size()), "process"),
                                         process_words(*all.front()), version));
  return check;
}

Check check_failures(const Job& job) {
  Check check{"communicators", fmt::format("{} without a failure", job.communicators.size()), {}};
  for (const JobCommunicator& one : job.communicators)
    for (const JobRank& rank : one.ranks)
      if (rank.code != Code::success)
        check.findings.push_back(fmt::format("rank {} of {}: {}", rank.rank, one.id, rank.sentence));
  return check;
}

Check check_calls(const Job& job) {
  Check check{"calls", "all ranks have begun the same", {}};
  for (const JobCommunicator& one : job.communicators) {
    if (!one.mismatch) continue;
    for (size_t kind = 0; kind < kCollectives; ++kind) {
      if (!one.differs_in(static_cast<Collective>(kind))) continue;
      const auto [least, most] =
          std::ranges::minmax(one.ranks, {}, [kind](const JobRank& rank) { return rank.counts[kind]; });
      check.findings.push_back(fmt::format("{} of {}: rank {} has begun {}, rank {} {}",
                                           core::nccl_name(static_cast<Collective>(kind)), one.id, least.rank,
                                           least.counts[kind], most.rank, most.counts[kind]));
    }
  }
  return check;
}

Check check_waits(const Job& job) {
  Check check{"waits", "no rank waits for another one", {}};
  for (const JobCommunicator& one : job.communicators) {
    const auto longest = std::ranges::max_element(one.ranks, {}, &JobRank::waiting_s);
    if (longest == one.ranks.end() || longest->waiting_for.empty()) continue;
    check.findings.push_back(fmt::format("rank {} of {} has waited for rank {} for {:.1f} s ({})",
                                         longest->rank, one.id, fmt::join(longest->waiting_for, ", "),
                                         longest->waiting_s, place_words(job, *longest)));
  }
  return check;
}

Check check_joining(const Job& job) {
  Check check{"set-up", "no rank waits for others to join", {}};
  for (const JobJoining& one : job.joining)
    check.findings.push_back(fmt::format("rank {} of {} has waited for the others for {:.1f} s ({})",
                                         one.rank, one.ranks, one.since_s,
                                         process_words(job.processes[one.process])));
  return check;
}

}  // namespace

std::string ras_checks(const Job& job) {
  std::string out;
  const auto say = [&](std::string_view line) {
    out += fmt::format("{}:{} NCCL DIAG {}\n", short_hostname(), getpid(), line);
  };
  say("=== RAS Diagnostics ===");
  for (const Check& check : {check_processes(job), check_versions(job), check_failures(job), check_calls(job),
                             check_waits(job), check_joining(job)})
    say(line_of(check));
  say(fmt::format("RAS diagnostics completed in {:.1f} ms across {} RAS peers", job.seconds * 1e3,
                  job.processes.size()));
  return out;
}

}  // namespace weir::survey
