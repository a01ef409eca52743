#include "algorithms/rail.h"

#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/wrap.h"

namespace weir::algorithms {
namespace {

constexpr uint8_t kSendLane = 0;
constexpr uint8_t kReceiveLane = 1;
constexpr uint8_t kRelayLane = 2;

struct Host {
  Rank first;
  int size;
  Rank at(int place) const { return first + wrap(place, size); }
};

class Rails {
 public:
  Rails(const ir::Shape& shape, const Groups& starts) : shape_(shape), plan_("rail", shape) {
    for (size_t host = 0; host < starts.size(); ++host) {
      const int end = host + 1 < starts.size() ? starts[host + 1] : shape.ranks;
      hosts_.push_back({starts[host], end - starts[host]});
    }
  }

  ir::Plan emit() {
    for (const Host& host : hosts_) stay(host);
    const int hosts = static_cast<int>(hosts_.size());
    for (int round = 1; round < hosts; ++round) {
      for (int from = 0; from < hosts; ++from) cross(host(from), host(wrap(from + round, hosts)));
    }
    plan_.lane(kSendLane);
    for (Rank rank = 0; rank < shape_.ranks; ++rank)
      plan_.local(rank, block_for(rank), {.to = block_of(rank), .chunks = shape_.chunks});
    return plan_.take();
  }

 private:
  const Host& host(int number) const { return hosts_[static_cast<size_t>(number)]; }
  ir::Operand block_for(Rank dst) const { return ir::input(static_cast<uint32_t>(dst) * shape_.chunks); }
  ir::Operand block_of(Rank src) const { return ir::output(static_cast<uint32_t>(src) * shape_.chunks); }

  /// Inside a host, pairwise.
  void stay(const Host& host) {
    plan_.lanes(kSendLane, kReceiveLane);
    for (int round = 1; round < host.size; ++round) {
      for (int place = 0; place < host.size; ++place) {
        const Rank src = host.at(place), dst = host.at(place + round);
        plan_.send(src, dst, block_for(dst), {.to = block_of(src), .chunks = shape_.chunks});
      }
    }
  }

  /// In each turn every rank of `to` gets a block, and ranks of `from` are different ones as far as there are
  /// enough.
  void cross(const Host& from, const Host& to) {
    for (int turn = 0; turn < from.size; ++turn) {
      for (int place = 0; place < to.size; ++place) {
        const Rank dst = to.at(place), relay = from.at(place), src = from.at(place + turn);
        if (src == relay) {
          plan_.lanes(kSendLane, kReceiveLane);
          plan_.send(src, dst, block_for(dst), {.to = block_of(src), .chunks = shape_.chunks});
          continue;
        }
        plan_.lanes(kSendLane, kRelayLane);
        const ir::MoveId carried = plan_.send(src, relay, block_for(dst), {.chunks = shape_.chunks});
        plan_.lanes(kRelayLane, kReceiveLane);
        plan_.send(relay, dst, ir::value(carried), {.to = block_of(src), .chunks = shape_.chunks});
      }
    }
  }

  const ir::Shape shape_;
  ir::Builder plan_;
  std::vector<Host> hosts_;
};

}  // namespace

ir::Plan rail_all_to_all(const ir::Shape& shape, std::span<const Groups> levels) {
  return Rails(shape, levels.back()).emit();
}

}  // namespace weir::algorithms
