// SPDX-License-Identifier: Apache-2.0

#include "src/cli/ps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/cli/rank_words.h"

namespace weir::cli {
namespace {

using core::CommunicatorReport;
using core::RankState;

std::string operation_words(const CommunicatorReport& report) {
  if (!report.last) return "";
  const core::OperationReport& last = *report.last;
  std::string words = core::describe(last.operation);
  if (words.starts_with("nccl")) words.erase(0, 4);
  if (!last.plan.empty()) words += " by " + last.plan;
  return words;
}

/// Formats "waits for 2, 3 (1.2 s so far)".
std::string state_words(const CommunicatorReport& report) {
  const std::string state(name(report.state));
  if (report.state == RankState::waiting)
    return fmt::format("waits for {} ({} so far)", rank_ranges(report.waiting_for),
                       seconds_words(static_cast<double>(report.waiting_ns) / 1e9));
  if (report.state == RankState::failed) return "failed: " + report.sentence;
  if (report.state == RankState::running && report.last && report.last->took_ns > 0 && report.last->exact)
    return fmt::format("running ({} so far)", seconds_words(static_cast<double>(report.last->took_ns) / 1e9));
  return state;
}

/// One line for each group of ranks that wait for the same ranks.
std::string waits_of(const survey::CommunicatorView& communicator) {
  std::map<std::vector<Rank>, std::vector<Rank>> groups;
  for (size_t rank = 0; rank < communicator.members.size(); ++rank) {
    const auto& report = communicator.members[rank].report;
    if (report && report->state == RankState::waiting)
      groups[report->waiting_for].push_back(static_cast<Rank>(rank));
  }
  std::string out;
  for (const auto& [awaited, waiting] : groups) {
    const bool one = waiting.size() == 1;
    out += fmt::format("  {} {} {} for {}\n", one ? "rank" : "ranks", rank_ranges(waiting),
                       one ? "waits" : "wait", rank_ranges(awaited));
  }
  return out;
}

/// Rows: ranks with equal counts. Columns: operations, as begun/ended; '<' marks ranks that are behind.
std::string matrix_of(const survey::CommunicatorView& communicator) {
  using Counts = std::array<std::pair<uint64_t, uint64_t>, kCollectives>;
  std::map<Counts, std::vector<Rank>> rows;
  Counts most{};
  for (size_t rank = 0; rank < communicator.members.size(); ++rank) {
    const auto& report = communicator.members[rank].report;
    if (!report) continue;
    Counts counts{};
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      counts[kind] = {report->counts[kind].begun, report->counts[kind].ended};
      most[kind].first = std::max(most[kind].first, counts[kind].first);
    }
    rows[counts].push_back(static_cast<Rank>(rank));
  }
  std::string out = fmt::format("  {:<20}", "begun/ended");
  for (size_t kind = 0; kind < most.size(); ++kind) {
    if (most[kind].first > 0) out += fmt::format(" {:>18}", name(static_cast<Collective>(kind)));
  }
  out += "\n";
  std::map<Rank, std::string> lines;  // sorted by the lowest rank
  for (const auto& [counts, ranks] : rows) {
    std::string& line = lines[ranks.front()];
    line = fmt::format("  {:<20}", (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks));
    for (size_t kind = 0; kind < most.size(); ++kind) {
      if (most[kind].first == 0) continue;
      // Different numbers of sends and receives are normal.
      const bool behind =
          static_cast<Collective>(kind) != Collective::send_recv && counts[kind].first < most[kind].first;
      line += fmt::format(" {:>18}",
                          fmt::format("{}{}/{}", behind ? "<" : "", counts[kind].first, counts[kind].second));
    }
  }
  for (const auto& [rank, line] : lines) out += line + "\n";
  return lines.empty() ? "" : out;
}

std::string json_of(const std::vector<survey::QueriedProcess>& asked) {
  nlohmann::ordered_json out = {{"format", "weir ps 1"}};
  out["processes"] = nlohmann::ordered_json::array();
  for (const survey::QueriedProcess& one : asked) {
    nlohmann::ordered_json process = {
        {"pid", one.pid}, {"host", one.host}, {"answers", one.report.has_value()}};
    if (one.user) process["user"] = *one.user;
    if (one.report)
      process["report"] = nlohmann::ordered_json::parse(core::to_json(*one.report));
    else
      process["why_not"] = one.why_not;
    out["processes"].push_back(std::move(process));
  }
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string user_words(const std::optional<uint32_t>& user) {
  return user ? fmt::format(" of user {}", *user) : "";
}

std::string process_words(const survey::QueriedProcess& process) {
  if (process.report_state != survey::ReportState::shown) return "";
  const std::string user = user_words(process.user);
  if (!process.report)
    return fmt::format("process {}{} on {} {}\n", process.pid, user, process.host, process.why_not);
  std::string out;
  for (const core::ActivityRegistry::Joining& one : process.report->joining) {
    out += fmt::format(
        "process {}{} on {}: rank {} of {} is joining at bootstrap root {}; it has waited for the other "
        "ranks for {}\n",
        process.pid, user, process.host, one.rank, one.ranks, one.root,
        seconds_words(static_cast<double>(process.report->time_ns - one.since_ns) / 1e9));
  }
  return out;
}

/// A line if the ranks pretend to be elsewhere.
std::string pretended_words(const survey::CommunicatorView& communicator) {
  for (const survey::CommunicatorView::Member& one : communicator.members) {
    if (one.report && !one.report->pretended.empty())
      return fmt::format("  PRETENDS: its times are simulated, not measured; rank {} pretends to be {}\n",
                         one.report->rank, one.report->pretended);
  }
  return "";
}

/// One sentence for each reason why processes do not show their reports.
std::string unshown_words(const std::vector<survey::QueriedProcess>& asked) {
  using survey::ReportState;
  constexpr std::pair<ReportState, std::pair<std::string_view, std::string_view>> kWords[] = {
      {ReportState::off, {"", "reports to anybody; WEIR_REPORTS=user"}},
      {ReportState::for_its_user, {" of other users", "reports to this user; WEIR_REPORTS=all"}},
      {ReportState::for_its_jobs, {" of other jobs", "reports to this one; WEIR_REPORTS=all"}}};
  const auto count = [&](ReportState kind) {
    return std::ranges::count(asked, kind, &survey::QueriedProcess::report_state);
  };
  std::string out;
  for (const auto& [kind, words] : kWords) {
    const auto processes = count(kind);
    if (processes == 0) continue;
    const bool one = processes == 1;
    out += fmt::format("{}{} {} not show {} {} in {} environment would change that\n",
                       plural(processes, "process"), words.first, one ? "does" : "do", one ? "its" : "their",
                       words.second, one ? "its" : "their");
  }
  std::set<uint32_t> users;
  for (const survey::QueriedProcess& process : asked) {
    if (process.report_state == ReportState::under_false_name) users.insert(process.user.value_or(geteuid()));
  }
  if (!users.empty()) {
    out += fmt::format("left out {} under the numbers of other processes, made by user {}\n",
                       plural(count(ReportState::under_false_name), "registration"), fmt::join(users, ", "));
  }
  return out;
}

}  // namespace

std::string table_of(const survey::CommunicatorView& communicator) {
  const std::string called = communicator.name.empty() ? "" : fmt::format(" \"{}\"", communicator.name);
  std::string out =
      fmt::format("communicator {}{}{}: {}\n", communicator.id, called, user_words(communicator.user),
                  plural(static_cast<int64_t>(communicator.members.size()), "rank"));
  out += pretended_words(communicator);
  out +=
      fmt::format("  {:>5} {:<28} {:>8}  {:<52} {}\n", "rank", "process", "calls", "last operation", "state");
  for (size_t rank = 0; rank < communicator.members.size(); ++rank) {
    const survey::CommunicatorView::Member& one = communicator.members[rank];
    const std::string process = fmt::format("{} {} {}", one.host, one.pid, one.program);
    if (one.report)
      out += fmt::format("  {:>5} {:<28} {:>8}  {:<52} {}\n", rank, process, one.report->calls,
                         operation_words(*one.report), state_words(*one.report));
    else
      out += fmt::format("  {:>5} {:<28} {:>8}  {:<52} {}\n", rank, process, "?", "", one.why_not);
  }
  return out + waits_of(communicator) + matrix_of(communicator);
}

void add_ps(CLI::App& app, PsArguments& arguments) {
  CLI::App* ps =
      app.add_subcommand("ps", "Show the state of this host's communicators, and which ranks wait for which");
  ps->add_option("PID", arguments.request.pids,
                 "Process ids on this host; default: all processes that use weir");
  ps->add_flag("--json", arguments.json, "Print as JSON, with recent operations and channels");
  ps->add_flag("!--here", arguments.request.elsewhere, "Do not query processes of other hosts");
  ps->add_option("--timeout", arguments.request.timeout_ms,
                 "Time to wait for answers of up to 256 processes; ms")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
}

int run_ps(PsArguments arguments) {
  if (!arguments.json) {
    arguments.request.scope.recent = 0;
    arguments.request.scope.channels = false;
  }
  const std::vector<survey::QueriedProcess> asked = survey::take(arguments.request);
  const bool all_answer = std::ranges::all_of(asked, [](const survey::QueriedProcess& one) {
    return one.report.has_value() || one.report_state != survey::ReportState::shown;
  });
  if (arguments.json) {
    fmt::print("{}\n", json_of(asked));
    return all_answer ? 0 : 1;
  }
  if (asked.empty()) {
    fmt::print("no process of this host{} uses weir now\n",
               arguments.request.pids.empty() ? "" : " with these ids");
    return 0;
  }
  for (const survey::QueriedProcess& process : asked) fmt::print("{}", process_words(process));
  for (const survey::CommunicatorView& communicator : survey::by_communicator(asked))
    fmt::print("{}", table_of(communicator));
  fmt::print("{}", unshown_words(asked));
  return all_answer ? 0 : 1;
}

}  // namespace weir::cli
