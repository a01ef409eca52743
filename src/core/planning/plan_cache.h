// SPDX-License-Identifier: Apache-2.0
/// Prepared plans of a communicator: verified, lowered, and bound to open channels.
///
/// A hit is two array look-ups. A miss chooses an algorithm, emits its plan, verifies it, lowers it and opens
/// its channels; the caller then waits until the channels are ready. The cache is bounded: past kMost
/// prepared plans it starts afresh (channels stay open). Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/layout.h"
#include "src/core/call/operation.h"
#include "src/core/channels/links.h"
#include "src/core/planning/common.h"
#include "src/core/planning/selector.h"
#include "src/exec/lane.h"

namespace weir::core {

/// A plan ready to run on this rank.
struct Prepared {
  std::string algorithm;
  const char* plan = nullptr;  ///< the same in the catalogue, which stays
  uint32_t chunks = 1;
  Rank root = 0;
  std::unique_ptr<exec::Program> program;
  std::unique_ptr<exec::Run> run;
};

/// What an operation takes. Sizes that share a plan may differ in their tiles.
struct Chosen {
  Prepared* plan = nullptr;  ///< null: nothing was chosen yet
  size_t tile_bytes = 0;     ///< for exec::Work
};

/// Memory that peers may read, for plans that pull.
struct SharedScratch {
  std::byte* own = nullptr;
  std::vector<const std::byte*> peers;  ///< by rank; empty: no plan may pull
  size_t bytes = 0;
};

class PlanCache {
 public:
  /// `layout`: the order in which plans take the ranks, and their groups; the same on all of them, as is what
  /// `selector` says. `pace_share`: of a channel's fair share of the network, to which it keeps; 0: no pace.
  /// `proven` are the plans of the communicator in this process; like `links` and `selector` they outlive the
  /// cache.
  PlanCache(Rank self, algorithms::Layout layout, Links& links, SharedScratch scratch, Selector& selector,
            ProvenPlans& proven, double pace_share);

  const algorithms::Layout& layout() const { return layout_; }

  /// The plan for `bytes` per block, if it was asked for before; else null.
  Chosen hit(Collective kind, Rank root, size_t bytes) const {
    const Chosen& last = hits_[static_cast<size_t>(kind)][static_cast<size_t>(std::bit_width(bytes))];
    return last.plan != nullptr && last.plan->root == root ? last : Chosen();
  }
  /// The same, prepared now if need be.
  Result<Chosen> find(Collective kind, Rank root, size_t bytes);

 private:
  static constexpr int kSizeClasses = 64;  // by the number of significant bits of `bytes`
  static constexpr size_t kMost = 256;

  /// With so many rings; 0: as it is.
  const algorithms::Layout& layout_with(size_t rings);
  /// `rings`: as for layout_with().
  Result<Prepared*> prepare(std::string_view algorithm, const ir::Shape& shape, size_t rings);
  Result<std::unique_ptr<Prepared>> make(const std::string& algorithm, const ir::Shape& shape, size_t rings);
  Result<exec::Binding> bind(const exec::Program& program);

  const Rank self_;
  const int ranks_;
  const algorithms::Layout layout_;
  std::map<size_t, algorithms::Layout> layouts_;  ///< by the number of rings that was asked for
  Links& links_;
  const SharedScratch scratch_;
  Selector& selector_;
  ProvenPlans& proven_;
  const double pace_share_;
  std::array<std::array<Chosen, kSizeClasses + 1>, kCollectives> hits_{};  ///< with the root asked for last
  std::vector<std::unique_ptr<Prepared>> prepared_;
  std::vector<std::vector<std::byte>> scratches_;
};

}  // namespace weir::core
