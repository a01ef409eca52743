// SPDX-License-Identifier: Apache-2.0

#include "src/survey/survey.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "src/base/host.h"
#include "src/base/process_state.h"
#include "src/net/listener/local_owner.h"
#include "src/net/listener/local_registry.h"
#include "src/net/listener/local_reports.h"

namespace weir::survey {
namespace {

constexpr size_t kAtOnce = 256;     // listeners asked at a time: each needs a descriptor
constexpr int64_t kMostUsers = 16;  // silent users that are waited for
// What a process of another user may cost, which may lie.
constexpr uint32_t kMostOfOther = 1 << 20;  // bytes of its answer
constexpr size_t kMostOfUser = 64 << 20;    // bytes of the answers of all processes of this user
constexpr size_t kOthersAtOnce = 32;        // processes of this user that are asked at a time
constexpr size_t kMostNamed = 4096;         // processes that the reports of other users name
constexpr int kMostRounds = 2;              // of asking those that were named meanwhile

/// A process, and what opens its reports.
struct Asked {
  QueriedProcess process;
  ReportAccess access;
  std::vector<ReportAccess> known;  ///< what the process that has named this one has let the survey know
  int32_t visible_pid = 0;          ///< its number here; 0: not known
};

/// Sets the reason for a missing answer.
void explain(Asked& asked, const Answer& answer, int64_t timeout_ms) {
  QueriedProcess& process = asked.process;
  const char state = asked.visible_pid != 0 ? process_state(asked.visible_pid) : '\0';
  if (answer.kind == Answer::Kind::forbidden) {
    process.report_state = asked.access.secret ? ReportState::off : ReportState::for_its_jobs;
  } else if (answer.kind == Answer::Kind::refused) {
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

/// Takes the report of an answer, or the reason why there is none.
void understand(Asked& asked, Answer answer, int64_t timeout_ms) {
  if (answer.kind != Answer::Kind::given) return explain(asked, answer, timeout_ms);
  const auto* const text = reinterpret_cast<const char*>(answer.bytes.data());
  auto report = core::read_report({text, answer.bytes.size()});
  QueriedProcess& process = asked.process;
  if (report.ok() && report->pid == process.pid)
    process.report = std::move(*report);
  else
    process.why_not = report.ok() ? fmt::format("has lost its address to process {}", report->pid)
                                  : fmt::format("answers with {}", report.status().message());
  asked.known.insert(asked.known.end(), answer.access.begin(), answer.access.end());
}

Bytes question_of(const SurveyRequest& request) {
  core::ReportScope scope = request.scope;
  scope.members = true;
  return core::report_question(scope);
}

void ask_each(std::span<Asked> processes, const SurveyRequest& request) {
  for (size_t at = 0; at < processes.size(); at += kAtOnce) {
    const std::span<Asked> some = processes.subspan(at, std::min(kAtOnce, processes.size() - at));
    std::vector<ReportSource> sources;
    for (const Asked& one : some) {
      sources.push_back({one.process.listener, one.access});
      if (one.process.user) sources.back().most = kMostOfOther;
    }
    std::vector<Answer> answers =
        ask_for_reports(sources, question_of(request), Deadline::in_ms(request.timeout_ms, request.abort));
    for (size_t i = 0; i < some.size(); ++i) understand(some[i], std::move(answers[i]), request.timeout_ms);
  }
}

/// Processes that are named in reports and were not asked yet.
std::vector<Asked> others_of(const std::vector<Asked>& asked, bool elsewhere) {
  std::set<std::tuple<std::optional<uint32_t>, std::string, int32_t>> known;
  for (const auto& [process, access, all, pid] : asked)
    known.insert({process.user, process.host, process.pid});
  const std::string here = short_hostname();
  std::vector<Asked> others;
  for (const Asked& one : asked) {
    if (!one.process.report) continue;
    for (const core::CommunicatorReport& communicator : one.process.report->communicators) {
      const auto access = std::ranges::find(one.known, communicator.job, &ReportAccess::job_key);
      for (const core::PeerAddress& peer : communicator.members) {
        const bool is_here = peer.hostname == here;
        if (!elsewhere && !is_here) continue;
        if (!known.insert({one.process.user, peer.hostname, peer.pid}).second) continue;
        Asked& other = others.emplace_back();
        other.process.pid = peer.pid;
        other.process.host = peer.hostname;
        other.process.user = one.process.user;
        other.process.listener = peer.listener;
        other.known = one.known;
        if (access != one.known.end()) other.access = *access;
        if (is_here) other.visible_pid = peer.pid;
      }
    }
  }
  return others;
}

/// Asks registered processes of one user. Those of another user have `together`, however many entries this
/// user has made.
void ask_registered(std::span<Asked> processes, std::span<const LocalReportSource> sources,
                    const SurveyRequest& request, const Deadline& together) {
  const uint32_t user = sources.front().owner.uid;
  const size_t at_once = user == geteuid() ? kAtOnce : kOthersAtOnce;
  size_t taken = 0;
  for (size_t at = 0; at < sources.size(); at += at_once) {
    const size_t count = std::min(at_once, sources.size() - at);
    if (user != geteuid() && taken > kMostOfUser) {
      for (size_t i = 0; i < count; ++i)
        processes[at + i].process.why_not = "is not asked: other processes of its user have sent too much";
      continue;
    }
    std::vector<Answer> answers =
        ask_locally(sources.subspan(at, count), question_of(request),
                    user == geteuid() ? Deadline::in_ms(request.timeout_ms, request.abort) : together);
    for (size_t i = 0; i < count; ++i) {
      QueriedProcess& process = processes[at + i].process;
      const bool forbidden = answers[i].kind == Answer::Kind::forbidden;
      taken += answers[i].bytes.size();
      understand(processes[at + i], std::move(answers[i]), request.timeout_ms);
      if (process.report) continue;
      // Whoever is not root need not be answered by others; root is kept from reports by WEIR_REPORTS=off
      // only.
      const bool stranger = user != geteuid() && geteuid() != 0;
      process.report_state = stranger    ? ReportState::for_its_user
                             : forbidden ? ReportState::off
                                         : ReportState::shown;
    }
  }
}

Asked registered(const LocalReportSource& source) {
  Asked out;
  out.process.pid = source.entry.pid;
  out.process.host = short_hostname();
  if (source.owner.uid != geteuid()) out.process.user = source.owner.uid;
  out.process.listener = source.entry.listener;
  out.visible_pid = source.owner.pid;
  if (!is_own_entry(source.entry, source.owner)) {
    out.process.pid = source.owner.pid;
    out.process.report_state = ReportState::under_false_name;
  }
  return out;
}

/// The processes of this host, those of the own user first.
std::vector<Asked> registered_of(const SurveyRequest& request) {
  std::map<std::pair<bool, uint32_t>, std::vector<LocalReportSource>> by_user;
  std::vector<Asked> out;
  for (const RegisteredListener& entry : read_local_registry()) {
    if (!request.pids.empty() && std::ranges::find(request.pids, entry.pid) == request.pids.end()) continue;
    const auto owner = owner_of(entry);
    if (!owner) continue;
    if (is_own_entry(entry, *owner))
      by_user[{owner->uid != geteuid(), owner->uid}].push_back(
          {entry, *owner, owner->uid == geteuid() ? Listener::kMostBytes : kMostOfOther});
    else
      out.push_back(registered({entry, *owner}));
  }
  const Deadline others = Deadline::in_ms(kMostUsers * request.timeout_ms, request.abort);
  for (const auto& [user, sources] : by_user) {
    std::vector<Asked> some;
    for (const LocalReportSource& source : sources) some.push_back(registered(source));
    ask_registered(some, sources, request, others.within_ms(request.timeout_ms));
    // A forked child may still hold the socket of a process that has ended.
    std::erase_if(some, [](const Asked& one) {
      return !one.process.report && one.visible_pid != 0 && !is_alive(process_state(one.visible_pid));
    });
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::vector<Asked> first_of(const SurveyRequest& request) {
  if (!request.own) return registered_of(request);
  Asked own;
  own.process.pid = request.own->pid;
  own.process.host = request.own->hostname;
  own.process.report = request.own;
  own.known = request.own_access;
  return {own};
}

std::string words_of(const QueriedProcess& process) {
  switch (process.report_state) {
    case ReportState::shown: break;
    case ReportState::off: return "shows its reports to nobody (WEIR_REPORTS=off)";
    case ReportState::for_its_user: return "does not show its reports to other users (WEIR_REPORTS)";
    case ReportState::for_its_jobs: return "does not show its reports to other jobs (WEIR_REPORTS)";
    case ReportState::under_false_name: return "is registered under the number of another process";
  }
  return process.why_not;
}

}  // namespace

std::vector<QueriedProcess> take(const SurveyRequest& request) {
  std::vector<Asked> asked = first_of(request);
  size_t named = 0;  // by reports of other users
  for (int round = 0;; ++round) {
    std::vector<Asked> others = others_of(asked, request.elsewhere);
    std::erase_if(others, [&](const Asked& one) {
      return one.process.user && (round >= kMostRounds || ++named > kMostNamed);
    });
    if (others.empty()) break;
    ask_each(others, request);
    asked.insert(asked.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  }
  std::vector<QueriedProcess> out;
  for (Asked& one : asked) {
    out.push_back(std::move(one.process));
    out.back().why_not = words_of(out.back());
  }
  return out;
}

std::vector<CommunicatorView> by_communicator(const std::vector<QueriedProcess>& asked) {
  using Key = std::pair<std::optional<uint32_t>, std::string>;  // user and id
  std::map<Key, CommunicatorView> by_id;
  const auto member = [](CommunicatorView& communicator, size_t rank) -> CommunicatorView::Member& {
    if (communicator.members.size() <= rank) communicator.members.resize(rank + 1);
    return communicator.members[rank];
  };
  std::map<std::tuple<std::optional<uint32_t>, std::string, int32_t>, std::string> silent;
  for (const QueriedProcess& process : asked) {
    if (!process.report) silent[{process.user, process.host, process.pid}] = process.why_not;
  }
  constexpr size_t kMostUnlisted = 4096;  // ranks that no process has listed: their number is only a claim
  for (const QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& report : process.report->communicators) {
      CommunicatorView& communicator = by_id[{process.user, report.id}];
      communicator.id = report.id;
      communicator.user = process.user;
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
  for (auto& [key, communicator] : by_id) {
    for (CommunicatorView::Member& one : communicator.members) {
      if (one.report) continue;
      const auto found = silent.find({key.first, one.host, one.pid});
      one.why_not = found != silent.end() ? found->second : "has left the communicator, or never joined it";
    }
    out.push_back(std::move(communicator));
  }
  return out;
}

}  // namespace weir::survey
