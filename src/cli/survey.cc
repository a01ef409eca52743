#include "src/cli/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>

#include "src/base/door.h"
#include "src/base/door_sign.h"
#include "src/base/host.h"

namespace weir::cli {
namespace {

constexpr size_t kAtOnce = 256;  // doors: each takes a descriptor

/// The kernel's letter for the state of a process of this host; '\0': there is none.
char process_state(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

std::string why_silent(const Asked& process, const Answer& answer, int64_t patience_ms) {
  const char state = process.host == short_hostname() ? process_state(process.pid) : '\0';
  if (answer.kind == Answer::Kind::refused) {
    const bool runs = state != '\0' && state != 'Z' && state != 'X';
    return runs ? "runs, but takes no questions any more" : "is dead: the process has ended";
  }
  if (state == 'T' || state == 't') return "is stopped (by a signal or a debugger)";
  return fmt::format("has not answered for {:.1f} s: stopped, or out of reach",
                     static_cast<double>(patience_ms) / 1e3);
}

void ask_some(std::span<Asked> processes, const core::ReportScope& scope, int64_t patience_ms) {
  std::vector<SocketAddress> doors;
  for (const Asked& process : processes) doors.push_back(process.door);
  const std::vector<Answer> answers =
      ask_all(doors, 0, core::report_question(scope), Deadline::in_ms(patience_ms));
  for (size_t i = 0; i < answers.size(); ++i) {
    Asked& process = processes[i];
    if (answers[i].kind != Answer::Kind::given) {
      process.why_not = why_silent(process, answers[i], patience_ms);
      continue;
    }
    const auto* const text = reinterpret_cast<const char*>(answers[i].bytes.data());
    auto report = core::read_report({text, answers[i].bytes.size()});
    if (report.ok() && report->pid == process.pid)
      process.report = std::move(*report);
    else
      process.why_not = report.ok() ? fmt::format("is process {}", report->pid) : report.status().message();
  }
}

void ask_each(std::span<Asked> processes, const core::ReportScope& scope, int64_t patience_ms) {
  for (size_t at = 0; at < processes.size(); at += kAtOnce)
    ask_some(processes.subspan(at, std::min(kAtOnce, processes.size() - at)), scope, patience_ms);
}

/// Processes that the reports tell of and that were not asked yet.
std::vector<Asked> others_of(const std::vector<Asked>& asked) {
  std::set<std::pair<std::string, int32_t>> known;
  for (const Asked& one : asked) known.insert({one.host, one.pid});
  std::vector<Asked> others;
  for (const Asked& one : asked) {
    if (!one.report) continue;
    for (const core::CommunicatorReport& communicator : one.report->communicators) {
      for (const core::PeerAddress& peer : communicator.members) {
        if (known.insert({peer.hostname, peer.pid}).second)
          others.push_back({peer.pid, peer.hostname, peer.door, {}, {}});
      }
    }
  }
  return others;
}

}  // namespace

std::vector<Asked> survey(const SurveyRequest& request) {
  std::vector<Asked> asked;
  for (const DoorSign& sign : read_signs()) {
    if (request.pids.empty() || std::ranges::find(request.pids, sign.pid) != request.pids.end())
      asked.push_back({sign.pid, short_hostname(), sign.door, {}, {}});
  }
  core::ReportScope scope = request.scope;
  scope.members = true;
  ask_each(asked, scope, request.patience_ms);
  std::vector<Asked> others = others_of(asked);
  if (!request.elsewhere)
    std::erase_if(others, [](const Asked& other) { return other.host != short_hostname(); });
  ask_each(others, scope, request.patience_ms);
  asked.insert(asked.end(), others.begin(), others.end());
  return asked;
}

std::vector<Gathered> gather(const std::vector<Asked>& asked) {
  std::map<std::string, Gathered> by_id;
  const auto member = [](Gathered& communicator, size_t rank) -> Gathered::Member& {
    if (communicator.members.size() <= rank) communicator.members.resize(rank + 1);
    return communicator.members[rank];
  };
  std::map<std::pair<std::string, int32_t>, std::string> silent;
  for (const Asked& process : asked) {
    if (!process.report) silent[{process.host, process.pid}] = process.why_not;
  }
  constexpr size_t kMostRanks = 1 << 20;
  for (const Asked& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& report : process.report->communicators) {
      Gathered& communicator = by_id[report.id];
      communicator.id = report.id;
      if (!report.name.empty()) communicator.name = report.name;
      for (size_t rank = 0; rank < report.members.size(); ++rank) {
        Gathered::Member& other = member(communicator, rank);
        other.host = report.members[rank].hostname;
        other.pid = report.members[rank].pid;
      }
      if (report.rank < 0 || static_cast<size_t>(report.rank) >= kMostRanks) continue;
      Gathered::Member& own = member(communicator, static_cast<size_t>(report.rank));
      own.report = report;
      own.host = process.host;
      own.pid = process.pid;
      own.program = process.report->program;
    }
  }
  std::vector<Gathered> out;
  for (auto& [id, communicator] : by_id) {
    for (Gathered::Member& one : communicator.members) {
      if (one.report) continue;
      const auto found = silent.find({one.host, one.pid});
      one.why_not = found != silent.end() ? found->second : "has left the communicator, or never had it";
    }
    out.push_back(std::move(communicator));
  }
  return out;
}

}  // namespace weir::cli
