// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

namespace weir::core {
namespace {

using Transports = std::vector<std::unique_ptr<Transport>>;

/// The transport addresses of all ranks: addresses[rank][transport]. Empty: the rank does not offer it.
using TransportAddresses = std::vector<std::vector<Bytes>>;

Result<std::shared_ptr<TransportAddresses>> read_addresses(const std::vector<Bytes>& all,
                                                           const Transports& transports) {
  auto addresses = std::make_shared<TransportAddresses>();
  for (const Bytes& published : all) {
    ByteReader reader(published);
    const auto rank = addresses->size();
    auto& row = addresses->emplace_back(transports.size());
    const size_t count = reader.count(2 * sizeof(uint32_t));
    for (size_t i = 0; i < count && reader.ok(); ++i) {
      const std::string name = reader.get_string();
      Bytes address = reader.get_bytes();
      for (size_t t = 0; t < transports.size(); ++t) {
        if (transports[t]->name() == name) row[t] = std::move(address);
      }
    }
    if (!reader.ok())
      return Status(Code::remote_error, fmt::format("rank {} published malformed transport addresses", rank));
  }
  return addresses;
}

Result<std::shared_ptr<TransportAddresses>> exchange_addresses(Bootstrap& bootstrap,
                                                               const Transports& transports) {
  ByteWriter own;
  own.put(static_cast<uint32_t>(transports.size()));
  for (const auto& transport : transports) own.put_string(transport->name()).put_bytes(transport->address());
  auto all = bootstrap.gather(own.take());
  WEIR_TRY(all.status());
  return (*all)->derive<TransportAddresses>([&] { return read_addresses((*all)->by_rank(), transports); });
}

/// Which peers this rank reaches, and by which transports.
class Trials {
 public:
  Trials(const Transports& transports, const TransportAddresses& addresses)
      : transports_(transports), addresses_(addresses), found_(addresses.size()) {}

  /// Tests the transports towards every peer that were not tested before: all of them, or, without `all`, up
  /// to the first that reaches the peer. REQUIRES: `all`, or no call before.
  void run(bool all) {
    for (size_t p = 0; p < addresses_.size(); ++p) {
      Found& found = found_[p];
      for (; found.tried < transports_.size() && (all || found.bits == 0); ++found.tried) {
        const Reach reach = try_one(p, found.tried);
        if (!reach.ok) continue;
        found.bits |= uint32_t{1} << found.tried;
        found.cost = reach.cost;
        found.costs = found.tried;
      }
    }
  }

  /// Bit t: this rank reaches the peer by transport t.
  uint32_t bits(size_t peer) const { return found_[peer].bits; }
  /// REQUIRES: the transport reached the peer.
  Cost cost(size_t peer, size_t transport) const {
    const Found& found = found_[peer];
    return found.costs == transport ? found.cost : try_one(peer, transport).cost;
  }
  Reach try_one(size_t peer, size_t transport) const {
    const Bytes& address = addresses_[peer][transport];
    return address.empty() ? Reach{false, {}, "the peer does not offer it"}
                           : transports_[transport]->reach(address);
  }

 private:
  struct Found {
    uint32_t bits = 0;
    size_t tried = 0;
    size_t costs = 0;  ///< index of the transport that `cost` is for
    Cost cost;
  };

  const Transports& transports_;
  const TransportAddresses& addresses_;
  std::vector<Found> found_;  ///< results by peer
};

/// One rank's results, as runs of peers with equal bits. Peers are ordered by host and process, so that there
/// are few runs.
class RouteRow {
 public:
  static Bytes encode(const Trials& trials, const std::vector<Rank>& order) {
    ByteWriter out;
    for (size_t first = 0; first < order.size();) {
      const uint32_t bits = trials.bits(static_cast<size_t>(order[first]));
      size_t end = first + 1;
      while (end < order.size() && trials.bits(static_cast<size_t>(order[end])) == bits) ++end;
      out.put(bits).put(static_cast<uint32_t>(end));
      first = end;
    }
    return out.take();
  }
  explicit RouteRow(BytesView encoded) {
    for (ByteReader in(encoded); in.remaining() > 0 && in.ok();) {
      const auto bits = in.get<uint32_t>();
      runs_.push_back({bits, in.get<uint32_t>()});
    }
  }
  /// 0 for positions that the row does not contain.
  uint32_t bits(size_t place) const {
    const auto run = std::ranges::upper_bound(runs_, place, {}, &Run::end);
    return run != runs_.end() ? run->bits : 0;
  }

 private:
  struct Run {
    uint32_t bits;
    uint32_t end;  ///< position after the last of the run
  };
  std::vector<Run> runs_;
};

/// The results of all ranks.
struct Matrix {
  std::shared_ptr<std::vector<RouteRow>> rows;  ///< rows by rank
  size_t own_place = 0;

  /// Bits of the transports by which `peer` reaches this rank.
  uint32_t towards_self(size_t peer) const { return (*rows)[peer].bits(own_place); }
};

std::vector<Rank> by_process(const std::vector<PeerAddress>& peers) {
  std::vector<Rank> order(peers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](Rank rank) {
    const PeerAddress& peer = peers[static_cast<size_t>(rank)];
    return std::tuple(peer.host, peer.pid, peer.listener.port());
  });
  return order;
}

Result<Matrix> gather_bits(Bootstrap& bootstrap, const Trials& trials) {
  const std::vector<Rank> order = by_process(bootstrap.peers());
  auto all = bootstrap.gather(RouteRow::encode(trials, order));
  WEIR_TRY(all.status());
  auto rows = (*all)->derive<std::vector<RouteRow>>([&]() -> Result<std::shared_ptr<std::vector<RouteRow>>> {
    const std::vector<Bytes>& encoded = (*all)->by_rank();
    return std::make_shared<std::vector<RouteRow>>(encoded.begin(), encoded.end());
  });
  WEIR_TRY(rows.status());
  return Matrix{*rows, static_cast<size_t>(std::ranges::find(order, bootstrap.rank()) - order.begin())};
}

/// Whether every pair has a transport that both sides can use. Each rank checks its own pairs; the result is
/// exchanged, so that all ranks decide alike.
Result<bool> all_connected(Bootstrap& bootstrap, const Trials& trials, const Matrix& matrix) {
  bool own = true;
  for (size_t p = 0; p < matrix.rows->size(); ++p)
    own = own && (trials.bits(p) & matrix.towards_self(p)) != 0;
  auto all = bootstrap.gather(ByteWriter().put(own).take());
  WEIR_TRY(all.status());
  auto connected = (*all)->derive<bool>([&]() -> Result<std::shared_ptr<bool>> {
    return std::make_shared<bool>(std::ranges::all_of(
        (*all)->by_rank(), [](const Bytes& said) { return ByteReader(said).get<uint8_t>() != 0; }));
  });
  WEIR_TRY(connected.status());
  return **connected;
}

Status no_transport(const Transports& transports, const Trials& trials, Rank self, size_t peer) {
  std::string reasons;
  for (size_t t = 0; t < transports.size(); ++t) {
    const Reach reach = trials.try_one(peer, t);
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transports[t]->name(),
                           reach.ok ? "the peer could not reach this rank" : reach.why_not);
  }
  return {Code::system_error,
          fmt::format("no transport connects rank {} and rank {} ({})", self, peer, reasons)};
}

}  // namespace

Result<Routes> Routes::find(Bootstrap& bootstrap, const Transports& transports) {
  auto addresses = exchange_addresses(bootstrap, transports);
  WEIR_TRY(addresses.status());
  Trials trials(transports, **addresses);
  trials.run(false);
  auto matrix = gather_bits(bootstrap, trials);
  WEIR_TRY(matrix.status());
  auto connected = all_connected(bootstrap, trials, *matrix);
  WEIR_TRY(connected.status());
  if (!*connected) {
    trials.run(true);
    matrix = gather_bits(bootstrap, trials);
    WEIR_TRY(matrix.status());
  }

  Routes routes;
  routes.addresses_ = *addresses;
  for (size_t p = 0; p < (*addresses)->size(); ++p) {
    const uint32_t common = trials.bits(p) & matrix->towards_self(p);
    if (common == 0) return no_transport(transports, trials, bootstrap.rank(), p);
    const auto t = static_cast<size_t>(std::countr_zero(common));
    routes.routes_.push_back({transports[t].get(), (**addresses)[p][t], trials.cost(p, t)});
  }
  return routes;
}

bool Routes::all_map() const {
  return std::all_of(routes_.begin(), routes_.end(),
                     [](const Route& r) { return r.transport->traits().maps; });
}

bool Routes::all_ring() const {
  return std::all_of(routes_.begin(), routes_.end(),
                     [](const Route& r) { return r.transport->traits().sleeps; });
}

const SocketEvents* Routes::events() const {
  for (const Route& route : routes_) {
    if (const SocketEvents* const events = route.transport->traits().events) return events;
  }
  return nullptr;
}

bool Routes::all_events(Rank self) const {
  const SocketEvents* const all = events();
  for (Rank peer = 0; peer < size(); ++peer) {
    if (peer != self && to(peer).transport->traits().events != all) return false;
  }
  return all != nullptr;
}

std::string Routes::summary(Rank self) const {
  std::map<std::string_view, int> counts;
  for (Rank p = 0; p < size(); ++p) {
    if (p != self) ++counts[to(p).transport->name()];
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "none" : text;
}

}  // namespace weir::core
