#include "transports/verbs/strands.h"

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

Status Strands::make(const std::vector<Place>& places, const StrandSettings& settings, uint32_t depth,
                     Slots& slots) {
  strands_.clear();
  live_ = 0;
  for (const Place& place : places) {
    Strand strand;
    strand.rail = &rails_[place.rail];
    strand.peer_port = place.peer_port;
    // Packets of an earlier pair with the same number do not fit in.
    strand.first = static_cast<uint32_t>(random_bits()) & kPacketNumbers;
    const Result<SlotKeys> keys = slots.enroll(*strand.rail->device);
    WEIR_TRY(keys.status());
    strand.own = *keys;
    drivers::VerbsPairSpec spec = settings.pair;
    spec.port = strand.rail->used.port.number;
    spec.gid_index = strand.rail->used.choice.gid.index;
    spec.global = strand.rail->address.ethernet;
    spec.sends = spec.receives = depth;
    spec.first = strand.first;
    auto pair = strand.rail->device->make_pair(spec);
    WEIR_TRY(pair.status());
    strand.pair = std::move(*pair);
    strands_.push_back(std::move(strand));
  }
  return {};
}

StrandEnd Strands::end(uint32_t index) const {
  const Strand& strand = strands_[index];
  const PortAddress& address = strand.rail->address;
  return {.pair = strand.pair->number(),
          .first = strand.first,
          .key = strand.own.heads.remote,
          .body_key = strand.own.bodies.remote,
          .mtu = address.mtu,
          .lid = address.lid,
          .peer_port = strand.peer_port,
          .gid = address.gid};
}

Status Strands::connect(uint32_t index, const StrandEnd& peer) {
  Strand& strand = strands_[index];
  WEIR_TRY(strand.pair->connect({.pair = peer.pair,
                                 .first = peer.first & kPacketNumbers,
                                 .lid = peer.lid,
                                 .gid = peer.gid,
                                 .mtu = std::min(peer.mtu, strand.rail->address.mtu)}));
  strand.peer.heads.remote = peer.key;
  strand.peer.bodies.remote = peer.body_key;
  strand.peer_gid = gid_text(peer.gid);
  strand.live = true;
  ++live_;
  return {};
}

uint32_t Strands::next() {
  do {
    turn_ = turn_ + 1 >= size() ? 0 : turn_ + 1;
  } while (!strands_[turn_].live);
  return turn_;
}

void Strands::post(uint32_t index, const drivers::VerbsWrite* write, const Immediate& immediate,
                   uint64_t id) {
  Strand& strand = strands_[index];
  if (!strand.trouble.empty()) return;
  ++strand.under_way;
  if (const Status posted = strand.pair->post(write, immediate.code(), id); !posted.ok())
    strand.trouble = posted.message();
}

Status Strands::set_rate(double bytes_per_s) {
  const auto set_all = [&](double rate) {
    Status refused;
    for (Strand& strand : strands_) {
      if (strand.live && refused.ok()) refused = strand.pair->set_rate(rate / live_);
    }
    return refused;
  };
  rate_ = bytes_per_s;
  Status refused = set_all(rate_);
  if (refused.ok()) return {};
  rate_ = 0;
  static_cast<void>(set_all(0));  // a strand that refuses even this is broken, as poll() will say
  return refused;
}

void Strands::serve(StrandUser& user) {
  for (uint32_t i = 0; i < size(); ++i) {
    if (strands_[i].live) poll(i, user);
  }
  rails_.look();
  avoid_down_rails();
  for (uint32_t i = 0; i < size(); ++i) {
    if (strands_[i].live && !strands_[i].trouble.empty()) give_up(i, user);
  }
}

void Strands::poll(uint32_t index, StrandUser& user) {
  std::array<drivers::VerbsCompletion, kBatch> done;
  for (size_t count = kBatch; count == kBatch;) {
    Strand& strand = strands_[index];
    const Result<size_t> polled = strand.pair->poll(done);
    if (!polled.ok() && strand.trouble.empty()) strand.trouble = polled.status().message();
    if (!polled.ok()) return;
    count = *polled;
    for (size_t i = 0; i < count; ++i) {
      if (!done[i].received) --strand.under_way;
      if (!done[i].error.empty()) {
        if (strand.trouble.empty()) strand.trouble = done[i].error;
      } else if (done[i].received) {
        take(index, Immediate::of(done[i].immediate), user);
      } else if (done[i].id != kNoId) {
        user.completed(index, done[i].id);
      }
    }
  }
}

void Strands::take(uint32_t index, const Immediate& immediate, StrandUser& user) {
  if (immediate.kind != Immediate::Kind::halted) return user.arrived(index, immediate);
  if (immediate.count >= size()) return;
  Strand& strand = strands_[immediate.count];
  const bool news = !strand.halted_there;
  strand.halted_there = true;
  if (strand.live && strand.trouble.empty()) strand.trouble = fmt::format("{} has given it up", peer_);
  if (strand.halted_here && news) user.peer_halted(immediate.count);
}

/// What goes over a rail that is down will not arrive soon. But the last rail may come up again within the
/// retries.
void Strands::avoid_down_rails() {
  const bool other =
      std::ranges::any_of(strands_, [](const Strand& strand) { return strand.live && !strand.rail->down; });
  for (Strand& strand : strands_) {
    if (!strand.live || !strand.trouble.empty()) continue;
    if (strand.rail->lost) strand.trouble = "the device is gone";
    if (strand.rail->down && other) strand.trouble = "the port is down";
  }
}

void Strands::give_up(uint32_t index, StrandUser& user) {
  Strand& strand = strands_[index];
  strand.pair->halt();
  poll(index, user);  // what had come before
  strand.live = false;
  strand.halted_here = true;
  --live_;
  if (live_ == 0) {
    status_ = Status(Code::remote_error, fmt::format("{} has lost its last RDMA strand, from {} of {}: {}",
                                                     name_, path_of(strand), peer_, strand.trouble));
    return;
  }
  if (!peer_gone_) {
    WEIR_WARN("{} goes on without the strand from {} of {}: {}; {} of {} strands are left", name_,
              path_of(strand), peer_, strand.trouble, live_, size());
  }
  if (rate_ > 0) static_cast<void>(set_rate(rate_));  // the others get its share
  announce();
  user.given_up(index);
  if (strand.halted_there) user.peer_halted(index);
}

/// Tells the peer which strands are halted, all of them: what was told before may have been on the strand
/// that broke.
void Strands::announce() {
  for (uint32_t i = 0; i < size(); ++i) {
    if (strands_[i].halted_here) post(next(), nullptr, {.kind = Immediate::Kind::halted, .count = i}, kNoId);
  }
}

std::string Strands::path_of(const Strand& strand) {
  return fmt::format("port {} to {}", strand.rail->address.text(), strand.peer_gid);
}

std::string Strands::paths() const {
  std::vector<std::string> all;
  for (const Strand& strand : strands_) {
    if (std::string path = path_of(strand); std::ranges::find(all, path) == all.end())
      all.push_back(std::move(path));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace weir::verbs
