// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/pat.h"

#include <algorithm>
#include <vector>

#include "algorithms/catalogue/pat_schedule.h"
#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Operand;

constexpr uint8_t kInsideLane = 0;
constexpr int kTurns = (ir::kMaxLanes - 1) / 2;  // maximum number of rails per rank, by lanes

/// The blocks of a message and, if they are packed, their position in the scratch of the rank that serves the
/// rail.
struct PackedBlocks {
  uint32_t first = 0;  ///< first block in scratch
  size_t cell = 0;     ///< index of the first block among all blocks of all hosts and rails
  std::vector<Rank> owners;
  bool single() const { return owners.size() == 1; }
};

/// Hosts, rails and scratch: the common part of both collectives.
class Pat {
 public:
  Pat(const ir::Shape& shape, std::span<const Groups> levels, int aggregate)
      : plan_("pat", shape), chunks_(shape.chunks) {
    for (Rank first = 0; levels.empty() && first < shape.ranks; ++first) hosts_.push_back({first, 1});
    if (!levels.empty()) {
      const Groups& starts = levels.back();
      for (size_t host = 0; host < starts.size(); ++host) {
        const Rank end = host + 1 < starts.size() ? starts[host + 1] : shape.ranks;
        hosts_.push_back({starts[host], end - starts[host]});
      }
    }
    schedule_ = pat_schedule(static_cast<int>(hosts_.size()), aggregate);
    size_scratch();
    find_needed();
  }

 protected:
  struct Host {
    Rank first;
    int size;
    Rank at(int place) const { return first + place % size; }
    uint8_t send_lane(int rail) const { return static_cast<uint8_t>(1 + 2 * (rail / size % kTurns)); }
    uint8_t receive_lane(int rail) const { return static_cast<uint8_t>(send_lane(rail) + 1); }
  };

  int hosts() const { return schedule_.hosts; }
  int stride() const { return schedule_.stride; }
  const Host& host(int number) const { return hosts_[static_cast<size_t>(number)]; }
  const std::vector<PatStep>& steps() const { return schedule_.steps; }
  const std::vector<PatShare>& shares() const { return schedule_.shares; }
  PatRun own_run() const { return {0, schedule_.own_place(), 1}; }

  Operand input(Rank owner) const { return ir::input(static_cast<uint32_t>(owner) * chunks_); }
  Operand output(Rank owner) const { return ir::output(static_cast<uint32_t>(owner) * chunks_); }
  Operand scratch(uint32_t block) const { return ir::scratch(block * chunks_); }
  uint32_t chunks(const PackedBlocks& packed) const {
    return static_cast<uint32_t>(packed.owners.size()) * chunks_;
  }

  /// The blocks of a run on this rail at this host: hosts with fewer ranks have no block on some rails.
  PackedBlocks packed(int host_number, int rail, const PatRun& run) const {
    PackedBlocks found;
    const Host& here = host(host_number);
    found.first = static_cast<uint32_t>(rail / here.size) * held_ +
                  static_cast<uint32_t>(schedule_.row(run.branch) * schedule_.row_size());
    found.cell = cell(host_number, rail, run.branch);
    for (int place = 0; place < run.first + run.count; ++place) {
      const int offset = schedule_.heads[static_cast<size_t>(place)] + run.branch;
      const Host& from = host(wrap(host_number - offset, hosts()));
      if (rail >= from.size) continue;
      if (place < run.first) {
        ++found.first;
        ++found.cell;
      } else {
        found.owners.push_back(from.at(rail));
      }
    }
    return found;
  }
  /// Whether block i of these must be in scratch: it is part of a message of several blocks.
  bool in_scratch(const PackedBlocks& blocks, size_t i) const { return in_scratch_[blocks.cell + i]; }
  /// For each host, round of pairs in it, and rail: calls visit(host, rail, the serving rank, another rank).
  template <typename Visit>
  void each_inside(Visit&& visit) {
    for (int h = 0; h < hosts(); ++h) {
      for (int round = 1; round < host(h).size; ++round) {
        for (int rail = 0; rail < rails_; ++rail) visit(h, rail, host(h).at(rail), host(h).at(rail + round));
      }
    }
  }
  template <typename Visit>
  void each_rail(Visit&& visit) {
    for (int h = 0; h < hosts(); ++h) {
      for (int rail = 0; rail < rails_; ++rail) visit(h, rail, host(h).at(rail));
    }
  }

  ir::Builder plan_;
  const uint32_t chunks_;  ///< chunks per block
  uint32_t inside_ = 0;    ///< first block of scratch for exchanges inside a host

 private:
  void size_scratch() {
    int smallest = hosts_[0].size;
    for (const Host& host : hosts_) {
      rails_ = std::max(rails_, host.size);
      smallest = std::min(smallest, host.size);
    }
    held_ = static_cast<uint32_t>(schedule_.rows() * schedule_.row_size());
    inside_ = static_cast<uint32_t>((rails_ + smallest - 1) / smallest) * held_;
    const auto row = static_cast<uint32_t>(rails_ > 1 ? schedule_.row_size() : 0);
    plan_.scratch_chunks((inside_ + row) * chunks_);
  }

  void find_needed() {
    in_scratch_.resize(cell(hosts(), 0, 0));
    const auto mark = [&](const PackedBlocks& blocks) {
      for (size_t i = 0; i < blocks.owners.size() && !blocks.single(); ++i)
        in_scratch_[blocks.cell + i] = true;
    };
    each_rail([&](int h, int rail, Rank) {
      for (const PatStep& step : steps()) {
        mark(packed(h, rail, step.sent));
        mark(packed(h, rail, step.arriving));
      }
      if (host(h).size == 1) return;
      for (const PatShare& share : shares()) mark(packed(h, rail, share.run));
    });
  }

  size_t cell(int host_number, int rail, int branch) const {
    const auto row =
        static_cast<size_t>(host_number) * static_cast<size_t>(rails_) + static_cast<size_t>(rail);
    return (row * static_cast<size_t>(stride()) + static_cast<size_t>(branch)) * schedule_.heads.size();
  }

  std::vector<Host> hosts_;
  PatSchedule schedule_;
  int rails_ = 0;
  uint32_t held_ = 0;  ///< blocks of scratch per rail that a rank serves
  std::vector<bool> in_scratch_;
};

class AllGather : private Pat {
 public:
  using Pat::Pat;

  ir::Plan emit() {
    if (!steps().empty()) cross(steps()[0]);
    keep_own();
    for (size_t done = 0; done <= steps().size(); ++done) {
      for (const PatShare& share : shares())
        if (share.ready == done) hand_out(share);
      if (done > 0) unpack(steps()[done - 1].arriving);
      if (done > 0 && done < steps().size()) cross(steps()[done]);
    }
    return plan_.take();
  }

 private:
  void cross(const PatStep& step) {
    each_rail([&](int h, int rail, Rank src) {
      const PackedBlocks sent = packed(h, rail, step.sent);
      if (sent.owners.empty()) return;
      const int to = wrap(h + step.distance, hosts());
      const Rank dst = host(to).at(rail), owner = sent.owners[0];
      const PackedBlocks arriving = packed(to, rail, step.arriving);
      plan_.lanes(host(h).send_lane(rail), host(to).receive_lane(rail));
      if (!sent.single()) {
        plan_.send(src, dst, scratch(sent.first), {.to = scratch(arriving.first), .chunks = chunks(sent)});
        return;
      }
      plan_.send(src, dst, at_hand(src, owner), {.to = output(owner), .chunks = chunks_});
      if (!in_scratch(arriving, 0)) return;
      plan_.lane(host(to).receive_lane(rail));
      plan_.local(dst, output(owner), {.to = scratch(arriving.first), .chunks = chunks_});
    });
  }

  void keep_own() {
    each_rail([&](int h, int rail, Rank owner) {
      if (rail >= host(h).size) return;
      const PackedBlocks own = packed(h, rail, own_run());
      plan_.lane(host(h).send_lane(rail));
      plan_.local(owner, ir::input(0), {.to = output(owner), .chunks = chunks_});
      if (in_scratch(own, 0)) plan_.local(owner, ir::input(0), {.to = scratch(own.first), .chunks = chunks_});
    });
  }

  /// Passes received blocks to the other ranks of each host.
  void hand_out(const PatShare& share) {
    each_inside([&](int h, int rail, Rank src, Rank dst) {
      const PackedBlocks blocks = packed(h, rail, share.run);
      if (blocks.owners.empty()) return;
      const bool one = blocks.single();
      plan_.lanes(share.ready == 0 ? host(h).send_lane(rail) : host(h).receive_lane(rail), kInsideLane);
      plan_.send(src, dst, one ? at_hand(src, blocks.owners[0]) : scratch(blocks.first),
                 {.to = one ? output(blocks.owners[0]) : scratch(inside_), .chunks = chunks(blocks)});
      if (!one) take_out(dst, kInsideLane, inside_, blocks.owners);
    });
  }

  void unpack(const PatRun& run) {
    each_rail([&](int h, int rail, Rank rank) {
      const PackedBlocks blocks = packed(h, rail, run);
      if (!blocks.single()) take_out(rank, host(h).receive_lane(rail), blocks.first, blocks.owners);
    });
  }

  Operand at_hand(Rank rank, Rank owner) const { return owner == rank ? ir::input(0) : output(owner); }

  void take_out(Rank rank, uint8_t lane, uint32_t place, const std::vector<Rank>& owners) {
    plan_.lane(lane);
    for (const Rank owner : owners)
      plan_.local(rank, scratch(place++), {.to = output(owner), .chunks = chunks_});
  }
};

class ReduceScatter : private Pat {
 public:
  ReduceScatter(const ir::Shape& shape, std::span<const Groups> levels, int aggregate)
      : Pat(shape, levels, aggregate), begun_(static_cast<size_t>(shape.ranks) * inside_) {}

  ir::Plan emit() {
    std::vector<bool> collected(static_cast<size_t>(stride()));  // index: branch
    const auto once = [&](int branch) {
      if (collected[static_cast<size_t>(branch)]) return;
      collected[static_cast<size_t>(branch)] = true;
      for (size_t s = shares().size(); s-- > 0;)
        if (shares()[s].run.branch == branch) collect(shares()[s].run);
    };
    for (size_t s = steps().size(); s-- > 0;) {
      once(steps()[s].arriving.branch);
      once(steps()[s].sent.branch);
      cross(steps()[s], s == 0);
    }
    once(0);
    return plan_.take();
  }

 private:
  /// Collects the data of the other ranks of each host for a message.
  void collect(const PatRun& run) {
    each_rail([&](int h, int rail, Rank rank) {
      const PackedBlocks blocks = packed(h, rail, run);
      plan_.lane(host(h).receive_lane(rail));
      for (size_t i = 0; i < blocks.owners.size(); ++i) {
        const auto place = blocks.first + static_cast<uint32_t>(i);
        begun_[at(rank, place)] = in_scratch(blocks, i);
        if (in_scratch(blocks, i))
          plan_.local(rank, input(blocks.owners[i]), {.to = scratch(place), .chunks = chunks_});
      }
    });
    each_inside([&](int h, int rail, Rank dst, Rank src) {
      const PackedBlocks blocks = packed(h, rail, run);
      if (blocks.owners.empty()) return;
      plan_.lane(kInsideLane);
      for (uint32_t i = 0; i < blocks.owners.size() && !blocks.single(); ++i)
        plan_.local(src, input(blocks.owners[i]), {.to = scratch(inside_ + i), .chunks = chunks_});
      const bool last = steps().empty() && src == host(h).at(rail + host(h).size - 1);
      plan_.lanes(kInsideLane, host(h).receive_lane(rail));
      add(src, blocks.single() ? input(blocks.owners[0]) : scratch(inside_), dst, blocks, last);
    });
  }

  void cross(const PatStep& step, bool last) {
    each_rail([&](int h, int rail, Rank dst) {
      const PackedBlocks target = packed(h, rail, step.sent);
      if (target.owners.empty()) return;
      const int from = wrap(h + step.distance, hosts());
      plan_.lanes(host(from).send_lane(rail), host(h).receive_lane(rail));
      const Rank src = host(from).at(rail);
      add(src, so_far(src, packed(from, rail, step.arriving)), dst, target, last);
    });
  }

  /// The sum of the blocks at the rank: the input, or scratch once something was packed or added.
  Operand so_far(Rank rank, const PackedBlocks& blocks) const {
    return begun_[at(rank, blocks.first)] ? scratch(blocks.first) : input(blocks.owners[0]);
  }

  void add(Rank src, Operand from, Rank dst, const PackedBlocks& blocks, bool last) {
    plan_.send(src, dst, from,
               {.with = so_far(dst, blocks),
                .to = last ? ir::output(0) : scratch(blocks.first),
                .chunks = chunks(blocks)});
    begun_[at(dst, blocks.first)] = true;
  }

  size_t at(Rank rank, uint32_t place) const { return static_cast<size_t>(rank) * inside_ + place; }

  std::vector<bool> begun_;  ///< index: rank and block of scratch
};

}  // namespace

ir::Plan pat_all_gather(const ir::Shape& shape, std::span<const Groups> levels, int aggregate) {
  return AllGather(shape, levels, aggregate).emit();
}

ir::Plan pat_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels, int aggregate) {
  return ReduceScatter(shape, levels, aggregate).emit();
}

}  // namespace weir::algorithms
