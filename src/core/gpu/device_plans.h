// SPDX-License-Identifier: Apache-2.0
/// Which plan a collective takes on GPUs that reach each other's memory, in which protocol, over how many
/// blocks: by its size alone, so all ranks choose alike. Plans are verified, lowered for all ranks and
/// readied when first needed.
///
/// Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "src/exec/gpu/queued.h"

namespace weir::core {

/// A plan as it is chosen before it is made.
struct DeviceChoice {
  std::string_view algorithm;
  exec::gpu::Way way;
};

class DevicePlans {
 public:
  struct Dependencies {
    int ranks = 1;
    exec::gpu::Queued* executor = nullptr;  ///< outlives the plans
    bool direct = false;                    ///< ranks address each other's buffers
    bool far = false;                       ///< ranks are on several hosts
    algorithms::Layout layout = {};         ///< of those; else not looked at
  };
  explicit DevicePlans(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  struct Chosen {
    exec::gpu::Ready* ready = nullptr;
    size_t tile_bytes = 0;  ///< for Work
  };
  /// For `bytes` per block. `scales`: ranks multiply their inputs, each by a factor of its own. Errors: as
  /// Queued::prepare.
  Result<Chosen> find(Collective kind, Rank root, size_t bytes, bool scales);

  /// How ranks come to each other's data.
  enum class Means : uint8_t {
    slots,    ///< in segments
    direct,   ///< as they like
    proxies,  ///< between hosts
  };
  /// What find() tries, in this order, until one fits.
  static std::vector<DeviceChoice> choices(Collective kind, int ranks, size_t bytes, Means means);
  /// Bytes of a chunk in a pass, such that the work spreads over the shards. Pure.
  static size_t tile_bytes(const exec::gpu::Ready& ready, size_t bytes, uint32_t chunks);

 private:
  struct Made {
    std::unique_ptr<exec::gpu::Ready> ready;  ///< null: it does not fit
    uint32_t chunks = 1;
    Status status;
  };
  using Key = std::tuple<std::string_view, Collective, Rank, exec::gpu::RingProtocol>;

  const Made& make(const DeviceChoice& choice, Collective kind, Rank root);
  Result<ir::Plan> plan_of(const DeviceChoice& choice, Collective kind, Rank root) const;
  Result<Made> emit(const DeviceChoice& choice, Collective kind, Rank root);

  const Dependencies dependencies_;
  std::map<Key, Made> made_;
};

}  // namespace weir::core
