#include "transports/verbs_lanes.h"

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

Status Lanes::make(const std::vector<Place>& places, const LaneSettings& settings, uint32_t depth,
                   Memory& memory) {
  lanes_.clear();
  live_ = 0;
  for (const Place& place : places) {
    Lane lane;
    lane.rail = &rails_[place.rail];
    lane.peer_port = place.peer_port;
    // Packets of an earlier pair with the same number do not fit in.
    lane.first = static_cast<uint32_t>(random_bits()) & kPacketNumbers;
    const auto region = memory.enroll(*lane.rail->device);
    WEIR_TRY(region.status());
    lane.local_key = (*region)->local_key();
    lane.own_key = (*region)->remote_key();
    drivers::VerbsPairSpec spec = settings.pair;
    spec.port = lane.rail->used.port.number;
    spec.gid_index = lane.rail->used.choice.gid.index;
    spec.global = lane.rail->address.ethernet;
    spec.sends = spec.receives = depth;
    spec.first = lane.first;
    auto pair = lane.rail->device->make_pair(spec);
    WEIR_TRY(pair.status());
    lane.pair = std::move(*pair);
    lanes_.push_back(std::move(lane));
  }
  return {};
}

LaneEnd Lanes::end(uint32_t index) const {
  const Lane& lane = lanes_[index];
  const PortAddress& address = lane.rail->address;
  return {.pair = lane.pair->number(),
          .first = lane.first,
          .key = lane.own_key,
          .mtu = address.mtu,
          .lid = address.lid,
          .peer_port = lane.peer_port,
          .gid = address.gid};
}

Status Lanes::connect(uint32_t index, const LaneEnd& peer) {
  Lane& lane = lanes_[index];
  WEIR_TRY(lane.pair->connect({.pair = peer.pair,
                               .first = peer.first & kPacketNumbers,
                               .lid = peer.lid,
                               .gid = peer.gid,
                               .mtu = std::min(peer.mtu, lane.rail->address.mtu)}));
  lane.remote_key = peer.key;
  lane.peer_gid = gid_text(peer.gid);
  lane.live = true;
  ++live_;
  return {};
}

uint32_t Lanes::next() {
  do {
    turn_ = turn_ + 1 >= size() ? 0 : turn_ + 1;
  } while (!lanes_[turn_].live);
  return turn_;
}

void Lanes::post(uint32_t index, const drivers::VerbsWrite* write, const Immediate& immediate, uint64_t id) {
  Lane& lane = lanes_[index];
  if (!lane.trouble.empty()) return;
  ++lane.under_way;
  if (const Status posted = lane.pair->post(write, immediate.code(), id); !posted.ok())
    lane.trouble = posted.message();
}

void Lanes::serve(LaneUser& user) {
  for (uint32_t i = 0; i < size(); ++i) {
    if (lanes_[i].live) poll(i, user);
  }
  rails_.look();
  avoid_down_rails();
  for (uint32_t i = 0; i < size(); ++i) {
    if (lanes_[i].live && !lanes_[i].trouble.empty()) give_up(i, user);
  }
}

void Lanes::poll(uint32_t index, LaneUser& user) {
  std::array<drivers::VerbsCompletion, kBatch> done;
  for (size_t count = kBatch; count == kBatch;) {
    Lane& lane = lanes_[index];
    const Result<size_t> polled = lane.pair->poll(done);
    if (!polled.ok() && lane.trouble.empty()) lane.trouble = polled.status().message();
    if (!polled.ok()) return;
    count = *polled;
    for (size_t i = 0; i < count; ++i) {
      if (!done[i].received) --lane.under_way;
      if (!done[i].error.empty()) {
        if (lane.trouble.empty()) lane.trouble = done[i].error;
      } else if (done[i].received) {
        take(index, Immediate::of(done[i].immediate), user);
      } else if (done[i].id != kNoId) {
        user.completed(index, done[i].id);
      }
    }
  }
}

void Lanes::take(uint32_t index, const Immediate& immediate, LaneUser& user) {
  if (immediate.kind != Immediate::Kind::halted) return user.arrived(index, immediate);
  if (immediate.count >= size()) return;
  Lane& lane = lanes_[immediate.count];
  const bool news = !lane.halted_there;
  lane.halted_there = true;
  if (lane.live && lane.trouble.empty()) lane.trouble = fmt::format("{} has given it up", peer_);
  if (lane.halted_here && news) user.peer_halted(immediate.count);
}

/// What goes over a rail that is down will not arrive soon. But the last rail may come up again within the
/// retries.
void Lanes::avoid_down_rails() {
  const bool other =
      std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.live && !lane.rail->down; });
  for (Lane& lane : lanes_) {
    if (!lane.live || !lane.trouble.empty()) continue;
    if (lane.rail->lost) lane.trouble = "the device is gone";
    if (lane.rail->down && other) lane.trouble = "the port is down";
  }
}

void Lanes::give_up(uint32_t index, LaneUser& user) {
  Lane& lane = lanes_[index];
  lane.pair->halt();
  poll(index, user);  // what had come before
  lane.live = false;
  lane.halted_here = true;
  --live_;
  if (live_ == 0) {
    status_ = Status(Code::remote_error, fmt::format("{} has lost its last RDMA lane, {}: {}", name_,
                                                     text_of(lane), lane.trouble));
    return;
  }
  if (!peer_gone_) {
    WEIR_WARN("{} goes on without the lane {}: {}; {} of {} lanes are left", name_, text_of(lane),
              lane.trouble, live_, size());
  }
  announce();
  user.given_up(index);
  if (lane.halted_there) user.peer_halted(index);
}

/// Tells the peer which lanes are halted, all of them: what was told before may have been on the lane that
/// broke.
void Lanes::announce() {
  for (uint32_t i = 0; i < size(); ++i) {
    if (lanes_[i].halted_here) post(next(), nullptr, {.kind = Immediate::Kind::halted, .count = i}, kNoId);
  }
}

std::string Lanes::text_of(const Lane& lane) const {
  return fmt::format("from port {} to {} of {}", lane.rail->address.text(), lane.peer_gid, peer_);
}

}  // namespace weir::verbs
