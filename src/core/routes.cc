#include "src/core/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::core {
namespace {

using Transports = std::vector<std::unique_ptr<Transport>>;

/// The cards of all ranks: cards[rank][transport].
Result<std::vector<std::vector<Bytes>>> exchange_cards(Bootstrap& bootstrap, const Transports& transports) {
  ByteWriter own;
  own.put(static_cast<uint32_t>(transports.size()));
  for (const auto& transport : transports) own.put_string(transport->name()).put_bytes(transport->card());
  auto all = bootstrap.all_gather(own.take());
  WEIR_TRY(all.status());
  std::vector<std::vector<Bytes>> cards;
  for (const Bytes& published : *all) {
    ByteReader reader(published);
    const auto rank = cards.size();
    auto& row = cards.emplace_back(transports.size());
    const auto count = reader.get<uint32_t>();
    for (uint32_t i = 0; i < count && reader.ok(); ++i) {
      const std::string name = reader.get_string();
      Bytes card = reader.get_bytes();
      for (size_t t = 0; t < transports.size(); ++t) {
        if (transports[t]->name() == name) row[t] = std::move(card);
      }
    }
    if (!reader.ok())
      return Status(Code::remote_error, fmt::format("rank {} published broken transport cards", rank));
  }
  return cards;
}

}  // namespace

Result<Routes> Routes::find(Bootstrap& bootstrap, const Transports& transports) {
  auto cards = exchange_cards(bootstrap, transports);
  WEIR_TRY(cards.status());
  const auto ranks = static_cast<size_t>(bootstrap.size());
  const auto self = static_cast<size_t>(bootstrap.rank());

  std::vector<std::vector<Reach>> reaches(ranks);
  Bytes own(ranks * sizeof(uint32_t));  // bit t of word p: this rank reaches p by transport t
  for (size_t p = 0; p < ranks; ++p) {
    uint32_t bits = 0;
    for (size_t t = 0; t < transports.size(); ++t) {
      const Bytes& card = (*cards)[p][t];
      Reach reach =
          card.empty() ? Reach{false, {}, "the peer does not offer it"} : transports[t]->reach(card);
      bits |= static_cast<uint32_t>(reach.ok) << t;
      reaches[p].push_back(std::move(reach));
    }
    std::memcpy(own.data() + p * sizeof bits, &bits, sizeof bits);
  }
  auto all = bootstrap.all_gather(own);
  WEIR_TRY(all.status());

  Routes routes;
  for (size_t p = 0; p < ranks; ++p) {
    uint32_t mine = 0;
    uint32_t theirs = 0;
    std::memcpy(&mine, own.data() + p * sizeof mine, sizeof mine);
    if ((*all)[p].size() == own.size())
      std::memcpy(&theirs, (*all)[p].data() + self * sizeof theirs, sizeof theirs);
    Route route;
    std::string reasons;
    for (size_t t = 0; t < transports.size() && route.transport == nullptr; ++t) {
      if ((mine & theirs) >> t & 1) {
        route = {transports[t].get(), (*cards)[p][t], reaches[p][t].cost};
      } else {
        reasons +=
            fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transports[t]->name(),
                        reaches[p][t].ok ? "the peer could not reach this rank" : reaches[p][t].why_not);
      }
    }
    if (route.transport == nullptr) {
      return Status(Code::system_error,
                    fmt::format("no transport between rank {} and rank {} ({})", self, p, reasons));
    }
    routes.routes_.push_back(std::move(route));
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
