// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "src/base/printable.h"

namespace weir::core {
namespace {

using Transports = std::vector<std::unique_ptr<Transport>>;

/// The transports of one rank, in its order of preference. Ranks may have different lists (WEIR_TRANSPORTS,
/// WEIR_TLS), so a position means something only together with its list; between ranks, names count.
struct TransportOffer {
  struct Entry {
    std::string name;
    Bytes address;  ///< empty: it is not offered
  };
  std::vector<Entry> entries;

  /// Null: the rank does not offer it.
  const Bytes* address(std::string_view name) const {
    const auto found = std::ranges::find(entries, name, &Entry::name);
    return found == entries.end() || found->address.empty() ? nullptr : &found->address;
  }
};

using TransportOffers = std::vector<TransportOffer>;  ///< by rank

/// Position of the transport in the list; the list's size: it is not in it.
size_t place_of(std::string_view name, const Transports& transports) {
  const auto found = std::ranges::find(transports, name, [](const auto& one) { return one->name(); });
  return static_cast<size_t>(found - transports.begin());
}

Result<std::shared_ptr<TransportOffers>> read_offers(const std::vector<Bytes>& all) {
  auto offers = std::make_shared<TransportOffers>();
  for (const Bytes& published : all) {
    ByteReader reader(published);
    const auto rank = offers->size();
    TransportOffer& offer = offers->emplace_back();
    const size_t count = reader.count(2 * sizeof(uint32_t));
    for (size_t i = 0; i < count && reader.ok(); ++i) {
      std::string name = reader.get_string();
      offer.entries.push_back({std::move(name), reader.get_bytes()});
    }
    if (!reader.ok())
      return Status(Code::remote_error, fmt::format("rank {} published malformed transport addresses", rank));
  }
  return offers;
}

Result<std::shared_ptr<TransportOffers>> exchange_offers(Bootstrap& bootstrap, const Transports& transports) {
  ByteWriter own;
  own.put(static_cast<uint32_t>(transports.size()));
  for (const auto& transport : transports) own.put_string(transport->name()).put_bytes(transport->address());
  auto all = bootstrap.gather(own.take());
  WEIR_TRY(all.status());
  return (*all)->derive<TransportOffers>([&] { return read_offers((*all)->by_rank()); });
}

/// One rank's results, as runs of peers with equal bits. Peers are ordered by host and process, so that there
/// are few runs.
class RouteRow {
 public:
  explicit RouteRow(BytesView encoded) {
    for (ByteReader in(encoded); in.remaining() > 0 && in.ok();) {
      const auto bits = in.get<uint32_t>();
      runs_.push_back({bits, in.get<uint32_t>()});
    }
  }
  /// Bits by position in the list of the row's rank; 0 for places that the row does not contain.
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

  /// Bits of the transports by which `peer` reaches this rank, by position in the peer's list.
  uint32_t towards_self(size_t peer) const { return (*rows)[peer].bits(own_place); }
};

/// Which peers this rank reaches, and by which transports.
class Trials {
 public:
  Trials(const Transports& transports, const TransportOffers& offers)
      : transports_(transports), offers_(offers), found_(offers.size()) {}

  /// Tests the transports towards every peer that were not tested before: all of them, or, without `all`, up
  /// to the first that reaches the peer. REQUIRES: `all`, or no call before.
  void run(bool all) {
    for (size_t p = 0; p < offers_.size(); ++p) {
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

  /// Bit t: this rank reaches the peer by transport t of its own list.
  uint32_t bits(size_t peer) const { return found_[peer].bits; }
  /// The bits of those by which the peer reaches this rank, too.
  uint32_t common(size_t peer, const Matrix& matrix) const {
    uint32_t reached = 0;
    for (uint32_t rest = matrix.towards_self(peer); rest != 0; rest &= rest - 1) {
      const auto theirs = static_cast<size_t>(std::countr_zero(rest));
      if (theirs >= offers_[peer].entries.size()) break;
      const size_t place = place_of(offers_[peer].entries[theirs].name, transports_);
      if (place < transports_.size()) reached |= uint32_t{1} << place;
    }
    return bits(peer) & reached;
  }
  /// REQUIRES: the transport reached the peer.
  Cost cost(size_t peer, size_t transport) const {
    const Found& found = found_[peer];
    return found.costs == transport ? found.cost : try_one(peer, transport).cost;
  }
  Reach try_one(size_t peer, size_t transport) const {
    const Bytes* const address = offers_[peer].address(transports_[transport]->name());
    return address == nullptr ? Reach{false, {}, "the peer does not offer it"}
                              : transports_[transport]->reach(*address);
  }

 private:
  struct Found {
    uint32_t bits = 0;
    size_t tried = 0;
    size_t costs = 0;  ///< index of the transport that `cost` is for
    Cost cost;
  };

  const Transports& transports_;
  const TransportOffers& offers_;
  std::vector<Found> found_;  ///< results by peer
};

/// The bytes of a RouteRow.
Bytes encode_row(const Trials& trials, const std::vector<Rank>& order) {
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
  auto all = bootstrap.gather(encode_row(trials, order));
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
  for (size_t p = 0; p < matrix.rows->size(); ++p) own = own && trials.common(p, matrix) != 0;
  auto all = bootstrap.gather(ByteWriter().put(own).take());
  WEIR_TRY(all.status());
  auto connected = (*all)->derive<bool>([&]() -> Result<std::shared_ptr<bool>> {
    return std::make_shared<bool>(std::ranges::all_of(
        (*all)->by_rank(), [](const Bytes& said) { return ByteReader(said).get<uint8_t>() != 0; }));
  });
  WEIR_TRY(connected.status());
  return **connected;
}

/// The first of the common transports in the list of the lower rank, so that both ends take the same one.
size_t preferred(uint32_t common, bool by_own_list, const TransportOffer& peer,
                 const Transports& transports) {
  if (!by_own_list) {
    for (const TransportOffer::Entry& entry : peer.entries) {
      const size_t place = place_of(entry.name, transports);
      if (place < transports.size() && (common >> place & 1) != 0) return place;
    }
  }
  return static_cast<size_t>(std::countr_zero(common));
}

/// Why this rank does not offer a transport; empty: it does.
std::string why_not_offered(const Transport& transport) {
  const Bytes own = transport.address();
  return own.empty() ? transport.reach(own).why_not : std::string();
}

/// What a rank tells the others once some pair has no transport.
struct Explanation {
  Rank peer = -1;                                  ///< the first rank that it has no transport to; -1: none
  std::map<std::string, std::string> not_offered;  ///< reasons by transport
  std::map<std::string, std::string> no_way;       ///< why they do not reach `peer`
  RouteSettings settings;

  Bytes encode() const {
    ByteWriter out;
    out.put(peer);
    for (const auto* words : {&not_offered, &no_way, &settings}) {
      out.put(static_cast<uint32_t>(words->size()));
      for (const auto& [name, text] : *words) out.put_string(name).put_string(text);
    }
    return out.take();
  }
  static Explanation decode(BytesView bytes) {
    Explanation told;
    ByteReader in(bytes);
    told.peer = in.get<Rank>();
    for (auto* words : {&told.not_offered, &told.no_way, &told.settings}) {
      for (size_t left = in.count(2 * sizeof(uint32_t)); left > 0 && in.ok(); --left) {
        std::string name = printable(in.get_string());
        words->insert_or_assign(std::move(name), printable(in.get_string()));
      }
    }
    return told;
  }
};

/// All ranks' words about pairs without a transport, and this rank's first such peer.
struct Explanations {
  Explanation own;
  std::vector<Bytes> by_rank;
};

Result<Explanations> exchange_explanations(Bootstrap& bootstrap, const Transports& transports,
                                           const Trials& trials, const Matrix& matrix,
                                           const RouteSettings& settings) {
  Explanations told;
  told.own.settings = settings;
  for (size_t p = 0; p < matrix.rows->size() && told.own.peer < 0; ++p)
    if (trials.common(p, matrix) == 0) told.own.peer = static_cast<Rank>(p);
  for (size_t t = 0; t < transports.size(); ++t) {
    const std::string name(transports[t]->name());
    if (std::string why = why_not_offered(*transports[t]); !why.empty())
      told.own.not_offered.emplace(name, std::move(why));
    else if (told.own.peer >= 0)
      told.own.no_way.emplace(name, trials.try_one(static_cast<size_t>(told.own.peer), t).why_not);
  }
  auto all = bootstrap.all_gather(told.own.encode());
  WEIR_TRY(all.status());
  told.by_rank = std::move(*all);
  return told;
}

std::string names_of(const TransportOffer& offer) {
  std::string names;
  for (const TransportOffer::Entry& entry : offer.entries)
    names += fmt::format("{}{}", names.empty() ? "" : ",", entry.name);
  return names;
}

/// The reason of rank `self`, or else that of `peer`, why the two do not use a transport.
std::string reason_of(const std::string& transport, Rank self, const Explanation& own, Rank peer,
                      const Explanation& theirs, const TransportOffer& offer) {
  const auto said = [&](const std::map<std::string, std::string>& words) {
    const auto found = words.find(transport);
    return found == words.end() ? std::string() : found->second;
  };
  if (const std::string why = said(own.not_offered); !why.empty()) return why;
  if (std::ranges::find(offer.entries, transport, &TransportOffer::Entry::name) == offer.entries.end())
    return fmt::format("rank {} does not offer it", peer);
  if (const std::string why = said(theirs.not_offered); !why.empty())
    return fmt::format("rank {} does not offer it: {}", peer, why);
  if (const std::string why = said(own.no_way); !why.empty()) return why;
  const std::string why = theirs.peer == self ? said(theirs.no_way) : std::string();
  return fmt::format("rank {} does not reach rank {}{}{}", peer, self, why.empty() ? "" : ": ", why);
}

/// "; NCCL_HOSTID is a on rank 0 and not set on rank 1": what differs between two ranks; empty: nothing.
std::string difference_of(Rank self, const RouteSettings& own, Rank peer, const RouteSettings& theirs) {
  const bool first = self < peer;  // the two ranks say it alike
  const auto shown = [](const RouteSettings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() || found->second.empty() ? std::string("not set") : found->second;
  };
  RouteSettings all = own;
  all.insert(theirs.begin(), theirs.end());
  std::string text;
  for (const auto& [name, value] : all) {
    const std::string ours = shown(own, name), others = shown(theirs, name);
    if (ours != others)
      text += fmt::format("; {} is {} on rank {} and {} on rank {}", name, first ? ours : others,
                          std::min(self, peer), first ? others : ours, std::max(self, peer));
  }
  return text;
}

/// The error of a rank that has no transport to the first such peer.
Status no_transport(const Transports& transports, const Explanations& told, const TransportOffers& offers,
                    Rank self) {
  const Rank peer = told.own.peer;
  const auto p = static_cast<size_t>(peer);
  const Explanation theirs = Explanation::decode(told.by_rank[p]);
  std::string reasons;
  for (const auto& transport : transports) {
    const std::string name(transport->name());
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name,
                           reason_of(name, self, told.own, peer, theirs, offers[p]));
  }
  const TransportOffer &low = offers[static_cast<size_t>(std::min(self, peer))],
                       &high = offers[static_cast<size_t>(std::max(self, peer))];
  const std::string lists =
      names_of(low) == names_of(high)
          ? ""
          : fmt::format(
                "; WEIR_TRANSPORTS is {} on rank {} and {} on rank {}, expected "
                "a transport that both name and that connects them",
                names_of(low), std::min(self, peer), names_of(high), std::max(self, peer));
  return {Code::system_error,
          fmt::format("no transport connects rank {} and rank {} ({}){}{}", self, peer, reasons,
                      difference_of(self, told.own.settings, peer, theirs.settings), lists)};
}

}  // namespace

Result<Routes> Routes::find(Bootstrap& bootstrap, const Transports& transports,
                            const RouteSettings& settings) {
  auto offers = exchange_offers(bootstrap, transports);
  WEIR_TRY(offers.status());
  Trials trials(transports, **offers);
  trials.run(false);
  auto matrix = gather_bits(bootstrap, trials);
  WEIR_TRY(matrix.status());
  auto connected = all_connected(bootstrap, trials, *matrix);
  WEIR_TRY(connected.status());
  if (!*connected) {
    trials.run(true);
    matrix = gather_bits(bootstrap, trials);
    WEIR_TRY(matrix.status());
    const auto told = exchange_explanations(bootstrap, transports, trials, *matrix, settings);
    WEIR_TRY(told.status());
    if (told->own.peer >= 0) return no_transport(transports, *told, **offers, bootstrap.rank());
  }

  Routes routes;
  for (size_t p = 0; p < (*offers)->size(); ++p) {
    const uint32_t common = trials.common(p, *matrix);
    const TransportOffer& offer = (**offers)[p];
    const size_t t = preferred(common, static_cast<size_t>(bootstrap.rank()) <= p, offer, transports);
    routes.routes_.push_back({transports[t].get(), *offer.address(transports[t]->name()), trials.cost(p, t)});
  }
  routes.addresses_ = *offers;
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
