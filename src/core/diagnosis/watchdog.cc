// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <tuple>

#include "src/base/clock.h"
#include "src/base/error_log.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/core/diagnosis/deadlock_search.h"
#include "src/core/diagnosis/failure_relay.h"
#include "src/core/diagnosis/wait_chain.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {
namespace {

constexpr int64_t kPeriodNs = 250 * kNsPerMs;
/// Where more ranks share a core, they ask less often, or their inquiries would keep it busy.
constexpr int64_t kAskersPerCore = 32;
/// Long enough for messages that a rank sent, or that were sent to it, before it ended to arrive.
constexpr int64_t kConfirmNs = 300 * kNsPerMs;
/// A waiting thread calls examine() at least this often.
constexpr int64_t kExaminedNs = 100 * kNsPerMs;
constexpr int64_t kCatchUpNs = 30 * kNsPerMs;
/// After this time without an answer it is looked whether this process itself runs late.
constexpr int64_t kLateNs = 500 * kNsPerMs;
constexpr int64_t kExplainMs = 1000;
constexpr int64_t kAtWorkNs = 2000 * kNsPerMs;
/// A rank of a silent one's host has this part of the silence to answer.
constexpr int64_t kWitnesses = 4;
/// After this time without progress ranks are also asked for the state of their connections.
constexpr int64_t kAskNetworkNs = 2000 * kNsPerMs;

std::string place_of(const exec::Task* task) { return task != nullptr ? task->place() : ""; }

/// What this rank knows of its connections, or one of the chase where that says more; and which rank says it.
std::pair<Rank, NetworkFinding> network_of(const WaitChain& chase, const Watchdog::Spec& own_rank) {
  NetworkFinding own = own_rank.activity->network();
  const auto& told = chase.network();
  if (told && (own.words.empty() || (told->second.lost && !own.lost))) return *told;
  return {own_rank.rank, std::move(own)};
}

std::string network_words(const std::pair<Rank, NetworkFinding>& said,
                          const std::vector<PeerAddress>& peers) {
  return fmt::format("{}, says {}", said.second.words,
                     peers[static_cast<size_t>(said.first)].describe(said.first));
}

}  // namespace

Watchdog::Watchdog(Spec spec) : spec_(std::move(spec)), stuck_ms_(spec_.timeouts.stuck_ms) {
  const uint64_t machine = peers()[static_cast<size_t>(spec_.rank)].process.kernel;
  const auto here = std::ranges::count_if(
      peers(), [machine](const PeerAddress& peer) { return peer.process.kernel == machine; });
  crowd_ = std::max<int64_t>(1, here / (machine_cores() * kAskersPerCore));
  spec_.activity->tell_peers(spec_.peers, spec_.rank, spec_.credentials);
}
Watchdog::~Watchdog() = default;

int64_t Watchdog::period_ns() const {
  return std::min<int64_t>(kPeriodNs * crowd_, spec_.timeouts.peer_ms * kNsPerMs / 5);
}
int64_t Watchdog::silence_ns() const { return spec_.timeouts.peer_ms * kNsPerMs + delay_.allowance_ns(); }

Status Watchdog::examine(Rank waiting_for, int64_t waited_ns, bool opening, const exec::Task* task) {
  Activity& own = *spec_.activity;
  task_ = task;
  const std::vector<Rank> awaited = task != nullptr && !opening ? task->awaited() : std::vector{waiting_for};
  own.wait_for(awaited, waited_ns);
  if (own.failed()) return told();
  if (own.starved()) return exhausted("has no memory left for a message of another rank", task);
  const int64_t now = now_ns();
  const int64_t pause = now - std::exchange(examined_ns_, now);
  if (waiting_for != waiting_for_ || waited_ns < waited_ns_) {  // there was progress: a new wait
    chase_.reset();
    deadlock_.reset();
    suspicion_.reset();
    chases_ = 0;
    both_called_ns_ = 0;
    warned_ = false;
    warned_of_slow_ = false;
    at_work_ = -1;
    delay_ = {};
  } else {
    delay_.note(pause - kExaminedNs);
  }
  if (pause > kStallNs) both_called_ns_ = 0;
  opening_ = opening;
  waiting_for_ = waiting_for;
  waited_ns_ = waited_ns;
  if (chase_ == nullptr) {
    if (waited_ns < period_ns() || now < next_chase_ns_) return {};
    chase_ = std::make_unique<WaitChain>(awaited);
    ++chases_;
  } else if (pause > kStallNs) {
    chase_->forgive(pause);
  }
  return pursue(now);
}

/// The finding about the chase's current rank, whose call number `call` is compared with ours; empty while
/// its answer is in flight.
std::optional<RankFinding> Watchdog::look(WaitChain& chase, int64_t now, uint64_t call, bool network) {
  const Rank rank = chase.at();
  if (is_local(rank)) return interpret(rank, spec_.activities->report(spec_.uid, rank, call, network));
  const PeerAddress& peer = peers()[static_cast<size_t>(rank)];
  auto answer = chase.ask(peer, spec_.uid, spec_.credentials, ActivityRegistry::question(rank, call, network),
                          now, silence_ns());
  if (!answer) return unanswered(chase, now);
  switch (answer->kind) {
    case Answer::Kind::given:
      if (const auto report = ActivityRegistry::read_report(answer->bytes)) return interpret(rank, *report);
      break;
    case Answer::Kind::unasked: return unasked(rank, answer->why);
    case Answer::Kind::silent: {
      const ProcessState state = state_here(rank);
      if (state == ProcessState::runs) return busy(rank, chase.silent_ns(now));
      return silent(chase, state, now, answer->why);
    }
    case Answer::Kind::refused:
    case Answer::Kind::forbidden: break;
  }
  return ended(rank, state_here(rank));
}

/// What is known of the current rank while it does not answer; empty: nothing yet.
std::optional<RankFinding> Watchdog::unanswered(WaitChain& chase, int64_t now) {
  const Rank rank = chase.at();
  const int64_t silent_ns = chase.silent_ns(now);
  if (silent_ns < kLateNs) return std::nullopt;
  chase.measure(peers()[static_cast<size_t>(spec_.rank)].listener, spec_.uid, spec_.credentials,
                ActivityRegistry::question(spec_.rank, 0), now, delay_);
  if (silent_ns < spec_.timeouts.stopped_ms() * kNsPerMs) return std::nullopt;
  const ProcessState here = chase.may_look(now) ? state_here(rank) : ProcessState::unknown;
  if (here == ProcessState::runs) return busy(rank, silent_ns);
  const ProcessState state =
      here != ProcessState::unknown
          ? here
          : chase.ask_witnesses(peers(), spec_.uid, spec_.credentials, now, silence_ns() / kWitnesses);
  if (state == ProcessState::gone) return ended(rank, state);
  if (state == ProcessState::stopped) return silent(chase, state, now, "");
  return std::nullopt;
}

ProcessState Watchdog::state_here(Rank rank) const {
  const PeerAddress& peer = peers()[static_cast<size_t>(rank)];
  const bool here = peer.host == peers()[static_cast<size_t>(spec_.rank)].host;
  return here ? state_of(peer.process) : ProcessState::unknown;
}

/// A process that runs and does not answer has had no core for the thread that answers: that proves nothing.
RankFinding Watchdog::busy(Rank rank, int64_t silent_ns) const {
  RankFinding finding;
  finding.rank = rank;
  finding.words =
      fmt::format("{} runs, but has not answered for {:.1f} s: its host is busy",
                  peers()[static_cast<size_t>(rank)].describe(rank), static_cast<double>(silent_ns) / 1e9);
  return finding;
}

RankFinding Watchdog::silent(const WaitChain& chase, ProcessState state, int64_t now,
                             std::string_view why) const {
  RankFinding finding;
  finding.kind = RankFinding::Kind::silent;
  finding.rank = chase.at();
  const std::string how =
      state == ProcessState::stopped ? "is stopped (by a signal or a debugger)"
      : chase.witness() >= 0
          ? fmt::format("does not answer ({}), although its process runs, as rank {} of its host says", why,
                        chase.witness())
          : fmt::format("is stopped or out of reach ({})", why);
  finding.words = fmt::format("{} {}, it has not answered for {:.1f} s",
                              peers()[static_cast<size_t>(chase.at())].describe(chase.at()), how,
                              static_cast<double>(chase.silent_ns(now)) / 1e9);
  return finding;
}

RankFinding Watchdog::ended(Rank rank, ProcessState state) const {
  const bool runs = state == ProcessState::runs || state == ProcessState::stopped;
  RankFinding finding;
  finding.kind = RankFinding::Kind::dead;
  finding.rank = rank;
  finding.words = fmt::format("{} {}", peers()[static_cast<size_t>(rank)].describe(rank),
                              runs ? "has left: the process runs, but no longer accepts connections"
                                   : "is dead: the process has ended");
  return finding;
}

/// A lack of this process proves nothing about the rank that it wanted to ask.
RankFinding Watchdog::unasked(Rank rank, const std::string& why) const {
  RankFinding finding;
  finding.rank = rank;
  finding.words =
      fmt::format("{} could not be asked: {}", peers()[static_cast<size_t>(rank)].describe(rank), why);
  return finding;
}

/// Continues the chase as far as answers have arrived.
Status Watchdog::pursue(int64_t now) {
  // Ranks nearer to a distant culprit find it sooner: follow the chain rarely, but always before a timeout.
  const bool far = is_overdue() || suspicion_ || (chases_ & (chases_ - 1)) == 0;
  for (;;) {
    const bool known_silent = suspicion_ && suspicion_->finding.kind == RankFinding::Kind::silent &&
                              suspicion_->finding.rank == chase_->at();
    const uint64_t latest = spec_.activity->snapshot(0).sequence;
    const bool network = waited_ns_ >= kAskNetworkNs || is_overdue();
    const std::optional<RankFinding> found =
        known_silent ? suspicion_->finding : look(*chase_, now, latest, network);
    if (!found) return {};
    const RankFinding& finding = *found;
    chase_->note_network(finding.rank, finding.network);
    if (chase_->is_direct()) WEIR_TRY(judge_opening(finding, now));
    if (finding.kind == RankFinding::Kind::waits) {
      chase_->note_wait(finding.waited_ns);
      if (far) chase_->add(finding.next, spec_.rank);
    } else if (finding.kind == RankFinding::Kind::lives) {
      if (finding.absent) at_work_ = -1;
      chase_->note(finding);
    } else {
      return conclude(finding, now);
    }
    if (!chase_->go_on()) {
      if (chase_->blocked()) WEIR_TRY(judge_the_blocked(*chase_->blocked()));
      const bool ring = far && chase_->complete();
      return ring || chase_->slow() ? judge_the_slow(chase_->slow().value_or(finding), now) : pause(now);
    }
  }
}

RankFinding Watchdog::interpret(Rank rank, const ActivityReport& report) const {
  const PeerAddress& peer = peers()[static_cast<size_t>(rank)];
  RankFinding finding;
  finding.rank = rank;
  const Snapshot& there = report.snapshot;
  finding.calls = there.sequence;
  finding.network = report.network;
  if (report.presence == ActivityReport::Presence::not_yet) {
    finding.words = fmt::format("{} runs, but has not made this communicator yet", peer.describe(rank));
    finding.absent = true;
    return finding;
  }
  if (there.failure) {
    finding.kind = RankFinding::Kind::failed;
    finding.failure = *there.failure;
    return finding;
  }
  if (report.presence == ActivityReport::Presence::left) {
    finding.kind = RankFinding::Kind::left;
    finding.words = fmt::format("{} has destroyed or aborted this communicator", peer.describe(rank));
    return finding;
  }
  const Snapshot here = spec_.activity->snapshot(there.call ? there.call->sequence : 0);
  if (there.call && here.call && there.call->signature != here.call->signature &&
      there.call->signature != 0 && here.call->signature != 0) {
    finding.kind = RankFinding::Kind::mismatched;
    finding.words =
        fmt::format("the ranks' calls do not match: call {} of the communicator is {} on {}, but {} on {}",
                    here.call->sequence, describe(here.call->operation),
                    peers()[static_cast<size_t>(spec_.rank)].describe(spec_.rank),
                    describe(there.call->operation), peer.describe(rank));
    return finding;
  }
  const bool has_next = there.waiting_for >= 0 && static_cast<size_t>(there.waiting_for) < peers().size();
  if (there.state == Snapshot::State::outside) {
    finding.absent = true;
    finding.words = fmt::format("{} runs, but is in no call of this communicator (it has made {})",
                                peer.describe(rank), there.sequence);
    finding.elsewhere = !report.elsewhere.empty();
    if (finding.elsewhere) finding.words += ", and " + report.elsewhere;
    finding.thread_wait = report.thread_wait;
  } else if (has_next) {
    finding.kind = RankFinding::Kind::waits;
    finding.waited_ns = there.waiting_ns;
    finding.next = {there.waiting_for};
    for (const Rank other : there.also) {
      if (other >= 0 && static_cast<size_t>(other) < peers().size()) finding.next.push_back(other);
    }
    finding.words = fmt::format("{} waits for rank {}", peer.describe(rank), there.waiting_for);
  } else {
    finding.words = fmt::format("{} is at work in its call {}", peer.describe(rank), there.sequence);
  }
  return finding;
}

/// The failure because of which a rank has left.
Failure Watchdog::caused(Rank rank, const Cause& cause) const {
  Failure failure = failure_by_cause(peers(), rank, cause);
  failure.status = failure.status.reworded(failure.status.message() + own_words() + wait_words());
  return failure;
}

/// On a busy machine the own listener's thread may not have run since the suspect ended. False: look again
/// soon; also once after it has run, so that whoever waits finds what it has read.
bool Watchdog::has_caught_up(int64_t now) {
  if (suspicion_->caught_up) return true;
  const bool given_up = now - suspicion_->since_ns > spec_.timeouts.peer_ms * kNsPerMs;
  suspicion_->caught_up = suspicion_->own_listener->advance() || given_up;
  rest(now, kCatchUpNs);
  return false;
}

/// Decides on the finding at the end of a chain.
Status Watchdog::conclude(const RankFinding& finding, int64_t now) {
  using Kind = RankFinding::Kind;
  if (finding.kind == Kind::failed) {
    // A rank that fails while it joins may not know all others, so it could not tell them.
    if (spec_.activity->stage() == Activity::Stage::joining) return fail(finding.failure, true);
    spec_.activities->fail(spec_.uid, finding.failure);
    return told();
  }
  const bool direct = chase_->is_direct();
  const bool sure = finding.kind == Kind::mismatched || (finding.kind == Kind::silent && direct);
  const bool same =
      suspicion_ && suspicion_->finding.kind == finding.kind && suspicion_->finding.rank == finding.rank;
  if (!sure && !same) {
    const SocketAddress& own = peers()[static_cast<size_t>(spec_.rank)].listener;
    suspicion_ = Suspicion{finding, now,
                           std::make_unique<Inquiry>(own, spec_.uid, spec_.credentials,
                                                     ActivityRegistry::question(spec_.rank, 0))};
  }
  if (!sure && now - suspicion_->since_ns < kConfirmNs) {
    (void)suspicion_->own_listener->advance();
    rest(now, suspicion_->since_ns + kConfirmNs - now);
    return {};
  }
  if (!sure && !has_caught_up(now)) return {};
  if (finding.kind == Kind::dead || finding.kind == Kind::left) {
    if (const auto cause = spec_.activities->cause_of(spec_.uid, finding.rank))
      return fail(caused(finding.rank, *cause), true);
  }
  const Code code = finding.kind == Kind::mismatched ? Code::invalid_usage : Code::remote_error;
  std::string words = finding.words;
  if (finding.kind != Kind::mismatched) words += own_words() + wait_words();
  const NetworkFinding network = finding.kind == Kind::silent ? spec_.activity->network() : NetworkFinding();
  if (network.lost) words += "; " + network.words;
  const bool gone = finding.kind == Kind::dead;
  return fail({finding.rank, Status(code, std::move(words)), {}, gone}, finding.kind != Kind::mismatched);
}

/// No rank is dead, but the wait may have exceeded a limit.
Status Watchdog::judge_the_slow(const RankFinding& finding, int64_t now) {
  const bool ring = finding.kind == RankFinding::Kind::waits;
  const auto words = [&](std::string_view verdict) { return stall_words(finding, verdict); };
  // Every rank of the ring must have waited long: two ranks that exchange data over a slow network often wait
  // for each other briefly.
  if (ring && has_waited(spec_.timeouts.deadlock_ms) &&
      chase_->least_wait_ns() >= spec_.timeouts.deadlock_ms * kNsPerMs)
    return fail({-1, Status(Code::remote_error, words("the wait timed out (WEIR_DEADLOCK_TIMEOUT)"))});
  // Of ranks that wait for one that is stuck in another communicator, those of that one are to say so first.
  const int64_t most_ms = stuck_ms_;
  const bool sure = ring || finding.absent || stays_at_work(finding.rank, now);
  if (has_waited(finding.elsewhere ? 2 * most_ms : most_ms) && sure) {
    const bool own = most_ms != spec_.timeouts.stuck_ms;
    const std::string verdict = own ? fmt::format("the wait timed out (limit of this communicator: {:.1f} s)",
                                                  static_cast<double>(most_ms) / 1e3)
                                    : "the wait timed out (WEIR_STUCK_TIMEOUT)";
    return fail({ring ? -1 : finding.rank, Status(Code::remote_error, words(verdict))});
  }
  if (!warned_of_slow_ && has_waited(spec_.timeouts.warn_ms)) {
    log_error(words("there is no progress (WEIR_STUCK_WARNING)"));
    warned_of_slow_ = true;
  }
  return pause(now);
}

/// A rank cannot come because its thread waits in another communicator: perhaps for this one, in the end.
/// Like the ranks of a ring within the communicator, all must have waited long.
Status Watchdog::judge_the_blocked(const RankFinding& finding) {
  const int64_t long_ns = spec_.timeouts.deadlock_ms * kNsPerMs;
  if (!has_waited(spec_.timeouts.deadlock_ms) || finding.thread_wait->waiting_ns < long_ns) return {};
  // One that takes too long proves nothing; perhaps a process on the way has not answered.
  if (deadlock_ != nullptr && now_ns() - deadlock_->since_ns() > long_ns) deadlock_.reset();
  if (deadlock_ == nullptr)
    deadlock_ = std::make_unique<DeadlockSearch>(
        DeadlockSearch::Origin{spec_.uid, spec_.rank, peers()[static_cast<size_t>(spec_.rank)].listener,
                               spec_.credentials},
        *spec_.activities, peers()[static_cast<size_t>(finding.rank)].listener, *finding.thread_wait);
  const DeadlockSearch::State state = deadlock_->advance();
  if (state == DeadlockSearch::State::unknown) return {};
  const std::unique_ptr<DeadlockSearch> search = std::move(deadlock_);
  if (state == DeadlockSearch::State::open || search->least_wait_ns() < long_ns) return {};
  const Failure failure = {
      -1, Status(Code::remote_error,
                 fmt::format("{} {}, which closes a ring of ranks that wait for each other in several "
                             "communicators; the wait timed out (WEIR_DEADLOCK_TIMEOUT){}{}",
                             peers()[static_cast<size_t>(finding.rank)].describe(finding.rank),
                             search->words(), own_words(), wait_words()))};
  const Status told = fail(failure);
  search->tell(failure);
  return told;
}

/// Whether the rank was at work for a while, whenever it was asked: one that waits seems to be where it has
/// had no core to say so.
bool Watchdog::stays_at_work(Rank rank, int64_t now) {
  if (std::exchange(at_work_, rank) != rank) at_work_since_ns_ = now;
  return now - at_work_since_ns_ >= kAtWorkNs;
}

/// The report of a stall. Ranks that wait for each other are the result where the network loses their data.
std::string Watchdog::stall_words(const RankFinding& finding, std::string_view verdict) const {
  const auto said = network_of(*chase_, spec_);
  const NetworkFinding& network = said.second;
  const bool ring = finding.kind == RankFinding::Kind::waits && !network.lost;
  const std::string words = fmt::format("{}{}; {}{}{}", finding.words,
                                        ring ? ", which closes a ring of ranks that wait for each other" : "",
                                        verdict, own_words(), wait_words());
  if (network.words.empty()) return words;
  const std::string state = network_words(said, peers());
  if (!network.lost) return fmt::format("{}; {}", words, state);
  const bool answered = finding.kind == RankFinding::Kind::waits || finding.absent;
  return fmt::format("{}; {}{}", state, answered ? "small messages arrive, as the ranks answer; " : "",
                     words);
}

/// No failure so far: rests until the next chase.
Status Watchdog::pause(int64_t now) {
  suspicion_.reset();
  rest(now, period_ns());
  return {};
}

/// Whether the wait may have exceeded a limit.
bool Watchdog::is_overdue() const {
  return has_waited(stuck_ms_) || has_waited(spec_.timeouts.deadlock_ms) ||
         (!warned_of_slow_ && has_waited(spec_.timeouts.warn_ms));
}

bool Watchdog::has_waited(int64_t ms) const { return ms > 0 && waited_ns_ >= ms * kNsPerMs; }

/// Checks whether a channel is overdue to open, given the state of the rank at its other end.
Status Watchdog::judge_opening(const RankFinding& finding, int64_t now) {
  using Kind = RankFinding::Kind;
  const Snapshot here = spec_.activity->snapshot(spec_.activity->snapshot(0).sequence);
  const bool runs = finding.kind == Kind::waits || finding.kind == Kind::lives;
  const bool called =
      finding.calls > here.sequence || (finding.calls == here.sequence && finding.kind == Kind::waits);
  if (!opening_ || !runs || !called) {
    both_called_ns_ = 0;
    return {};
  }
  if (both_called_ns_ == 0) both_called_ns_ = now;
  const int64_t lasted_ns = now - both_called_ns_;
  if (lasted_ns < spec_.timeouts.open_ms * kNsPerMs || warned_) return {};
  const bool numbered = here.call && here.call->operation.call == OperationSummary::Call::collective;
  if (!numbered && std::ranges::find(finding.next, spec_.rank) == finding.next.end()) return {};
  const PeerAddress& peer = peers()[static_cast<size_t>(finding.rank)];
  const std::string words = fmt::format(
      "{} answers and {}, but a channel between it (address {}) and this rank (address {}) has not opened "
      "for {:.1f} s (WEIR_INIT_TIMEOUT): a device between the hosts may accept connections without "
      "forwarding them{}",
      peer.describe(finding.rank), numbered ? "has made the same call" : "waits for this rank",
      peer.listener.text(), peers()[static_cast<size_t>(spec_.rank)].listener.text(),
      static_cast<double>(lasted_ns) / 1e9, own_words());
  if (numbered) return fail({-1, Status(Code::remote_error, words)});
  log_error(words);
  warned_ = true;
  return {};
}

/// The rank that this rank waits for, and how long.
std::string Watchdog::wait_words() const { return core::wait_words(waiting_for_, waited_ns_); }

std::string Watchdog::own_words() const {
  return spec_.activity->found_words(peers()[static_cast<size_t>(spec_.rank)].describe(spec_.rank),
                                     place_of(task_));
}

/// The failure of the communicator, with what this rank does.
Status Watchdog::told() const { return spec_.activity->status(place_of(task_)); }

void Watchdog::rest(int64_t now, int64_t pause_ns) {
  chase_.reset();
  next_chase_ns_ = now + pause_ns;
}

bool Watchdog::is_local(Rank rank) const {
  return peers()[static_cast<size_t>(rank)].listener == peers()[static_cast<size_t>(spec_.rank)].listener;
}

Status Watchdog::exhausted(const exec::Task* task) { return exhausted("has no memory left", task); }

Status Watchdog::exhausted(std::string_view what, const exec::Task* task) {
  task_ = task;
  const std::string words = fmt::format(
      "{} {}{}", peers()[static_cast<size_t>(spec_.rank)].describe(spec_.rank), what, own_words());
  (void)fail({spec_.rank, Status(Code::remote_error, words)});
  return Status::shortage(words);
}

Status Watchdog::fail(Failure failure) { return fail(std::move(failure), false); }

Status Watchdog::fail(Failure failure, bool culprit_is_gone) {
  Activity& own = *spec_.activity;
  if (own.failed()) return own.status();
  WEIR_INFO(init, "communicator {:#x} failed: {}", spec_.uid, failure.status.message());
  if (failure.culprit >= 0 && !failure.process.valid())
    failure.process = peers()[static_cast<size_t>(failure.culprit)].listener;
  // Before another rank can learn of it here, and end.
  tell_members(spec_.uid, peers(), spec_.rank, spec_.credentials, failure,
               culprit_is_gone ? failure.culprit : -1, spec_.abort);
  spec_.activities->fail(spec_.uid, failure);
  return own.status();
}

Status Watchdog::explain(Rank peer, const Status& what, const exec::Task* task) {
  if (what.is_shortage() && !spec_.activity->failed())
    return exhausted(fmt::format("cannot go on: {}", what.message()), task);
  using Kind = RankFinding::Kind;
  task_ = task;
  Activity& own = *spec_.activity;
  const bool broke = what.code() != Code::invalid_usage;  // otherwise a peer's message does not match
  const Deadline deadline = Deadline::in_ms(kExplainMs, spec_.abort);
  WaitChain chase({peer});
  std::optional<RankFinding> finding;
  int64_t gone_ns = 0;
  uint64_t call = own.snapshot(0).sequence;
  while (!own.failed() && !deadline.over()) {
    const int64_t now = now_ns();
    if (gone_ns == 0) finding = look(chase, now, call, true);
    if (finding) chase.note_network(finding->rank, finding->network);
    if (finding && finding->kind != Kind::mismatched && finding->calls > 0 && finding->calls < call) {
      call = finding->calls;  // the peer is behind: an earlier call of ours may be the mismatched one
      chase.ask_again();
      continue;
    }
    if (finding && finding->kind == Kind::failed) spec_.activities->fail(spec_.uid, finding->failure);
    const bool gone = finding && (finding->kind == Kind::dead || finding->kind == Kind::left);
    if (gone && gone_ns == 0) gone_ns = now;
    // A peer that ended because of a third rank told us before, but its message may still be in flight. And
    // the connections of a dying process do not break all at once.
    // And a peer whose message has come may not yet say in which call it is.
    if (gone ? now - gone_ns > kConfirmNs : finding && finding->kind == Kind::mismatched) break;
    if (finding && !gone) chase.ask_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (own.failed()) return told();
  if (spec_.abort != nullptr && spec_.abort->load()) return what;
  if (gone_ns != 0) {
    if (const auto cause = spec_.activities->cause_of(spec_.uid, peer))
      return fail(caused(peer, *cause), true);
    // `what` names the connection on which the peer was lost.
    return fail(
        {peer,
         Status(Code::remote_error, fmt::format("{}; {}{}", finding->words, what.message(), own_words())),
         {},
         finding->kind == Kind::dead},
        true);
  }
  if (finding && finding->kind == Kind::mismatched) {
    return fail({peer, Status(Code::invalid_usage, finding->words)});
  }
  if (!broke) return fail({peer, what});
  // Either end may have caused it, or the network: then one kernel gave up, and the other was told so.
  const auto who = [&](Rank rank) { return peers()[static_cast<size_t>(rank)].describe(rank); };
  const auto said = network_of(chase, spec_);
  const std::string words = fmt::format("{}the connection of {} to {} broke: {}{}",
                                        said.second.lost ? network_words(said, peers()) + "; " : "",
                                        who(spec_.rank), who(peer), what.message(), own_words());
  const Status told = fail({peer, Status(Code::remote_error, words)});
  return told.message() == words ? Status(what.code(), words) : told;
}

}  // namespace weir::core
