// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/queue_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/host.h"
#include "src/base/log.h"

namespace weir::verbs {
namespace {

constexpr size_t kBatch = 16;
constexpr uint32_t kPacketNumbers = 0xffffff;

}  // namespace

Status QueuePairs::make(const std::vector<Place>& places, const QueuePairSettings& settings, uint32_t depth,
                        Slots& slots) {
  queue_pairs_.clear();
  live_ = 0;
  for (const Place& place : places) {
    QueuePair queue_pair;
    queue_pair.rail = &rails_[place.rail];
    queue_pair.peer_port = place.peer_port;
    // Random first packet number, so that packets of an earlier queue pair with the same number are rejected.
    queue_pair.first = static_cast<uint32_t>(random_bits()) & kPacketNumbers;
    const Result<SlotKeys> keys = slots.enroll(*queue_pair.rail->device);
    WEIR_TRY(keys.status());
    queue_pair.own = *keys;
    drivers::VerbsPairSpec spec = settings.pair;
    spec.port = queue_pair.rail->used.port.number;
    spec.gid_index = queue_pair.rail->used.choice.gid.index;
    spec.global = queue_pair.rail->address.ethernet;
    spec.sends = spec.receives = depth;
    spec.first = queue_pair.first;
    auto pair = queue_pair.rail->device->make_pair(spec);
    WEIR_TRY(pair.status());
    queue_pair.pair = std::move(*pair);
    queue_pairs_.push_back(std::move(queue_pair));
  }
  return {};
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

Status QueuePairs::connect(uint32_t index, const QueuePairEnd& peer) {
  QueuePair& queue_pair = queue_pairs_[index];
  WEIR_TRY(queue_pair.pair->connect({.pair = peer.pair,
                                     .first = peer.first & kPacketNumbers,
                                     .lid = peer.lid,
                                     .gid = peer.gid,
                                     .mtu = std::min(peer.mtu, queue_pair.rail->address.mtu)}));
  queue_pair.peer.heads.remote = peer.key;
  queue_pair.peer.bodies.remote = peer.body_key;
  queue_pair.peer_gid = gid_text(peer.gid);
  queue_pair.live = true;
  ++live_;
  return {};
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
  if (immediate.count >= size()) return;
  QueuePair& queue_pair = queue_pairs_[immediate.count];
  const bool news = !queue_pair.halted_there;
  queue_pair.halted_there = true;
  if (queue_pair.live && queue_pair.trouble.empty())
    queue_pair.trouble = fmt::format("{} has abandoned it", peer_);
  if (queue_pair.halted_here && news) user.peer_halted(immediate.count);
}

/// Packets on a rail that is down do not arrive soon. But the last rail may come up again before the retries
/// are exhausted.
void QueuePairs::avoid_down_rails() {
  const bool other = std::ranges::any_of(
      queue_pairs_, [](const QueuePair& queue_pair) { return queue_pair.live && !queue_pair.rail->down; });
  for (QueuePair& queue_pair : queue_pairs_) {
    if (!queue_pair.live || !queue_pair.trouble.empty()) continue;
    if (queue_pair.rail->lost) queue_pair.trouble = "the device was removed";
    if (queue_pair.rail->down && other) queue_pair.trouble = "the port is down";
  }
}

void QueuePairs::give_up(uint32_t index, QueuePairUser& user) {
  QueuePair& queue_pair = queue_pairs_[index];
  queue_pair.pair->halt();
  poll(index, user);  // completions from before the halt
  queue_pair.live = false;
  queue_pair.halted_here = true;
  --live_;
  if (live_ == 0) {
    status_ =
        Status(Code::remote_error, fmt::format("{} has lost its last RDMA queue pair, from {} of {}: {}",
                                               name_, path_of(queue_pair), peer_, queue_pair.trouble));
    return;
  }
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
      post(next(), nullptr, {.kind = Immediate::Kind::halted, .count = i}, kNoId);
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
