// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/activity_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/exception.h"
#include "src/base/printable.h"
#include "src/core/diagnosis/failure_relay.h"

namespace weir::core {
namespace {

/// A rank that has not called wait_for() for this long counts as working.
constexpr int64_t kFreshNs = 250'000'000;

/// An answer about the connections serves all who ask in this time.
constexpr int64_t kNetworkNs = 500 * kNsPerMs;
/// A failure before this time says nothing about who leaves now.
constexpr int64_t kRecentNs = 60'000 * kNsPerMs;

enum class Question : uint8_t {
  what_do_you_do = 1,
  communicator_failed,
  has_cause,
  connection_ended,
  process_state
};

void write_failure(ByteWriter& out, const Failure& failure) {
  out.put(failure.culprit)
      .put(static_cast<int32_t>(failure.status.code()))
      .put_string(failure.status.message())
      .put(failure.process)
      .put(failure.gone)
      .put_string(failure.seen);
}

Failure read_failure(ByteReader& in) {
  Failure failure;
  failure.culprit = in.get<Rank>();
  const auto code = in.get<int32_t>();
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::remote_error);
  failure.status = Status(known ? static_cast<Code>(code) : Code::remote_error, printable(in.get_string()));
  failure.process = in.get<SocketAddress>();
  failure.gone = in.get<uint8_t>() != 0;
  failure.seen = printable(in.get_string());
  return failure;
}

void write_wait(ByteWriter& out, const ThreadWait& wait) {
  out.put(wait.uid)
      .put(wait.waiter)
      .put(wait.rank)
      .put(wait.listener)
      .put(wait.waiting_ns)
      .put_string(wait.words);
}

ThreadWait read_wait(ByteReader& in) {
  ThreadWait wait;
  wait.uid = in.get<uint64_t>();
  wait.waiter = in.get<Rank>();
  wait.rank = in.get<Rank>();
  wait.listener = in.get<SocketAddress>();
  wait.waiting_ns = in.get<int64_t>();
  wait.words = printable(in.get_string());
  return wait;
}

}  // namespace

ActivityRegistry::ActivityRegistry(size_t recorded)
    : recorded_(recorded), relay_(std::make_unique<FailureRelay>(*this)) {}
ActivityRegistry::~ActivityRegistry() = default;

void Activity::fail(Failure failure) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
}

Status Activity::status(std::string_view place) const {
  if (!failed()) return {};
  const Snapshot now = snapshot(0);
  const Status& said = now.failure->status;
  const std::string& seen = now.failure->seen;
  if (seen.empty()) return said;
  if (now.state == Snapshot::State::outside) return said.reworded(said.message() + seen);
  const About here = about();
  const bool known = here.peers != nullptr && static_cast<size_t>(here.rank) < here.peers->size();
  std::string words =
      said.message() +
      found_words(known ? (*here.peers)[static_cast<size_t>(here.rank)].describe(here.rank) : "this rank",
                  place);
  if (now.waiting_for >= 0) words += wait_words(now.waiting_for, now.waiting_ns);
  return said.reworded(std::move(words));
}

std::string Activity::found_words(std::string_view who, std::string_view place) const {
  const Snapshot now = snapshot(snapshot(0).sequence);
  if (now.state != Snapshot::State::inside)
    return fmt::format("; found by {} while setting up a communicator", who);
  // Sends and receives before the first collective have no record.
  if (!now.call) return fmt::format("; found by {} in sends and receives", who);
  return fmt::format("; found by {} in {} as call {} of the communicator{}{}", who,
                     describe(now.call->operation), now.call->sequence, place.empty() ? "" : ", at ", place);
}

std::string wait_words(Rank waiting_for, int64_t waited_ns) {
  return fmt::format(", after {:.1f} s of waiting for rank {}", static_cast<double>(waited_ns) / 1e9,
                     waiting_for);
}

void Activity::wait_for(std::span<const Rank> peers, int64_t waited_ns) {
  const int64_t now = now_ns();
  recorder_.waits_since(now - waited_ns);
  for (size_t i = 0; i < kAlso; ++i)
    also_[i].store(i + 1 < peers.size() ? peers[i + 1] : -1, std::memory_order_relaxed);
  waiting_since_ns_.store(now - waited_ns, std::memory_order_relaxed);
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  waiting_for_.store(peers.front(), std::memory_order_release);
  looked_ns_.store(now, std::memory_order_relaxed);
}

void Activity::tell_about(std::string name, std::string device, int gpu) {
  const std::lock_guard lock(mutex_);
  about_.name = std::move(name);
  about_.device = std::move(device);
  about_.gpu = gpu;
}

void Activity::tell_pretended(std::string what) {
  const std::lock_guard lock(mutex_);
  about_.pretended = std::move(what);
}

void Activity::tell_peers(std::shared_ptr<const std::vector<PeerAddress>> peers, Rank rank,
                          const Credentials& credentials) {
  const std::lock_guard lock(mutex_);
  about_.rank = rank;
  about_.peers = std::move(peers);
  about_.credentials = credentials;
}

Activity::About Activity::about() const {
  const std::lock_guard lock(mutex_);
  return about_;
}

void Activity::tell_network(std::function<NetworkFinding()> look) {
  const std::lock_guard lock(network_mutex_);
  network_ = std::move(look);
  seen_network_ns_ = 0;
}

void Activity::tell_links(std::function<std::vector<LinkSpeed>()> look) {
  const std::lock_guard lock(network_mutex_);
  links_ = std::move(look);
}

std::vector<LinkSpeed> Activity::links() const {
  const std::lock_guard lock(network_mutex_);
  return links_ ? links_() : std::vector<LinkSpeed>();
}

NetworkFinding Activity::network() const {
  const std::lock_guard lock(network_mutex_);
  return network_ ? network_() : NetworkFinding();
}

NetworkFinding Activity::recent_network() const {
  const std::lock_guard lock(network_mutex_);
  const int64_t now = now_ns();
  if (network_ && (seen_network_ns_ == 0 || now - seen_network_ns_ > kNetworkNs)) {
    seen_network_ = network_();
    seen_network_ns_ = now;
  }
  return network_ ? seen_network_ : NetworkFinding();
}

std::optional<CallRecord> Activity::recall(uint64_t sequence) const {
  if (sequence == 0) return std::nullopt;
  const auto one = recorder_.with_sequence(sequence);
  if (!one) return std::nullopt;
  const auto operation = unpack(one->what, one->count);
  if (!operation) return std::nullopt;
  return CallRecord{sequence, one->signature, *operation};
}

Snapshot Activity::snapshot(uint64_t sequence) const {
  Snapshot out;
  const uint64_t head = head_.load(std::memory_order_acquire);
  out.state = static_cast<Snapshot::State>(head & 3);
  out.sequence = head >> 2;
  const int64_t now = now_ns();
  if (out.state != Snapshot::State::outside && now - looked_ns_.load(std::memory_order_relaxed) < kFreshNs) {
    out.waiting_for = waiting_for_.load(std::memory_order_acquire);
    out.waiting_ns = now - waiting_since_ns_.load(std::memory_order_relaxed);
    for (const std::atomic<Rank>& other : also_) {
      const Rank rank = other.load(std::memory_order_relaxed);
      if (out.waiting_for >= 0 && rank >= 0) out.also.push_back(rank);
    }
  }
  out.call = recall(sequence);
  if (failed()) {
    const std::lock_guard lock(mutex_);
    out.failure = failure_;
  }
  return out;
}

std::shared_ptr<Activity> ActivityRegistry::enter(uint64_t uid, Rank rank) {
  const std::lock_guard lock(mutex_);
  if (const auto found = activities_.find({uid, rank}); found != activities_.end()) return found->second;
  auto made = std::make_shared<Activity>(recorded_);
  for (const Past& past : failed_) {
    if (past.uid == uid) made->fail(past.failure);
  }
  activities_.emplace(Key{uid, rank}, made);
  return made;
}

void ActivityRegistry::leave(uint64_t uid, Rank rank, bool remembered) {
  const std::lock_guard lock(mutex_);
  auto node = activities_.extract({uid, rank});
  if (node.empty()) return;
  (void)guarded([&] {
    leave_words(uid, rank, *node.mapped());
    return Status();
  });
  node.mapped()->tell_peers(nullptr);
  forget_twin(uid);
  if (!remembered) return;
  const Status aged = guarded([&] {
    left_by_age_.push_back(node.key());
    return Status();
  });
  left_.insert(std::move(node));  // in any case: others may ask
  if (!aged.ok() || left_by_age_.size() <= kMostLeft) return;
  left_.erase(left_by_age_.front());
  left_by_age_.pop_front();
}

ActivityRegistry::JoiningNote::JoiningNote(ActivityRegistry& activities, Joining joining)
    : activities_(activities) {
  joining.since_ns = now_ns();
  const std::lock_guard lock(activities_.mutex_);
  at_ = activities_.joining_.insert(activities_.joining_.end(), std::move(joining));
}

ActivityRegistry::JoiningNote::~JoiningNote() {
  const std::lock_guard lock(activities_.mutex_);
  activities_.joining_.erase(at_);
}

std::vector<ActivityRegistry::Joining> ActivityRegistry::joining() const {
  const std::lock_guard lock(mutex_);
  return {joining_.begin(), joining_.end()};
}

void ActivityRegistry::for_each(const Each& each) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, activity] : activities_) each(key.first, key.second, *activity);
}

/// What keeps the only rank of `uid` in this process in another communicator: for whom it waits there, that
/// it has a call under way (where cores are scarce it may have had no time to say for whom it waits), or that
/// it has failed there and will probably leave.
std::string ActivityRegistry::elsewhere(uint64_t uid) const {
  int ranks = 0;
  std::string words;
  const Activity* asked = nullptr;
  const auto twin = twins_.find(uid);
  for (const auto& [key, activity] : activities_) {
    if (key.first == uid) {
      ++ranks;
      asked = activity.get();
    }
    const bool own = key.first == uid || (twin != twins_.end() && key.first == twin->second);
    if (own || !words.empty()) continue;
    const Snapshot now = activity->snapshot(0);
    const auto peer = static_cast<size_t>(now.waiting_for);
    const auto peers = now.waiting_for >= 0 ? activity->about().peers : nullptr;
    if (peers != nullptr && peer < peers->size())
      words = fmt::format("waits for {} in communicator {:#x}", (*peers)[peer].describe(now.waiting_for),
                          key.first);
    else if (now.state != Snapshot::State::outside)
      words = fmt::format("is in a call of communicator {:#x}", key.first);
  }
  const Past* const past = words.empty() && asked != nullptr ? recent_failure(*asked, nullptr) : nullptr;
  if (past != nullptr && past->uid != uid)
    words =
        fmt::format("has just failed in communicator {:#x}: {}", past->uid, past->failure.status.message());
  return ranks == 1 ? words : std::string();
}

/// For whom the thread of `asked` waits. In a call it waits there alone: other calls of a group hold it up no
/// more than it them. REQUIRES: mutex_ is held.
std::optional<ThreadWait> ActivityRegistry::wait_of(const Activity& asked) const {
  const bool outside = asked.snapshot(0).state == Snapshot::State::outside;
  for (const auto& [key, activity] : activities_) {
    if (outside == (activity.get() == &asked)) continue;
    if (activity->thread() == std::thread::id() || activity->thread() != asked.thread()) continue;
    const Snapshot now = activity->snapshot(0);
    const auto peer = static_cast<size_t>(now.waiting_for);
    const auto peers = now.waiting_for >= 0 ? activity->about().peers : nullptr;
    if (peers == nullptr || peer >= peers->size()) continue;
    return ThreadWait{key.first,
                      key.second,
                      now.waiting_for,
                      (*peers)[peer].listener,
                      now.waiting_ns,
                      fmt::format("waits for {} in communicator {:#x}",
                                  (*peers)[peer].describe(now.waiting_for), key.first)};
  }
  return std::nullopt;
}

ActivityReport ActivityRegistry::report(uint64_t uid, Rank rank, uint64_t sequence, bool network) const {
  ActivityReport here;
  std::shared_ptr<const Activity> asked;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = activities_.find({uid, rank}); found != activities_.end()) {
      asked = found->second;
      here.presence = ActivityReport::Presence::here;
      here.snapshot = asked->snapshot(sequence);
      if (here.snapshot.state == Snapshot::State::outside) here.elsewhere = elsewhere(uid);
      here.thread_wait = wait_of(*asked);
    } else if (const auto gone = left_.find({uid, rank}); gone != left_.end()) {
      here.presence = ActivityReport::Presence::left;
      here.snapshot = gone->second->snapshot(sequence);
    }
  }
  if (asked != nullptr && network)
    here.network = asked->recent_network();  // asks the kernel, which takes its time
  return here;
}

void ActivityRegistry::fail(uint64_t uid, const Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    const auto twin = twins_.find(uid);
    if (twin != twins_.end()) (void)fail_one(twin->second, failure);
    if (!fail_one(uid, failure)) return;
  }
  if (failure.spreads()) relay_->tell_others({uid, failure});
}

/// Whether that is its first failure. REQUIRES: mutex_ is held.
bool ActivityRegistry::fail_one(uint64_t uid, const Failure& failure) {
  Past past{uid, failure, now_ns(), nullptr};
  for (auto at = activities_.lower_bound({uid, INT32_MIN}); at != activities_.end() && at->first.first == uid;
       ++at) {
    at->second->fail(failure);
    past.peers = at->second->about().peers;
  }
  if (std::ranges::find(failed_, uid, &Past::uid) != failed_.end()) return false;
  failed_.push_back(std::move(past));
  if (failed_.size() > kMostFailed) failed_.pop_front();
  return true;
}

void ActivityRegistry::pair(uint64_t uid, uint64_t twin) {
  const std::lock_guard lock(mutex_);
  twins_.insert_or_assign(uid, twin);
  twins_.insert_or_assign(twin, uid);
  const auto failed = std::ranges::find(failed_, uid, &Past::uid);
  if (failed != failed_.end()) (void)fail_one(twin, Failure(failed->failure));
}

/// REQUIRES: mutex_ is held.
void ActivityRegistry::forget_twin(uint64_t uid) {
  const auto at = activities_.lower_bound({uid, INT32_MIN});
  const bool still_here = at != activities_.end() && at->first.first == uid;
  const auto twin = twins_.find(uid);
  if (still_here || twin == twins_.end()) return;
  twins_.erase(twin->second);
  twins_.erase(uid);
}

/// The latest failure that explains why processes leave the communicator of `activity`: not one from before
/// it was made, which users went on after. `member`: of a communicator with this process; null: of any one.
const ActivityRegistry::Past* ActivityRegistry::recent_failure(const Activity& activity,
                                                               const SocketAddress* member) const {
  const int64_t since = std::max(now_ns() - kRecentNs, activity.since_ns());
  for (auto past = failed_.rbegin(); past != failed_.rend() && past->when_ns > since; ++past) {
    if (!past->failure.spreads()) continue;
    if (member == nullptr) return &*past;
    if (past->peers != nullptr &&
        std::ranges::find(*past->peers, *member, &PeerAddress::listener) != past->peers->end())
      return &*past;
  }
  return nullptr;
}

/// Where another communicator has failed, that is why this one is left: whoever asks gets to know.
void ActivityRegistry::leave_words(uint64_t uid, Rank rank, Activity& activity) const {
  const auto peers = activity.about().peers;
  const Past* const past =
      activity.failed() || peers == nullptr ? nullptr : recent_failure(activity, nullptr);
  if (past == nullptr || past->uid == uid) return;
  activity.fail(failure_by_cause(*peers, rank, {past->uid, past->failure}));
}

void ActivityRegistry::learn(uint64_t uid, Rank from, const Cause& cause) {
  std::optional<Failure> failure;
  {
    const std::lock_guard lock(mutex_);
    causes_.insert_or_assign({uid, from}, cause);
    if (causes_.size() > kMostCauses) causes_.erase(causes_.begin());
    const auto own = activities_.lower_bound({uid, INT32_MIN});
    if (own == activities_.end() || own->first.first != uid || own->second->failed()) return;
    const auto peers = own->second->about().peers;
    if (peers == nullptr) return;
    const auto lost = std::ranges::find(*peers, cause.failure.process, &PeerAddress::listener);
    if (!cause.failure.gone || lost == peers->end()) return;
    failure = failure_by_cause(*peers, static_cast<Rank>(lost - peers->begin()), cause);
    if (static_cast<size_t>(from) < peers->size())
      failure->seen = fmt::format("; told by {}", (*peers)[static_cast<size_t>(from)].describe(from));
  }
  fail(uid, *failure);
}

std::optional<Cause> ActivityRegistry::cause_of(uint64_t uid, Rank rank) const {
  const std::lock_guard lock(mutex_);
  const auto own = activities_.lower_bound({uid, INT32_MIN});
  const bool known = own != activities_.end() && own->first.first == uid;
  const auto peers = known ? own->second->about().peers : nullptr;
  if (peers == nullptr || static_cast<size_t>(rank) >= peers->size()) return std::nullopt;
  const SocketAddress& process = (*peers)[static_cast<size_t>(rank)].listener;
  for (auto at = causes_.lower_bound({uid, INT32_MIN}); at != causes_.end() && at->first.first == uid; ++at) {
    const auto from = static_cast<size_t>(at->first.second);
    if (from < peers->size() && (*peers)[from].listener == process) return at->second;
  }
  const Past* const past = recent_failure(*own->second, &process);
  if (past == nullptr || past->uid == uid || past->failure.process == process) return std::nullopt;
  return Cause{past->uid, past->failure};
}

ProcessState ActivityRegistry::state_here(uint64_t uid, Rank rank) const {
  ProcessId process;
  {
    const std::lock_guard lock(mutex_);
    const auto own = activities_.lower_bound({uid, INT32_MIN});
    if (own == activities_.end() || own->first.first != uid) return ProcessState::unknown;
    const Activity::About about = own->second->about();
    if (about.peers == nullptr || rank < 0 || static_cast<size_t>(rank) >= about.peers->size())
      return ProcessState::unknown;
    const PeerAddress& peer = (*about.peers)[static_cast<size_t>(rank)];
    if (peer.host != (*about.peers)[static_cast<size_t>(about.rank)].host) return ProcessState::unknown;
    process = peer.process;
  }
  return state_of(process);
}

void ActivityRegistry::settle() { relay_->settle(); }

void ActivityRegistry::starve(uint64_t uid) {
  const std::lock_guard lock(mutex_);
  for (auto at = activities_.lower_bound({uid, INT32_MIN}); at != activities_.end() && at->first.first == uid;
       ++at)
    at->second->starve();
}

Bytes ActivityRegistry::answer(uint64_t uid, BytesView question) {
  if (question.empty()) {
    starve(uid);
    return {};
  }
  ByteReader in(question);
  const auto kind = in.get<Question>();
  if (kind == Question::communicator_failed) {
    const Failure failure = read_failure(in);
    if (in.ok()) fail(uid, failure);
    return {};
  }
  if (kind == Question::has_cause) {
    const auto from = in.get<Rank>();
    const auto other = in.get<uint64_t>();
    const Failure failure = read_failure(in);
    if (in.ok() && from >= 0) learn(uid, from, {other, failure});
    return {};
  }
  if (kind == Question::connection_ended) {
    const auto lost = in.get<Rank>();
    if (in.ok()) relay_->check({uid, lost});
    return {};
  }
  const auto rank = in.get<Rank>();
  if (kind == Question::process_state)
    return ByteWriter().put(in.ok() ? state_here(uid, rank) : ProcessState::unknown).take();
  const auto sequence = in.get<uint64_t>();
  const bool network = in.get<uint8_t>() != 0;
  if (!in.ok() || kind != Question::what_do_you_do) return {};
  const ActivityReport what = report(uid, rank, sequence, network);
  ByteWriter out;
  const Snapshot& now = what.snapshot;
  out.put(what.presence).put(now.state).put(now.sequence).put(now.waiting_for).put(now.waiting_ns);
  out.put(static_cast<uint8_t>(now.also.size()));
  for (const Rank rank : now.also) out.put(rank);
  out.put(now.call.has_value()).put(now.failure.has_value());
  if (now.call) {
    const OperationSummary& call = now.call->operation;
    out.put(now.call->sequence).put(now.call->signature).put(pack(call)).put(uint64_t{call.count});
  }
  if (now.failure) write_failure(out, *now.failure);
  out.put_string(what.elsewhere);
  out.put(what.network.lost).put_string(what.network.words);
  out.put(what.thread_wait.has_value());
  if (what.thread_wait) write_wait(out, *what.thread_wait);
  return out.take();
}

std::optional<ActivityReport> ActivityRegistry::read_report(BytesView answer) {
  ByteReader in(answer);
  ActivityReport what;
  what.presence = in.get<ActivityReport::Presence>();
  Snapshot& now = what.snapshot;
  now.state = in.get<Snapshot::State>();
  now.sequence = in.get<uint64_t>();
  now.waiting_for = in.get<Rank>();
  now.waiting_ns = in.get<int64_t>();
  for (size_t others = in.count<uint8_t>(sizeof(Rank)); others > 0; --others)
    now.also.push_back(in.get<Rank>());
  const bool call = in.get<uint8_t>() != 0;
  const bool failure = in.get<uint8_t>() != 0;
  if (call) {
    CallRecord& record = now.call.emplace();
    record.sequence = in.get<uint64_t>();
    record.signature = in.get<uint32_t>();
    const auto packed = in.get<uint64_t>();
    const auto operation = unpack(packed, in.get<uint64_t>());
    if (!operation) return std::nullopt;
    record.operation = *operation;
  }
  if (failure) now.failure = read_failure(in);
  what.elsewhere = printable(in.get_string());
  what.network.lost = in.get<uint8_t>() != 0;
  what.network.words = printable(in.get_string());
  if (in.get<uint8_t>() != 0) what.thread_wait = read_wait(in);
  if (!in.ok() || what.presence > ActivityReport::Presence::left || now.state > Snapshot::State::joining)
    return std::nullopt;
  return what;
}

Bytes ActivityRegistry::question(Rank rank, uint64_t sequence, bool network) {
  return ByteWriter().put(Question::what_do_you_do).put(rank).put(sequence).put(network).take();
}

Bytes ActivityRegistry::process_question(Rank rank) {
  return ByteWriter().put(Question::process_state).put(rank).take();
}

ProcessState ActivityRegistry::read_process_state(BytesView answer) {
  ByteReader in(answer);
  const auto state = in.get<ProcessState>();
  return in.ok() && state <= ProcessState::gone ? state : ProcessState::unknown;
}

Bytes ActivityRegistry::notice(const Failure& failure) {
  ByteWriter out;
  out.put(Question::communicator_failed);
  write_failure(out, failure);
  return out.take();
}

Bytes ActivityRegistry::cause(Rank from, const Cause& cause) {
  ByteWriter out;
  out.put(Question::has_cause).put(from).put(cause.uid);
  write_failure(out, cause.failure);
  return out.take();
}

Bytes ActivityRegistry::last_will(Rank rank) {
  return ByteWriter().put(Question::connection_ended).put(rank).take();
}

}  // namespace weir::core
