// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/queue_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/base/log.h"

namespace weir::verbs {
namespace {

constexpr size_t kBatch = 16;
constexpr uint32_t kPacketNumbers = 0xffffff;

/// The first packet number of an end: random, so that packets of an earlier queue pair with the same number
/// are rejected.
uint32_t first_number() { return static_cast<uint32_t>(random_bits()) & kPacketNumbers; }

/// How long a device retries before it declares a connection broken.
int64_t retry_ns(const drivers::VerbsPairSpec& spec) {
  return (int64_t{4096} << spec.timeout) * (spec.retries + 1);
}

}  // namespace

Status QueuePairs::make(const std::vector<Place>& places, const QueuePairSettings& settings, uint32_t depth,
                        Slots& slots) {
  queue_pairs_.clear();
  live_ = 0;
  spec_ = settings.pair;
  spec_.sends = spec_.receives = depth;
  for (const Place& place : places) {
    QueuePair queue_pair;
    queue_pair.rail = &rails_[place.rail];
    queue_pair.peer_port = place.peer_port;
    queue_pair.first = first_number();
    const Result<SlotKeys> keys = slots.enroll(*queue_pair.rail->device);
    WEIR_TRY(keys.status());
    queue_pair.own = *keys;
    auto pair = make_pair(*queue_pair.rail, queue_pair.first);
    WEIR_TRY(pair.status());
    queue_pair.pair = std::move(*pair);
    queue_pairs_.push_back(std::move(queue_pair));
  }
  return {};
}

Result<std::unique_ptr<drivers::VerbsPair>> QueuePairs::make_pair(const Rail& rail, uint32_t first) const {
  drivers::VerbsPairSpec spec = spec_;
  spec.port = rail.used.port.number;
  spec.gid_index = rail.used.choice.gid.index;
  spec.global = rail.address.ethernet;
  spec.first = first;
  return rail.device->make_pair(spec);
}

QueuePairEnd QueuePairs::end(uint32_t index) const {
  const QueuePair& queue_pair = queue_pairs_[index];
  const PortAddress& address = queue_pair.rail->address;
  return {.pair = queue_pair.pair->number(),
          .first = queue_pair.first,
          .key = queue_pair.own.heads.remote,
          .body_key = queue_pair.own.bodies.remote,
          .mtu = address.mtu,
          .lid = address.lid,
          .peer_port = queue_pair.peer_port,
          .gid = address.gid};
}

drivers::VerbsPath QueuePairs::path_to(const QueuePair& queue_pair, const QueuePairEnd& peer) const {
  return {.pair = peer.pair,
          .first = peer.first & kPacketNumbers,
          .lid = peer.lid,
          .gid = peer.gid,
          .mtu = std::min(peer.mtu, queue_pair.rail->address.mtu)};
}

/// Its pair is connected, and carries messages from now on.
void QueuePairs::use(QueuePair& queue_pair, const QueuePairEnd& peer) {
  queue_pair.peer.heads.remote = peer.key;
  queue_pair.peer.bodies.remote = peer.body_key;
  queue_pair.peer_gid = gid_text(peer.gid);
  queue_pair.live = true;
  ++live_;
}

Status QueuePairs::connect(uint32_t index, const QueuePairEnd& peer) {
  QueuePair& queue_pair = queue_pairs_[index];
  WEIR_TRY(queue_pair.pair->connect(path_to(queue_pair, peer)));
  use(queue_pair, peer);
  return {};
}

bool QueuePairs::may_try(uint32_t index) const {
  const QueuePair& queue_pair = queue_pairs_[index];
  return !queue_pair.live && queue_pair.halted_here && queue_pair.halted_there && !queue_pair.rail->down &&
         !queue_pair.rail->lost && status_.ok() && !peer_gone_;
}

Result<QueuePairEnd> QueuePairs::begin_trial(uint32_t index, uint32_t attempt) {
  QueuePair& queue_pair = queue_pairs_[index];
  queue_pair.trial.emplace();
  Trial& trial = *queue_pair.trial;
  trial.attempt = attempt;
  trial.first = first_number();
  auto pair = make_pair(*queue_pair.rail, trial.first);
  if (!pair.ok()) queue_pair.trial.reset();
  WEIR_TRY(pair.status());
  trial.pair = std::move(*pair);
  QueuePairEnd end = this->end(index);
  end.pair = trial.pair->number();
  end.first = trial.first;
  return end;
}

Status QueuePairs::connect_trial(uint32_t index, const QueuePairEnd& peer, bool answers) {
  Trial& trial = *queue_pairs_[index].trial;
  trial.peer = peer;
  trial.answers = answers;
  WEIR_TRY(trial.pair->connect(path_to(queue_pairs_[index], peer)));
  trial.connected = true;
  if (answers) return {};
  const auto probe = Immediate::of_attempt(Immediate::Kind::probe, index, trial.attempt);
  ++trial.under_way;
  return trial.pair->post(nullptr, probe.code(), kNoId);
}

std::optional<uint32_t> QueuePairs::trial(uint32_t index) const {
  const std::optional<Trial>& trial = queue_pairs_[index].trial;
  return trial && !trial->failed ? std::optional(trial->attempt) : std::nullopt;
}

/// What follows the peer's probe is for poll().
void QueuePairs::poll_trial(uint32_t index, QueuePairUser& user) {
  Trial& trial = *queue_pairs_[index].trial;
  std::array<drivers::VerbsCompletion, 1> done;
  for (size_t count = 1; count == 1 && !trial.failed;) {
    const Result<size_t> polled = trial.pair->poll(done);
    trial.failed = !polled.ok();
    count = polled.ok() ? *polled : 0;
    if (count == 0) continue;
    if (!done[0].received) --trial.under_way;
    trial.failed = !done[0].error.empty();
    if (!trial.failed && done[0].received) return adopt_trial(index, user);
  }
}

/// The peer's probe has come over the trial.
void QueuePairs::adopt_trial(uint32_t index, QueuePairUser& user) {
  QueuePair& queue_pair = queue_pairs_[index];
  Trial trial = std::move(*queue_pair.trial);
  queue_pair.trial.reset();
  queue_pair.pair = std::move(trial.pair);
  queue_pair.attempt = trial.attempt;
  queue_pair.first = trial.first;
  queue_pair.halted_here = queue_pair.halted_there = false;
  queue_pair.trouble.clear();
  queue_pair.under_way = trial.under_way;
  use(queue_pair, trial.peer);
  if (rate_ > 0) static_cast<void>(set_rate(rate_));
  if (trial.answers)
    post(index, nullptr, Immediate::of_attempt(Immediate::Kind::probe, index, queue_pair.attempt), kNoId);
  user.regained(index);
}

/// The pair has carried its last message.
void QueuePairs::lose(uint32_t index, QueuePairUser& user) {
  QueuePair& queue_pair = queue_pairs_[index];
  queue_pair.pair->halt();
  poll(index, user);  // completions from before the halt
  queue_pair.live = false;
  queue_pair.halted_here = true;
  --live_;
  if (live_ > 0) return;
  status_ = Status(Code::remote_error, fmt::format("{} has lost its last RDMA queue pair, from {} of {}: {}",
                                                   name_, path_of(queue_pair), peer_, queue_pair.trouble));
}

void QueuePairs::drop(uint32_t index, QueuePairUser& user) {
  QueuePair& queue_pair = queue_pairs_[index];
  if (queue_pair.live) {
    if (queue_pair.trouble.empty()) queue_pair.trouble = fmt::format("{} has abandoned it", peer_);
    lose(index, user);
    user.given_up(index);
  }
  queue_pair.halted_there = true;
}

uint32_t QueuePairs::next() {
  do {
    next_ = next_ + 1 >= size() ? 0 : next_ + 1;
  } while (!queue_pairs_[next_].live);
  return next_;
}

void QueuePairs::post(uint32_t index, const drivers::VerbsWrite* write, const Immediate& immediate,
                      uint64_t id) {
  QueuePair& queue_pair = queue_pairs_[index];
  if (!queue_pair.trouble.empty()) return;
  ++queue_pair.under_way;
  if (const Status posted = queue_pair.pair->post(write, immediate.code(), id); !posted.ok())
    queue_pair.trouble = posted.message();
}

Status QueuePairs::set_rate(double bytes_per_s) {
  const auto set_all = [&](double rate) {
    Status refused;
    for (QueuePair& queue_pair : queue_pairs_) {
      if (queue_pair.live && refused.ok()) refused = queue_pair.pair->set_rate(rate / live_);
    }
    return refused;
  };
  rate_ = bytes_per_s;
  Status refused = set_all(rate_);
  if (refused.ok()) return {};
  rate_ = 0;
  static_cast<void>(set_all(0));  // if this also fails, the queue pair is broken, and poll() reports it
  return refused;
}

void QueuePairs::serve(QueuePairUser& user) {
  for (uint32_t i = 0; i < size(); ++i) {
    if (queue_pairs_[i].live) poll(i, user);
    if (queue_pairs_[i].trial && queue_pairs_[i].trial->connected) poll_trial(i, user);
  }
  rails_.look();
  avoid_down_rails();
  for (uint32_t i = 0; i < size(); ++i) {
    if (queue_pairs_[i].live && !queue_pairs_[i].trouble.empty()) give_up(i, user);
  }
}

void QueuePairs::poll(uint32_t index, QueuePairUser& user) {
  std::array<drivers::VerbsCompletion, kBatch> done;
  for (size_t count = kBatch; count == kBatch;) {
    QueuePair& queue_pair = queue_pairs_[index];
    const Result<size_t> polled = queue_pair.pair->poll(done);
    if (!polled.ok() && queue_pair.trouble.empty()) queue_pair.trouble = polled.status().message();
    if (!polled.ok()) return;
    count = *polled;
    for (size_t i = 0; i < count; ++i) {
      if (!done[i].received) --queue_pair.under_way;
      if (!done[i].error.empty()) {
        if (queue_pair.trouble.empty()) queue_pair.trouble = done[i].error;
      } else if (done[i].received) {
        take(index, Immediate::of(done[i].immediate), user);
      } else if (done[i].id != kNoId) {
        user.completed(index, done[i].id);
      }
    }
  }
}

void QueuePairs::take(uint32_t index, const Immediate& immediate, QueuePairUser& user) {
  if (immediate.kind != Immediate::Kind::halted) return user.arrived(index, immediate);
  const uint32_t halted = immediate.queue_pair();
  if (halted >= size()) return;
  QueuePair& queue_pair = queue_pairs_[halted];
  if (queue_pair.trial && immediate.is_of_attempt(queue_pair.trial->attempt)) queue_pair.trial->failed = true;
  if (!immediate.is_of_attempt(queue_pair.attempt)) return;
  const bool news = !queue_pair.halted_there;
  queue_pair.halted_there = true;
  if (queue_pair.live && queue_pair.trouble.empty())
    queue_pair.trouble = fmt::format("{} has abandoned it", peer_);
  if (queue_pair.halted_here && news) user.peer_halted(halted);
}

/// Packets on a rail that is down do not arrive soon. But the last rail may come up again before the retries
/// are exhausted; an end that has nothing to retry, as it waits for the peer, bears it as long.
void QueuePairs::avoid_down_rails() {
  const bool other = std::ranges::any_of(
      queue_pairs_, [](const QueuePair& queue_pair) { return queue_pair.live && !queue_pair.rail->down; });
  const int64_t now = other || live_ == 0 ? 0 : now_ns();
  if (other || all_down_ns_ == 0) all_down_ns_ = now;
  const bool avoids = other || (spec_.timeout > 0 && now - all_down_ns_ > retry_ns(spec_));
  for (QueuePair& queue_pair : queue_pairs_) {
    if (!queue_pair.live || !queue_pair.trouble.empty()) continue;
    if (queue_pair.rail->lost) queue_pair.trouble = "the device was removed";
    if (queue_pair.rail->down && avoids) queue_pair.trouble = "the port is down";
  }
}

void QueuePairs::give_up(uint32_t index, QueuePairUser& user) {
  QueuePair& queue_pair = queue_pairs_[index];
  lose(index, user);
  if (live_ == 0) return;
  if (!peer_gone_) {
    WEIR_WARN("{} continues without the queue pair from {} of {}: {}; {} of {} queue pairs are left", name_,
              path_of(queue_pair), peer_, queue_pair.trouble, live_, size());
  }
  if (rate_ > 0) static_cast<void>(set_rate(rate_));  // the other queue pairs take over its share of the rate
  announce();
  user.given_up(index);
  if (queue_pair.halted_there) user.peer_halted(index);
}

/// Tells the peer about all halted queue pairs: earlier notices may be lost with the queue pair that broke.
void QueuePairs::announce() {
  for (uint32_t i = 0; i < size(); ++i) {
    if (queue_pairs_[i].halted_here)
      post(next(), nullptr, Immediate::of_attempt(Immediate::Kind::halted, i, queue_pairs_[i].attempt),
           kNoId);
  }
}

std::string QueuePairs::path_of(const QueuePair& queue_pair) {
  return fmt::format("port {} to {}", queue_pair.rail->address.text(), queue_pair.peer_gid);
}

std::string QueuePairs::paths() const {
  std::vector<std::string> all;
  for (const QueuePair& queue_pair : queue_pairs_) {
    if (std::string path = path_of(queue_pair); std::ranges::find(all, path) == all.end())
      all.push_back(std::move(path));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace weir::verbs
