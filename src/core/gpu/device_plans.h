// SPDX-License-Identifier: Apache-2.0
/// Chooses the plan, ring protocol and number of blocks of a device collective: by its size, and by the links
/// between the GPUs where they are known, so all ranks choose alike. Plans are verified, lowered for all
/// ranks and prepared on first use.
///
/// Not thread-safe.
/// Tests: tests/core/device_collectives_test.cc
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/loaded_plan.h"
#include "src/base/sum_order.h"
#include "src/core/gpu/plan_times.h"
#include "src/exec/gpu/queued.h"

namespace weir::core {

/// The choice of a plan that is not made yet.
struct DeviceChoice {
  std::string_view algorithm;  ///< in the catalogue, or the key of `loaded`
  exec::gpu::RunParameters way;
  const ir::LoadedPlan* loaded = nullptr;  ///< the user's plan; null: that of the algorithm
};

class DevicePlans {
 public:
  struct Dependencies {
    int ranks = 1;
    exec::gpu::Queued* executor = nullptr;  ///< outlives the plans
    bool direct = false;                    ///< ranks can address each other's buffers
    bool far = false;                       ///< ranks are on several hosts
    /// Layout of the hosts, whose order and groups are unused if they are on one host; with the network
    /// between the GPUs and plans for it, if all bandwidths are known.
    algorithms::Layout layout = {};
    SumOrder order = SumOrder::run;
    const ir::LoadedPlans* loaded = nullptr;  ///< the user's plans; they outlive this; null: none
  };
  explicit DevicePlans(Dependencies dependencies);

  struct Chosen {
    exec::gpu::Ready* ready = nullptr;
    size_t tile_bytes = 0;  ///< tile size for exec::Work; bytes
  };
  /// The plan for `bytes` per block. `scales`: ranks multiply their inputs, each by its own factor. `asked`:
  /// the call's own plan; null: it has none. Errors: those of Queued::prepare.
  Result<Chosen> find(Collective kind, Rank root, size_t bytes, bool scales,
                      const ir::LoadedPlan* asked = nullptr);

  /// How ranks access each other's data.
  enum class Means : uint8_t {
    slots,    ///< slots in segments
    direct,   ///< direct access to all buffers
    proxies,  ///< proxies, between hosts
  };
  /// The choices that find() tries, in this order, until one fits. None depends on measured rates, so that
  /// sums have the same order in every run.
  static std::vector<DeviceChoice> choices(Collective kind, int ranks, size_t bytes, Means means,
                                           SumOrder order = SumOrder::run);
  /// Bytes of a chunk in a pass, so that the work is spread over all shards. Pure.
  static size_t tile_bytes(const exec::gpu::Ready& ready, size_t bytes, uint32_t chunks);

 private:
  struct Made {
    std::unique_ptr<exec::gpu::Ready> ready;  ///< null: it does not fit
    uint32_t chunks = 1;
    size_t message_bytes = 0;  ///< maximum size of a message
    Status status;
  };
  using Key = std::tuple<std::string_view, Collective, Rank, exec::gpu::RingProtocol>;

  /// The choices that find() tries, in this order.
  std::vector<DeviceChoice> candidates(Collective kind, Rank root, size_t bytes, bool scales,
                                       const ir::LoadedPlan* asked);
  bool keeps_rank_order(Collective kind) const {
    return dependencies_.order == SumOrder::ranks && reduces(kind);
  }
  /// The way of planned trees if they are predicted to take less time than `other`, which would run instead.
  std::optional<DeviceChoice> faster_trees(Collective kind, size_t bytes, const DeviceChoice& other);
  Result<bool> are_trees_faster(const DeviceChoice& trees, const DeviceChoice& other, Collective kind,
                                size_t bytes);
  const Made& make(const DeviceChoice& choice, Collective kind, Rank root);
  Result<ir::Plan> plan_of(const DeviceChoice& choice, Collective kind, Rank root) const;
  Result<Made> emit(const DeviceChoice& choice, Collective kind, Rank root);

  const Dependencies dependencies_;
  std::map<Key, Made> made_;
  std::unique_ptr<PlanTimes> times_;  ///< null: there are no planned trees
  /// Whether trees are faster: by collective, size class and other algorithm.
  std::map<std::tuple<Collective, int, std::string_view>, bool> trees_faster_;
};

}  // namespace weir::core
