// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/activity_registry.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/printable.h"

namespace weir::core {
namespace {

/// A rank that has not called wait_for() for this long counts as working.
constexpr int64_t kFreshNs = 250'000'000;

enum class Question : uint8_t { what_do_you_do = 1, communicator_failed = 2 };

void write_failure(ByteWriter& out, const Failure& failure) {
  out.put(failure.culprit)
      .put(static_cast<int32_t>(failure.status.code()))
      .put_string(failure.status.message());
}

Failure read_failure(ByteReader& in) {
  Failure failure;
  failure.culprit = in.get<Rank>();
  const auto code = in.get<int32_t>();
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::remote_error);
  failure.status = Status(known ? static_cast<Code>(code) : Code::remote_error, printable(in.get_string()));
  return failure;
}

}  // namespace

void Activity::fail(Failure failure) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
}

Status Activity::status() const {
  if (!failed()) return {};
  const std::lock_guard lock(mutex_);
  return failure_->status;
}

void Activity::wait_for(std::span<const Rank> peers, int64_t waited_ns) {
  const int64_t now = now_ns();
  recorder_.waits_since(now - waited_ns);
  for (size_t i = 0; i < kAlso; ++i)
    also_[i].store(i + 1 < peers.size() ? peers[i + 1] : -1, std::memory_order_relaxed);
  waiting_since_ns_.store(now - waited_ns, std::memory_order_relaxed);
  waiting_for_.store(peers.front(), std::memory_order_release);
  looked_ns_.store(now, std::memory_order_relaxed);
}

void Activity::tell_about(std::string name, std::string device, int gpu) {
  const std::lock_guard lock(mutex_);
  about_.name = std::move(name);
  about_.device = std::move(device);
  about_.gpu = gpu;
}

void Activity::tell_peers(std::shared_ptr<const std::vector<PeerAddress>> peers) {
  const std::lock_guard lock(mutex_);
  about_.peers = std::move(peers);
}

Activity::About Activity::about() const {
  const std::lock_guard lock(mutex_);
  return about_;
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
  auto& entry = activities_[{uid, rank}];
  if (entry != nullptr) return entry;
  entry = std::make_shared<Activity>(recorded_);
  for (const auto& [failed, failure] : failed_) {
    if (failed == uid) entry->fail(failure);
  }
  return entry;
}

void ActivityRegistry::leave(uint64_t uid, Rank rank) {
  const std::lock_guard lock(mutex_);
  auto node = activities_.extract({uid, rank});
  if (node.empty()) return;
  node.mapped()->tell_peers(nullptr);
  left_by_age_.push_back(node.key());
  left_.insert(std::move(node));
  if (left_by_age_.size() <= kMostLeft) return;
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

ActivityReport ActivityRegistry::report(uint64_t uid, Rank rank, uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = activities_.find({uid, rank}); found != activities_.end()) {
    return {ActivityReport::Presence::here, found->second->snapshot(sequence)};
  }
  if (const auto found = left_.find({uid, rank}); found != left_.end()) {
    return {ActivityReport::Presence::left, found->second->snapshot(sequence)};
  }
  return {ActivityReport::Presence::not_yet, {}};
}

void ActivityRegistry::fail(uint64_t uid, const Failure& failure) {
  const std::lock_guard lock(mutex_);
  for (auto at = activities_.lower_bound({uid, INT32_MIN}); at != activities_.end() && at->first.first == uid;
       ++at) {
    at->second->fail(failure);
  }
  if (std::ranges::find(failed_, uid, &std::pair<uint64_t, Failure>::first) != failed_.end()) return;
  failed_.emplace_back(uid, failure);
  if (failed_.size() > kMostFailed) failed_.pop_front();
}

Bytes ActivityRegistry::answer(uint64_t uid, BytesView question) {
  ByteReader in(question);
  const auto kind = in.get<Question>();
  if (kind == Question::communicator_failed) {
    const Failure failure = read_failure(in);
    if (in.ok()) fail(uid, failure);
    return {};
  }
  const auto rank = in.get<Rank>();
  const auto sequence = in.get<uint64_t>();
  if (!in.ok() || kind != Question::what_do_you_do) return {};
  const ActivityReport what = report(uid, rank, sequence);
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
  if (!in.ok() || what.presence > ActivityReport::Presence::left || now.state > Snapshot::State::joining)
    return std::nullopt;
  return what;
}

Bytes ActivityRegistry::question(Rank rank, uint64_t sequence) {
  return ByteWriter().put(Question::what_do_you_do).put(rank).put(sequence).take();
}

Bytes ActivityRegistry::notice(const Failure& failure) {
  ByteWriter out;
  out.put(Question::communicator_failed);
  write_failure(out, failure);
  return out.take();
}

}  // namespace weir::core
