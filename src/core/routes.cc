#include "src/core/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
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

/// What this rank found out about its peers, transport by transport.
class Trials {
 public:
  Trials(const Transports& transports, const std::vector<std::vector<Bytes>>& cards)
      : transports_(transports), cards_(cards), found_(cards.size()) {}

  /// Tries the transports towards every peer in turn, those that were tried left out. REQUIRES: `all`, or no
  /// trial before: up to the first that reaches it.
  void run(bool all) {
    for (size_t p = 0; p < cards_.size(); ++p) {
      while (found_[p].size() < transports_.size() && (all || found_[p].empty() || !found_[p].back().ok)) {
        const size_t t = found_[p].size();
        const Bytes& card = cards_[p][t];
        found_[p].push_back(card.empty() ? Reach{false, {}, "the peer does not offer it"}
                                         : transports_[t]->reach(card));
      }
    }
  }

  /// One word per peer; bit t: this rank reaches it by transport t.
  Bytes bits() const {
    ByteWriter out;
    for (const std::vector<Reach>& row : found_) {
      uint32_t word = 0;
      for (size_t t = 0; t < row.size(); ++t) word |= static_cast<uint32_t>(row[t].ok) << t;
      out.put(word);
    }
    return out.take();
  }

  /// REQUIRES: run(true), or the transport reached the peer.
  const Reach& at(size_t peer, size_t transport) const { return found_[peer][transport]; }

 private:
  const Transports& transports_;
  const std::vector<std::vector<Bytes>>& cards_;
  std::vector<std::vector<Reach>> found_;  ///< by peer and transport, as far as tried
};

/// What all ranks found: bit t of matrix[a][b] says that a reaches b by transport t.
using Matrix = std::vector<std::vector<uint32_t>>;

Result<Matrix> gather_bits(Bootstrap& bootstrap, const Trials& trials) {
  auto all = bootstrap.all_gather(trials.bits());
  WEIR_TRY(all.status());
  Matrix matrix;
  for (const Bytes& row : *all) {
    std::vector<uint32_t>& words = matrix.emplace_back(all->size());
    if (row.size() == words.size() * sizeof(uint32_t)) std::memcpy(words.data(), row.data(), row.size());
  }
  return matrix;
}

/// Whether every pair has a transport that both sides can use.
bool all_connected(const Matrix& matrix) {
  for (size_t a = 0; a < matrix.size(); ++a) {
    for (size_t b = 0; b <= a; ++b) {
      if ((matrix[a][b] & matrix[b][a]) == 0) return false;
    }
  }
  return true;
}

}  // namespace

Result<Routes> Routes::find(Bootstrap& bootstrap, const Transports& transports) {
  auto cards = exchange_cards(bootstrap, transports);
  WEIR_TRY(cards.status());
  Trials trials(transports, *cards);
  trials.run(false);
  auto matrix = gather_bits(bootstrap, trials);
  WEIR_TRY(matrix.status());
  if (!all_connected(*matrix)) {  // all ranks see the same matrix, and so decide alike
    trials.run(true);
    matrix = gather_bits(bootstrap, trials);
    WEIR_TRY(matrix.status());
  }

  Routes routes;
  const auto self = static_cast<size_t>(bootstrap.rank());
  for (size_t p = 0; p < cards->size(); ++p) {
    const uint32_t common = (*matrix)[self][p] & (*matrix)[p][self];
    if (common == 0) {
      std::string reasons;
      for (size_t t = 0; t < transports.size(); ++t) {
        const Reach& reach = trials.at(p, t);
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transports[t]->name(),
                               reach.ok ? "the peer could not reach this rank" : reach.why_not);
      }
      return Status(Code::system_error,
                    fmt::format("no transport between rank {} and rank {} ({})", self, p, reasons));
    }
    const auto t = static_cast<size_t>(std::countr_zero(common));
    routes.routes_.push_back({transports[t].get(), (*cards)[p][t], trials.at(p, t).cost});
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
