#include "src/core/launch.h"

#include <algorithm>

namespace weir::core {

void Launch::finish() const {
  for (const Mark& mark : marks) mark.done.host->store(mark.value, std::memory_order_release);
}

void Launch::arrive(void* mark) {
  const Mark& own = *static_cast<const Mark*>(mark);
  Launch& launch = *own.launch;
  std::lock_guard lock(launch.gate->mutex);
  if (launch.captured) own.done.host->store(0, std::memory_order_relaxed);  // since the last time
  if (++launch.arrived < launch.marks.size()) return;
  launch.arrived = 0;
  if (!launch.gate->open) return launch.finish();
  launch.submit(launch.shared_from_this());
  if (launch.captured) return;
  std::erase_if(launch.gate->expected, [&](const auto& other) { return other.get() == &launch; });
}

}  // namespace weir::core
