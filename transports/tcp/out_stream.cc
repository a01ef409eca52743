// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/out_stream.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace weir::tcp {
namespace {

/// Makes connections that take the least used route through the fabric.
OutgoingConnection::Connect choose_path(PathUses& uses, const RailPath& path, uint32_t first) {
  const PathUses::Ends ends{path.from, path.to};
  return [&uses, ends, first,
          choice = std::shared_ptr<PathChoice>()]() mutable -> Result<std::optional<Socket>> {
    if (choice == nullptr) choice = std::make_shared<PathChoice>(uses, ends, first);
    auto chosen = choice->advance();
    if (!chosen.ok() || !chosen->has_value()) return chosen;
    if (const auto& router = choice->router())
      WEIR_TRACE(net, "a connection to {} is routed via {}", ends.to.text(), router->host_text());
    choice.reset();
    return chosen;
  };
}

}  // namespace

Status OutStream::greet(Shared& shared, Rank peer) {
  if (opening != nullptr) {
    const Result<bool> admitted = opening->advance();
    if (!admitted.ok() || !*admitted) return admitted.status();
    socket = opening->take();
    opening.reset();
    shared.counters.connections.watch(socket.socket(), peer);
    shared.events.watch(socket.socket());
  }
  const Result<size_t> taken = socket.try_send(greeting);
  WEIR_TRY(taken.status());
  greeting.erase(greeting.begin(), greeting.begin() + static_cast<ptrdiff_t>(*taken));
  ready = greeting.empty();
  return {};
}

Connector::Connector(const TcpPeer& peer, uint64_t uid, uint32_t streams, const LinkSpec& spec,
                     PathUses* uses)
    : peer_(peer),
      uid_(uid),
      spec_(spec),
      uses_(uses),
      greeting_{.streams = streams,
                .slots = spec.slots,
                .slot_bytes = spec.slot_bytes,
                .paths = peer.paths.size() > 1 ? static_cast<uint32_t>(peer.paths.size()) : 0,
                .life = now_ns()} {}

OutStream Connector::stream(uint32_t index, uint32_t attempt) const {
  OutStream stream;
  stream.index = index;
  stream.path = index % paths();
  const RailPath& path = peer_.paths[stream.path];
  const auto first = static_cast<uint32_t>(spec_.self) + spec_.channel + index;
  stream.opening = std::make_unique<OutgoingConnection>(
      uses_ == nullptr ? OutgoingConnection::to(path.to, path.from) : choose_path(*uses_, path, first),
      delivery_key(uid_, spec_.self, spec_.peer, spec_.channel, index,
                   attempt > 0 ? life_of(greeting_.life, attempt) : 0),
      peer_.credentials);
  Greeting greeting = greeting_;
  greeting.stream = index;
  stream.greeting = opening(greeting);
  return stream;
}

ControlConnection Connector::control(uint32_t path, uint32_t attempt) const {
  const RailPath& at = peer_.paths[path];
  const auto key = control_key(uid_, spec_.self, spec_.peer, spec_.channel, path,
                               life_of(greeting_.life, std::min(attempt, 1u)));
  return ControlConnection(
      OutgoingConnection(OutgoingConnection::to(at.to, at.from), key, peer_.credentials));
}

}  // namespace weir::tcp
