// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/rail.h"

#include <algorithm>
#include <vector>

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

class Rails {
 public:
  Rails(const ir::Shape& shape, const Groups& starts) : shape_(shape), plan_("rail", shape) {
    for (size_t host = 0; host < starts.size(); ++host) {
      const int end = host + 1 < starts.size() ? starts[host + 1] : shape.ranks;
      hosts_.push_back({starts[host], end - starts[host]});
    }
  }

  ir::Plan all_to_all() {
    for (const Host& host : hosts_) stay(host);
    const int hosts = static_cast<int>(hosts_.size());
    for (int round = 1; round < hosts; ++round) {
      for (int from = 0; from < hosts; ++from) cross(host(from), host(wrap(from + round, hosts)));
    }
    for (Rank rank = 0; rank < shape_.ranks; ++rank) keep(rank, block_for(rank), block_of(rank));
    return plan_.take();
  }

  ir::Plan gather() {
    const Rank root = shape_.root;
    by_rails_of_root([&](Rank src, Rank relay) { pass(src, relay, root, ir::input(0), block_of(src)); });
    keep(root, ir::input(0), block_of(root));
    return plan_.take();
  }

  ir::Plan scatter() {
    const Rank root = shape_.root;
    by_rails_of_root([&](Rank dst, Rank relay) { pass(root, relay, dst, block_for(dst), ir::output(0)); });
    keep(root, block_for(root), ir::output(0));
    return plan_.take();
  }

 private:
  static constexpr uint8_t kSendLane = 0;
  static constexpr uint8_t kReceiveLane = 1;
  static constexpr uint8_t kRelayLane = 2;

  struct Host {
    Rank first;
    int size;
    Rank at(int place) const { return first + wrap(place, size); }
  };

  const Host& host(int number) const { return hosts_[static_cast<size_t>(number)]; }
  ir::Operand block_for(Rank dst) const { return ir::input(static_cast<uint32_t>(dst) * shape_.chunks); }
  ir::Operand block_of(Rank src) const { return ir::output(static_cast<uint32_t>(src) * shape_.chunks); }

  /// Sends through a relay, which may be one of the ends.
  void pass(Rank src, Rank relay, Rank dst, ir::Operand from, ir::Operand to) {
    if (relay == src || relay == dst) {
      plan_.lanes(kSendLane, kReceiveLane);
      plan_.send(src, dst, from, {.to = to, .chunks = shape_.chunks});
      return;
    }
    plan_.lanes(kSendLane, kRelayLane);
    const ir::MoveId carried = plan_.send(src, relay, from, {.chunks = shape_.chunks});
    plan_.lanes(kRelayLane, kReceiveLane);
    plan_.send(relay, dst, ir::value(carried), {.to = to, .chunks = shape_.chunks});
  }

  void keep(Rank rank, ir::Operand from, ir::Operand to) {
    plan_.lane(kSendLane);
    plan_.local(rank, from, {.to = to, .chunks = shape_.chunks});
  }

  /// Exchanges inside a host, pairwise.
  void stay(const Host& host) {
    for (int round = 1; round < host.size; ++round) {
      for (int place = 0; place < host.size; ++place) {
        const Rank src = host.at(place), dst = host.at(place + round);
        pass(src, src, dst, block_for(dst), block_of(src));
      }
    }
  }

  /// In each round every rank of `to` gets a block, from different ranks of `from` as far as there are
  /// enough.
  void cross(const Host& from, const Host& to) {
    for (int turn = 0; turn < from.size; ++turn) {
      for (int place = 0; place < to.size; ++place) {
        const Rank dst = to.at(place), src = from.at(place + turn);
        pass(src, from.at(place), dst, block_for(dst), block_of(src));
      }
    }
  }

  /// Calls visit(rank, relay) for all ranks but the root; the relay of another host's rank is in the root's
  /// host. Positions alternate, so that all rails are busy all the time.
  template <typename Visit>
  void by_rails_of_root(const Visit& visit) {
    int most = 0;
    const Host* root_host = nullptr;
    for (const Host& host : hosts_) {
      most = std::max(most, host.size);
      if (host.first <= shape_.root) root_host = &host;
    }
    for (int place = 0; place < most; ++place) {
      for (const Host& host : hosts_) {
        if (place >= host.size || host.at(place) == shape_.root) continue;
        visit(host.at(place), &host == root_host ? shape_.root : root_host->at(place));
      }
    }
  }

  const ir::Shape shape_;
  ir::Builder plan_;
  std::vector<Host> hosts_;
};

}  // namespace

ir::Plan rail_all_to_all(const ir::Shape& shape, std::span<const Groups> levels) {
  return Rails(shape, levels.back()).all_to_all();
}

ir::Plan rail_gather(const ir::Shape& shape, std::span<const Groups> levels) {
  return Rails(shape, levels.back()).gather();
}

ir::Plan rail_scatter(const ir::Shape& shape, std::span<const Groups> levels) {
  return Rails(shape, levels.back()).scatter();
}

}  // namespace weir::algorithms
