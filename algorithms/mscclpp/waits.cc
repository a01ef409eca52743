// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/waits.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace weir::mscclpp {
namespace {

/// How far a block knows its rank's other blocks to be: for each, the number of its works that are done.
using Known = std::vector<size_t>;

class Semaphores {
 public:
  Semaphores(const ir::Plan& plan, const msccl::WorkOrder& order, BlockPlacement& placement)
      : plan_(plan), placement_(placement), before_(order.pending.size()), number_(order.pending.size()) {
    for (size_t work = 0; work + 1 < order.first.size(); ++work)
      for (size_t at = order.first[work]; at < order.first[work + 1]; ++at)
        before_[order.later[at]].push_back(work);
    for (const size_t blocks : placement.blocks) {
      known_.emplace_back(blocks, Known(blocks));
      of_blocks_.emplace_back();
    }
  }

  void add() {
    known_at_.resize(before_.size());
    placement_.acquires.assign(before_.size(), {});
    placement_.releases.assign(before_.size(), {});
    placement_.semaphores.assign(placement_.blocks.size(), 0);
    for (size_t work = 0; work < before_.size(); ++work)
      if (placement_.block[work] >= 0) place(work);
  }

 private:
  size_t block_of(size_t work) const { return static_cast<size_t>(placement_.block[work]); }

  void place(size_t work) {
    const auto rank = static_cast<size_t>(rank_of(plan_, work));
    Known& known = known_[rank][block_of(work)];
    std::vector<size_t>& before = before_[work];
    // The latest one first: what it waited for need not be waited for again.
    std::sort(before.begin(), before.end(), std::greater<>());
    for (const size_t earlier : before) {
      if (known[block_of(earlier)] >= number_[earlier]) continue;
      const int semaphore = between(rank, block_of(earlier), block_of(work));
      placement_.releases[earlier].push_back(semaphore);
      placement_.acquires[work].push_back(semaphore);
      const Known& at = known_at_[earlier];
      std::transform(known.begin(), known.end(), at.begin(), known.begin(),
                     [](size_t a, size_t b) { return std::max(a, b); });
    }
    number_[work] = ++known[block_of(work)];
    known_at_[work] = known;
  }

  int between(size_t rank, size_t from, size_t to) {
    const auto [place, is_new] = of_blocks_[rank].try_emplace({from, to}, placement_.semaphores[rank]);
    if (is_new) ++placement_.semaphores[rank];
    return place->second;
  }

  const ir::Plan& plan_;
  BlockPlacement& placement_;
  std::vector<std::vector<size_t>> before_;  // index: work
  std::vector<size_t> number_;               // index: work; its number in its block, from 1
  std::vector<Known> known_at_;              // index: work
  std::vector<std::vector<Known>> known_;    // index: rank and block
  std::vector<std::map<std::pair<size_t, size_t>, int>> of_blocks_;  // index: rank
};

}  // namespace

void add_semaphores(const ir::Plan& plan, const msccl::WorkOrder& order, BlockPlacement& placement) {
  Semaphores(plan, order, placement).add();
}

}  // namespace weir::mscclpp
