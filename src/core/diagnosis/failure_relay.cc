// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/failure_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "src/base/clock.h"
#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/base/process_id.h"
#include "src/base/service_thread.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {
namespace {

/// A failure that a process ended because of is told in this time, also to whoever sees its end.
constexpr int64_t kEndedMs = 300;
constexpr size_t kListenersAtOnce = 256;

/// An address as bytes, usable as a key of a set.
std::string_view key_of(const SocketAddress& listener) {
  return {reinterpret_cast<const char*>(&listener), sizeof listener};
}

/// A communicator of this process, by one of its ranks here.
struct Membership {
  uint64_t uid;
  Rank rank;
  std::shared_ptr<const std::vector<PeerAddress>> peers;
  Credentials credentials;
  std::string call_words;  ///< what the rank does, for the end of a sentence; empty: nothing
};

/// Those that have met; `failed`: also those that have failed.
std::vector<Membership> memberships(const ActivityRegistry& activities, bool failed) {
  std::vector<Membership> found;
  activities.for_each([&](uint64_t uid, Rank rank, const Activity& activity) {
    if ((!failed && activity.failed()) || (!found.empty() && found.back().uid == uid)) return;
    Activity::About about = activity.about();
    if (about.peers == nullptr) return;
    std::string words;
    if (activity.snapshot(0).state == Snapshot::State::inside)
      words = activity.found_words((*about.peers)[static_cast<size_t>(rank)].describe(rank), {});
    found.push_back({uid, rank, std::move(about.peers), std::move(about.credentials), std::move(words)});
  });
  return found;
}

}  // namespace

FailureRelay::~FailureRelay() {
  {
    const std::lock_guard lock(mutex_);
    ends_.store(true);
  }
  if (thread_.joinable()) thread_.join();
}

void FailureRelay::add(Job job) {
  (void)guarded([&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (ends_) return {};
    jobs_.push_back(std::move(job));
    if (works_) return {};
    if (thread_.joinable()) thread_.join();  // it has ended
    auto thread = start_thread(
        "weir relay", [this] { work(); }, [](const Status&) {});
    if (!thread.ok()) jobs_.clear();
    WEIR_TRY(thread.status());
    thread_ = std::move(*thread);
    works_ = true;
    return {};
  });
}

void FailureRelay::work() {
  std::unique_lock lock(mutex_);
  while (!jobs_.empty() && !ends_) {
    const Job job = std::move(jobs_.front());
    lock.unlock();
    (void)guarded([&] {
      std::visit([this](const auto& one) { carry_out(one); }, job);
      return Status();
    });
    lock.lock();
    jobs_.pop_front();
  }
  works_ = false;
  done_.notify_all();
}

void FailureRelay::settle() {
  std::unique_lock lock(mutex_);
  done_.wait_for(lock, std::chrono::milliseconds(kTellMs), [this] { return !works_; });
}

/// Members of the failed communicator were told of that itself.
void FailureRelay::carry_out(const Cause& cause) const {
  std::set<std::string, std::less<>> told = {std::string(key_of(cause.failure.process))};
  const std::vector<Membership> all = memberships(activities_, true);
  for (const Membership& one : all) {
    if (one.uid != cause.uid) continue;
    for (const PeerAddress& peer : *one.peers) told.emplace(key_of(peer.listener));
  }
  std::vector<std::unique_ptr<Inquiry>> inquiries;
  const Deadline deadline = Deadline::in_ms(kTellMs);
  for (const Membership& other : memberships(activities_, false)) {
    if (other.uid == cause.uid) continue;
    std::set<std::string, std::less<>> here = told;
    here.emplace(key_of((*other.peers)[static_cast<size_t>(other.rank)].listener));
    const Bytes message = ActivityRegistry::cause(other.rank, cause);
    for (const PeerAddress& peer : *other.peers) {
      if (!here.emplace(key_of(peer.listener)).second) continue;
      inquiries.push_back(std::make_unique<Inquiry>(peer.listener, other.uid, other.credentials, message));
      if (inquiries.size() < kListenersAtOnce) continue;
      (void)answers_of(std::exchange(inquiries, {}), deadline);
      if (deadline.over()) break;
    }
    activities_.learn(other.uid, other.rank, cause);
  }
  (void)answers_of(std::move(inquiries), deadline);
}

/// The connection proves nothing by itself: a listener ends some, and networks do.
void FailureRelay::carry_out(const EndedConnection& ended) const {
  for (const Deadline later = Deadline::in_ms(kEndedMs, &ends_); !later.over();)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const Membership& own : memberships(activities_, false)) {
    if (own.uid != ended.uid || ended.rank < 0 || static_cast<size_t>(ended.rank) >= own.peers->size())
      continue;
    const PeerAddress& peer = (*own.peers)[static_cast<size_t>(ended.rank)];
    const Answer answer = ask(peer.listener, own.uid, own.credentials,
                              ActivityRegistry::question(ended.rank, 0), Deadline::in_ms(kTellMs));
    const PeerAddress& self = (*own.peers)[static_cast<size_t>(own.rank)];
    const bool here = peer.host == self.host;
    if (answer.kind != Answer::Kind::refused || (here && state_of(peer.process) == ProcessState::runs))
      return;
    Failure failure{ended.rank,
                    Status(Code::remote_error,
                           fmt::format("{} is dead: the process has ended", peer.describe(ended.rank))),
                    peer.listener, true};
    if (const auto cause = activities_.cause_of(own.uid, ended.rank))
      failure = failure_by_cause(*own.peers, ended.rank, *cause);
    failure.seen = own.call_words.empty() ? fmt::format("; found by {}, whose connection to it has ended",
                                                        self.describe(own.rank))
                                          : own.call_words;
    WEIR_INFO(init, "communicator {:#x} failed: {}{}", own.uid, failure.status.message(), failure.seen);
    tell_members(own.uid, *own.peers, own.rank, own.credentials, failure, ended.rank, nullptr);
    activities_.fail(own.uid, failure);
  }
}

Failure failure_by_cause(const std::vector<PeerAddress>& peers, Rank rank, const Cause& cause) {
  Failure failure = cause.failure;
  const auto guilty = std::ranges::find(peers, failure.process, &PeerAddress::listener);
  failure.culprit = guilty != peers.end() ? static_cast<Rank>(guilty - peers.begin()) : rank;
  const bool itself = failure.culprit == rank && guilty != peers.end();
  failure.status = Status(Code::remote_error, fmt::format("{} {} another communicator ({:#x}) of it: {}{}",
                                                          peers[static_cast<size_t>(rank)].describe(rank),
                                                          itself ? "is lost, as was found in"
                                                                 : "has left because of a failure in",
                                                          cause.uid, failure.status.message(), failure.seen));
  failure.seen.clear();
  return failure;
}

void tell_members(uint64_t uid, const std::vector<PeerAddress>& peers, Rank self,
                  const Credentials& credentials, const Failure& failure, Rank except,
                  const std::atomic<bool>* abort) {
  const SocketAddress& own = peers[static_cast<size_t>(self)].listener;
  std::vector<SocketAddress> listeners;
  std::set<std::string_view> met = {key_of(own)};
  if (except >= 0) met.insert(key_of(peers[static_cast<size_t>(except)].listener));
  for (const PeerAddress& peer : peers) {
    if (met.insert(key_of(peer.listener)).second) listeners.push_back(peer.listener);
  }
  const Bytes notice = ActivityRegistry::notice(failure);
  const Deadline deadline = Deadline::in_ms(kTellMs, abort);
  for (std::span<const SocketAddress> rest(listeners); !rest.empty() && !deadline.over();) {
    const size_t now = std::min(rest.size(), kListenersAtOnce);
    ask_all(rest.first(now), uid, credentials, notice, deadline);
    rest = rest.subspan(now);
  }
}

}  // namespace weir::core
