// SPDX-License-Identifier: Apache-2.0

#include "src/survey/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "src/base/host.h"
#include "src/base/process_state.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/local_registry.h"

namespace weir::survey {
namespace {

constexpr size_t kAtOnce = 256;  // listeners asked at a time: each needs a descriptor

/// Sets the reason for a missing answer.
void explain(QueriedProcess& process, const Answer& answer, int64_t timeout_ms) {
  const bool here = process.host == short_hostname();
  const char state = here ? process_state(process.pid) : '\0';
  if (answer.kind == Answer::Kind::refused) {
    process.dead = !is_alive(state);
    process.why_not =
        process.dead ? "is dead: the process has ended" : "runs, but no longer accepts connections";
  } else if (is_stopped(state)) {
    process.why_not = "is stopped (by a signal or a debugger)";
  } else {
    process.why_not = fmt::format("has not answered for {:.1f} s: stopped, or out of reach",
                                  static_cast<double>(timeout_ms) / 1e3);
  }
}

void ask_some(std::span<QueriedProcess> processes, const SurveyRequest& request) {
  core::ReportScope scope = request.scope;
  scope.members = true;
  std::vector<ReportSource> sources;
  for (const QueriedProcess& process : processes) sources.push_back({process.listener, {}});
  const std::vector<Answer> answers = ask_for_reports(sources, core::report_question(scope),
                                                      Deadline::in_ms(request.timeout_ms, request.abort));
  for (size_t i = 0; i < answers.size(); ++i) {
    QueriedProcess& process = processes[i];
    if (answers[i].kind != Answer::Kind::given) {
      explain(process, answers[i], request.timeout_ms);
      continue;
    }
    const auto* const text = reinterpret_cast<const char*>(answers[i].bytes.data());
    auto report = core::read_report({text, answers[i].bytes.size()});
    if (report.ok() && report->pid == process.pid)
      process.report = std::move(*report);
    else
      process.why_not = report.ok() ? fmt::format("has lost its address to process {}", report->pid)
                                    : report.status().message();
  }
}

void ask_each(std::span<QueriedProcess> processes, const SurveyRequest& request) {
  for (size_t at = 0; at < processes.size(); at += kAtOnce)
    ask_some(processes.subspan(at, std::min(kAtOnce, processes.size() - at)), request);
}

/// Processes that are named in reports and were not asked yet.
std::vector<QueriedProcess> others_of(const std::vector<QueriedProcess>& asked, bool elsewhere) {
  std::set<std::pair<std::string, int32_t>> known;
  for (const QueriedProcess& one : asked) known.insert({one.host, one.pid});
  std::vector<QueriedProcess> others;
  for (const QueriedProcess& one : asked) {
    if (!one.report) continue;
    for (const core::CommunicatorReport& communicator : one.report->communicators) {
      for (const core::PeerAddress& peer : communicator.members) {
        const bool wanted = elsewhere || peer.hostname == short_hostname();
        if (!wanted || !known.insert({peer.hostname, peer.pid}).second) continue;
        QueriedProcess& other = others.emplace_back();
        other.pid = peer.pid;
        other.host = peer.hostname;
        other.listener = peer.listener;
      }
    }
  }
  return others;
}

std::vector<QueriedProcess> first_of(const SurveyRequest& request) {
  std::vector<QueriedProcess> first;
  if (request.own) {
    QueriedProcess& own = first.emplace_back();
    own.pid = request.own->pid;
    own.host = request.own->hostname;
    own.report = request.own;
    return first;
  }
  for (const RegisteredListener& entry : read_local_registry()) {
    if (!request.pids.empty() && std::ranges::find(request.pids, entry.pid) == request.pids.end()) continue;
    QueriedProcess& one = first.emplace_back();
    one.pid = entry.pid;
    one.host = short_hostname();
    one.listener = entry.listener;
  }
  ask_each(first, request);
  return first;
}

}  // namespace

std::vector<QueriedProcess> take(const SurveyRequest& request) {
  std::vector<QueriedProcess> asked = first_of(request);
  for (;;) {
    std::vector<QueriedProcess> others = others_of(asked, request.elsewhere);
    if (others.empty()) return asked;
    ask_each(others, request);
    asked.insert(asked.end(), others.begin(), others.end());
  }
}

std::vector<CommunicatorView> by_communicator(const std::vector<QueriedProcess>& asked) {
  std::map<std::string, CommunicatorView> by_id;
  const auto member = [](CommunicatorView& communicator, size_t rank) -> CommunicatorView::Member& {
    if (communicator.members.size() <= rank) communicator.members.resize(rank + 1);
    return communicator.members[rank];
  };
  std::map<std::pair<std::string, int32_t>, std::string> silent;
  for (const QueriedProcess& process : asked) {
    if (!process.report) silent[{process.host, process.pid}] = process.why_not;
  }
  constexpr size_t kMostUnlisted = 4096;  // ranks that no process has listed: their number is only a claim
  for (const QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& report : process.report->communicators) {
      CommunicatorView& communicator = by_id[report.id];
      communicator.id = report.id;
      if (!report.name.empty()) communicator.name = report.name;
      for (size_t rank = 0; rank < report.members.size(); ++rank) {
        CommunicatorView::Member& other = member(communicator, rank);
        other.host = report.members[rank].hostname;
        other.pid = report.members[rank].pid;
      }
      const size_t most = std::max(communicator.members.size(), kMostUnlisted);
      if (report.rank < 0 || static_cast<size_t>(report.rank) >= most) continue;
      CommunicatorView::Member& own = member(communicator, static_cast<size_t>(report.rank));
      own.report = report;
      own.host = process.host;
      own.pid = process.pid;
      own.program = process.report->program;
    }
  }
  std::vector<CommunicatorView> out;
  for (auto& [id, communicator] : by_id) {
    for (CommunicatorView::Member& one : communicator.members) {
      if (one.report) continue;
      const auto found = silent.find({one.host, one.pid});
      one.why_not = found != silent.end() ? found->second : "has left the communicator, or never joined it";
    }
    out.push_back(std::move(communicator));
  }
  return out;
}

}  // namespace weir::survey
