// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/process_report.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "src/base/clock.h"
#include "src/base/host.h"

namespace weir::core {
namespace {

/// First byte of a report's request; other messages start differently (ActivityRegistry, WindowRegistry).
constexpr uint8_t kReportQuestion = 64;
/// Maximum number of operations in an answer, over all ranks of a process, so that it is made well before the
/// inquiry times out.
constexpr size_t kMostToldAtListeners = 8192;

int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The time of the report, by both clocks.
struct Instant {
  int64_t wall_ns;
  int64_t clock_ns;

  int64_t wall(int64_t at_ns) const { return at_ns == 0 ? 0 : wall_ns - (clock_ns - at_ns); }
};

OperationReport report_of(const RecordedOperation& one, const Instant& now) {
  OperationReport out;
  out.number = one.number;
  out.call = one.sequence;
  out.operation = unpack(one.what, one.count).value_or(OperationSummary());
  if (one.plan != nullptr)
    out.plan = one.plan;
  else if (out.operation.call == OperationSummary::Call::collective && one.count > 0)
    out.plan = "exchange";
  out.begun_ns = now.wall(one.begun_ns);
  out.exact = one.exact;
  out.ended = one.ended;
  const int64_t until = one.ended || one.ended_ns != 0 ? one.ended_ns : now.clock_ns;
  if (one.begun_ns != 0 && until > one.begun_ns && (one.exact || !one.ended))
    out.took_ns = until - one.begun_ns;
  return out;
}

RankState state_of(const Activity& activity, const Snapshot& snapshot) {
  if (activity.stage() == Activity::Stage::aborted) return RankState::aborted;
  if (snapshot.failure) return RankState::failed;
  if (activity.stage() == Activity::Stage::suspended) return RankState::suspended;
  if (activity.stage() == Activity::Stage::joining || snapshot.state == Snapshot::State::joining)
    return RankState::joining;
  if (snapshot.state == Snapshot::State::outside) return RankState::idle;
  return snapshot.waiting_for >= 0 ? RankState::waiting : RankState::running;
}

std::vector<ChannelReport> channels_of(const Recorder& recorder) {
  std::vector<ChannelReport> out;
  for (const auto& counters : recorder.channels()) {
    out.push_back({counters->peer, counters->number, counters->sends, counters->transport, counters->bytes(),
                   counters->messages()});
  }
  return out;
}

CommunicatorReport report_of(uint64_t uid, Rank rank, const Activity& activity, const Instant& now,
                             const ReportScope& scope, bool members) {
  CommunicatorReport out;
  out.id = fmt::format("{:016x}", hash_text(fmt::format("report {:x}", uid)));
  out.job = static_cast<uint32_t>(uid >> 32);
  out.rank = rank;
  const Activity::About about = activity.about();
  out.name = about.name;
  out.device = about.device;
  out.gpu = about.gpu;
  out.pretended = about.pretended;
  if (about.peers != nullptr) {
    out.ranks = static_cast<int>(about.peers->size());
    if (members) out.members = *about.peers;
  }
  Snapshot snapshot = activity.snapshot(0);
  out.state = state_of(activity, snapshot);
  out.calls = snapshot.sequence;
  if (snapshot.failure) {
    out.code = snapshot.failure->status.code();
    out.sentence = activity.status().message();
    out.culprit = snapshot.failure->culprit;
  }
  if (snapshot.waiting_for >= 0) {
    out.waiting_for = std::move(snapshot.also);
    out.waiting_for.insert(out.waiting_for.begin(), snapshot.waiting_for);
    out.waiting_ns = snapshot.waiting_ns;
  }
  out.bad_values = activity.recorder().bad_values();
  out.counts = activity.recorder().counts();
  for (const RecordedOperation& one : activity.recorder().recent(std::max<size_t>(scope.recent, 1)))
    out.recent.push_back(report_of(one, now));
  if (!out.recent.empty()) out.last = out.recent.back();
  if (scope.recent == 0) out.recent.clear();
  if (scope.channels) out.channels = channels_of(activity.recorder());
  if (scope.channels) out.links = activity.links();
  return out;
}

}  // namespace

std::string_view name(RankState state) {
  constexpr std::string_view kNames[] = {"joining", "idle",    "running",  "waiting",
                                         "failed",  "aborted", "suspended"};
  return kNames[static_cast<size_t>(state)];
}

ProcessReport report_of(const ActivityRegistry& activities, uint64_t host, const ReportScope& scope) {
  ProcessReport out;
  out.hostname = short_hostname();
  out.host = host;
  out.pid = static_cast<int32_t>(getpid());
  out.program = program_invocation_short_name;
  out.version = WEIR_VERSION;
  const Instant now{wall_ns(), now_ns()};
  out.time_ns = now.wall_ns;
  std::set<uint64_t> listed;  // lists members once: a process may have a thousand ranks of a communicator
  activities.for_each([&](uint64_t uid, Rank rank, const Activity& activity) {
    const bool members = scope.members && !listed.contains(uid);
    const CommunicatorReport& one =
        out.communicators.emplace_back(report_of(uid, rank, activity, now, scope, members));
    if (!one.members.empty()) listed.insert(uid);
  });
  out.joining = activities.joining();
  for (ActivityRegistry::Joining& one : out.joining) one.since_ns = now.wall(one.since_ns);
  return out;
}

Bytes report_question(const ReportScope& scope) {
  ByteWriter out;
  out.put(kReportQuestion)
      .put(static_cast<uint64_t>(scope.recent))
      .put(static_cast<uint8_t>(scope.channels))
      .put(static_cast<uint8_t>(scope.members));
  if (scope.profiler_mask) out.put(*scope.profiler_mask);
  return out.take();
}

namespace {

/// What a question asks for; nullopt: it is none.
std::optional<ReportScope> scope_of(BytesView question) {
  ByteReader in(question);
  (void)in.get<uint8_t>();
  ReportScope scope;
  scope.recent = static_cast<size_t>(in.get<uint64_t>());
  scope.channels = in.get<uint8_t>() != 0;
  scope.members = in.get<uint8_t>() != 0;
  if (in.remaining() > 0) scope.profiler_mask = in.get<int32_t>();
  return in.ok() ? std::optional(scope) : std::nullopt;
}

}  // namespace

bool is_report_question(BytesView question) {
  return !question.empty() && question[0] == std::byte{kReportQuestion};
}

std::optional<int32_t> profiler_mask_of(BytesView question) {
  const auto scope = scope_of(question);
  return scope ? scope->profiler_mask : std::nullopt;
}

Bytes answer_report_question(const ActivityRegistry& activities, uint64_t host, BytesView question) {
  const auto asked = scope_of(question);
  if (!asked) return {};
  ReportScope scope = *asked;
  size_t ranks = 0;
  activities.for_each([&ranks](uint64_t, Rank, const Activity&) { ++ranks; });
  if (ranks > 0) scope.recent = std::min(scope.recent, kMostToldAtListeners / ranks);
  const std::string text = to_json(report_of(activities, host, scope));
  const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

}  // namespace weir::core
