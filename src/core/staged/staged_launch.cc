// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/staged_launch.h"

#include <algorithm>

namespace weir::core {

void StagedLaunch::finish(bool well) const {
  if (marks.empty()) return;
  if (well) return allow(steps.size() - 1);
  for (const device::GpuFlag& flag : may) flag.host->store(kReleased, std::memory_order_release);
}

void StagedLaunch::arrive(void* launch) {
  StagedLaunch& own = *static_cast<StagedLaunch*>(launch);
  std::lock_guard lock(own.gate->mutex);
  if (!own.gate->open) return own.finish(false);
  if (own.captured) {  // resets the flags after the last run of the graph
    own.told.host->store(0, std::memory_order_relaxed);
    for (const device::GpuFlag& flag : own.may) flag.host->store(0, std::memory_order_relaxed);
  }
  own.submit(own.shared_from_this());
  if (own.captured) return;
  std::erase_if(own.gate->expected, [&](const auto& other) { return other.get() == &own; });
}

}  // namespace weir::core
