#include "src/core/bootstrap.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/core/bruck.h"
#include "src/core/root_link.h"

namespace weir::core {
namespace {

constexpr int64_t kVerdictMs = 1000;  ///< for the root to name whoever did not take a message

Bytes encode(const PeerAddress& peer) {
  ByteWriter out;
  out.put(peer.door).put(peer.host).put(peer.pid).put_string(peer.hostname);
  out.put(static_cast<uint32_t>(peer.other_doors.size()));
  for (const SocketAddress& door : peer.other_doors) out.put(door);
  return out.take();
}

Result<std::vector<PeerAddress>> decode(const std::vector<Bytes>& all) {
  std::vector<PeerAddress> peers;
  for (const Bytes& bytes : all) {
    ByteReader in(bytes);
    PeerAddress& peer = peers.emplace_back();
    peer.door = in.get<SocketAddress>();
    peer.host = in.get<uint64_t>();
    peer.pid = in.get<int32_t>();
    peer.hostname = in.get_string();
    const auto others = in.get<uint32_t>();
    for (uint32_t i = 0; in.ok() && i < others; ++i) peer.other_doors.push_back(in.get<SocketAddress>());
    if (!in.ok() || !peer.door.valid()) {
      return Status(Code::remote_error, fmt::format("rank {} sent a broken address", peers.size() - 1));
    }
  }
  return peers;
}

/// The first exchange, in which everybody learns everybody's address; the root looks after it.
Result<std::vector<PeerAddress>> meet(const Bootstrap::Spec& spec, RootLink& root, const Activity& activity,
                                      const PeerAddress& own) {
  const root_wire::Doors& doors = *root.doors();
  BruckSpec exchange;
  exchange.door = spec.door.get();
  exchange.uid = doors.uid;
  exchange.rank = spec.rank;
  exchange.ranks = spec.ranks;
  exchange.send_ms = spec.timeouts.peer_ms;
  exchange.abort = spec.abort;
  exchange.door_of = [&](Rank to) {
    const auto distance = static_cast<unsigned>((spec.rank - to + spec.ranks) % spec.ranks);
    const auto index = static_cast<size_t>(std::countr_zero(distance));
    return index < doors.below.size() ? doors.below[index] : SocketAddress();
  };
  const auto serve = [&](int wait_ms) { return activity.failed() ? activity.status() : root.serve(wait_ms); };
  exchange.while_waiting = [&](Rank, int64_t) { return serve(0); };
  exchange.broken = [&](Rank to, const Status& status) {
    const Deadline verdict = Deadline::in_ms(kVerdictMs, spec.abort);
    while (!verdict.over()) WEIR_TRY(serve(20));
    return Status(status.code(),
                  fmt::format("rank {} cannot be reached while joining: {}", to, status.message()));
  };
  auto all = bruck_all_gather(exchange, encode(own));
  WEIR_TRY(all.status());
  return decode(*all);
}

}  // namespace

Bootstrap::Bootstrap(const Spec& spec, uint64_t uid, std::vector<PeerAddress> peers,
                     std::shared_ptr<Activity> activity)
    : spec_(spec),
      uid_(uid),
      rank_(spec.rank),
      activity_(std::move(activity)),
      watchdog_(std::make_unique<Watchdog>(Watchdog::Spec{uid, spec.rank, std::move(peers), spec.watch,
                                                          activity_, spec.timeouts, spec.abort})) {
  activity_->tell_peers(&watchdog_->peers());
}

Bootstrap::~Bootstrap() {
  spec_.watch->leave(uid_, rank_);
  spec_.door->forget(uid_, rank_);
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::join(const Spec& spec) {
  if (spec.id.fixed && spec.rank == 0) WEIR_TRY(spec.roots->start_fixed(spec.id, spec.timeouts, spec.abort));
  root_wire::Hello hello;
  hello.nonce = spec.id.nonce;
  hello.rank = spec.rank;
  hello.ranks = spec.ranks;
  hello.peer = {spec.door->address(), spec.host, static_cast<int32_t>(getpid()), short_hostname()};
  const std::vector<SocketAddress>& doors = spec.door->addresses();
  hello.peer.other_doors.assign(doors.begin() + 1, doors.end());
  spec.door->admit(circle_of(spec.id));  // before others know of this door
  auto opened = RootLink::open(spec.id, hello, spec.timeouts, spec.abort);
  WEIR_TRY(opened.status());
  RootLink& root = **opened;
  while (!root.doors()) {
    if (const Status status = root.serve(50); !status.ok()) {
      root.leave(status);
      return status;
    }
  }
  const uint64_t uid = root.doors()->uid;
  auto activity = spec.watch->enter(uid, spec.rank);  // from now on others may tell this rank of a failure
  auto peers = meet(spec, root, *activity, hello.peer);
  root.leave(peers.status());
  if (!peers.ok()) {
    spec.watch->leave(uid, spec.rank);
    spec.door->forget(uid, spec.rank);
    return peers.status();
  }
  WEIR_INFO(bootstrap, "rank {} of {} has joined communicator {:#x}; its door is {}", spec.rank, spec.ranks,
            uid, spec.door->address().text());
  return std::unique_ptr<Bootstrap>(new Bootstrap(spec, uid, std::move(*peers), std::move(activity)));
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::subset(const Bootstrap& parent,
                                                     const std::vector<Rank>& members, uint64_t uid,
                                                     const std::atomic<bool>* abort) {
  Spec spec = parent.spec_;
  spec.abort = abort;
  spec.ranks = static_cast<int>(members.size());
  spec.rank = -1;
  std::vector<PeerAddress> peers;
  for (const Rank member : members) {
    if (member < 0 || member >= parent.size()) {
      return Status(Code::invalid_argument,
                    fmt::format("rank {} is not in a communicator of {} ranks", member, parent.size()));
    }
    if (member == parent.rank()) spec.rank = static_cast<Rank>(peers.size());
    peers.push_back(parent.peers()[static_cast<size_t>(member)]);
  }
  if (spec.rank < 0) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} is not among the {} members of the new communicator", parent.rank(),
                              spec.ranks));
  }
  auto activity = spec.watch->enter(uid, spec.rank);
  return std::unique_ptr<Bootstrap>(new Bootstrap(spec, uid, std::move(peers), std::move(activity)));
}

Result<std::vector<Bytes>> Bootstrap::all_gather(BytesView own) {
  BruckSpec exchange;
  exchange.door = spec_.door.get();
  exchange.uid = uid_;
  exchange.number = static_cast<uint32_t>(++exchanges_);
  exchange.rank = rank_;
  exchange.ranks = size();
  exchange.send_ms = spec_.timeouts.peer_ms;
  exchange.abort = spec_.abort;
  exchange.door_of = [this](Rank to) { return peers()[static_cast<size_t>(to)].door; };
  exchange.while_waiting = [this](Rank from, int64_t waited_ns) {
    return watchdog_->examine(from, waited_ns);
  };
  exchange.broken = [this](Rank to, const Status& status) { return watchdog_->explain(to, status); };
  activity_->exchange();
  auto all = bruck_all_gather(exchange, own);
  activity_->end();
  return all;
}

Status Bootstrap::barrier() { return all_gather({}).status(); }

}  // namespace weir::core
