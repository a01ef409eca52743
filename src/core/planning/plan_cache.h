// SPDX-License-Identifier: Apache-2.0
/// Prepared plans of a communicator: verified, lowered, and bound to open channels.
///
/// A hit takes two array look-ups. A miss chooses an algorithm or a loaded plan, emits the plan, verifies it,
/// lowers it and opens its channels; the caller then waits until the channels are ready. The cache is
/// bounded: it is cleared when it exceeds kMost prepared plans (channels stay open). Not thread-safe.
///
/// Tests: tests/library/choice_test.cc
#pragma once

#include <array>
#include <bit>
#include <functional>
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
  const char* plan = nullptr;  ///< name of `algorithm` in the catalogue, or "loaded plan"; never freed
  uint32_t chunks = 1;
  Rank root = 0;
  std::unique_ptr<exec::Program> program;
  std::unique_ptr<exec::Run> run;
};

/// The plan of an operation and its tile size. Sizes that share a plan may differ in their tiles.
struct SelectedPlan {
  Prepared* plan = nullptr;  ///< null: nothing was chosen yet
  size_t tile_bytes = 0;     ///< tile size for exec::Work; bytes
  /// Sizes of a block for which it was chosen, both included; bytes.
  size_t least = 0;
  size_t most = SIZE_MAX;
};

/// Memory that peers may read, for plans that pull.
struct SharedScratch {
  std::byte* own = nullptr;
  std::vector<const std::byte*> peers;  ///< scratch of each rank; empty: no plan may pull
  size_t bytes = 0;
};

class PlanCache {
 public:
  /// `layout`: the order of the ranks in plans, and their groups; the same on all ranks, like the choices of
  /// `selector`. `pace_share`: part of its fair share of the network to which a channel is limited; 0: no
  /// limit. `proven`: the communicator's plans in this process; like `links` and `selector` it outlives the
  /// cache.
  PlanCache(Rank self, algorithms::Layout layout, Links& links, SharedScratch scratch, Selector& selector,
            ProvenPlans& proven, double pace_share);

  const algorithms::Layout& layout() const { return layout_; }

  /// The plan for `bytes` per block if find() was called for it before; otherwise null.
  SelectedPlan hit(Collective kind, Rank root, size_t bytes) const {
    const SelectedPlan& last = hits_[static_cast<size_t>(kind)][static_cast<size_t>(std::bit_width(bytes))];
    const bool hits =
        last.plan != nullptr && last.plan->root == root && last.least <= bytes && bytes <= last.most;
    return hits ? last : SelectedPlan();
  }
  /// Like hit(), but prepares the plan if necessary.
  Result<SelectedPlan> find(Collective kind, Rank root, size_t bytes);
  /// This plan of the user, prepared. REQUIRES: it is proven and for as many ranks.
  Result<SelectedPlan> prepare(const ir::LoadedPlan& loaded);

 private:
  static constexpr int kSizeClasses = 64;  // numbers of significant bits of `bytes`
  static constexpr size_t kMost = 256;

  /// The layout of a choice: that of the communicator, with the rings that it asks for, or the ranks.
  const algorithms::Layout& layout_for(const Selector::Choice& choice);
  /// The plan, where the order of sums is that of the ranks only if it keeps to it.
  Result<ir::Plan> ordered(Result<ir::Plan> plan) const;
  /// What a prepared plan is made of.
  struct Recipe {
    std::string algorithm;  ///< unique name
    const char* plan = "";  ///< as in Prepared
    ir::Shape shape;
    size_t rings = 0;                        ///< number of rings of its layout
    std::function<Result<ir::Plan>()> emit;  ///< makes the plan, proven
  };
  Result<Prepared*> prepare(const Recipe& recipe);
  Result<SelectedPlan> prepare(Selector::Choice choice, Collective kind, Rank root);
  static size_t tile_bytes(const Prepared& plan, size_t divisor);
  Result<std::unique_ptr<Prepared>> make(const Recipe& recipe);
  /// `pulls`: whether ranks read each other's scratch in the plan.
  Result<exec::Binding> bind(const exec::Program& program, bool pulls);

  const Rank self_;
  const int ranks_;
  const algorithms::Layout layout_;
  const algorithms::Layout rank_order_;           ///< the layout of plans whose places are the ranks
  std::map<size_t, algorithms::Layout> layouts_;  ///< layouts by requested number of rings
  Links& links_;
  const SharedScratch scratch_;
  Selector& selector_;
  ProvenPlans& proven_;
  const double pace_share_;
  std::array<std::array<SelectedPlan, kSizeClasses + 1>, kCollectives>
      hits_{};  ///< plans by kind and size class, for the root requested last
  std::vector<std::unique_ptr<Prepared>> prepared_;
  std::vector<std::vector<std::byte>> scratches_;
};

}  // namespace weir::core
