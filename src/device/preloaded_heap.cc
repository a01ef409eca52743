// SPDX-License-Identifier: Apache-2.0

#include "src/device/preloaded_heap.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "src/base/log.h"

namespace weir::device {

Status adopt_preloaded_heap(MemoryRegistry& registry) {
  using Find = bool (*)(void** begin, size_t* bytes);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "weir_shared_heap"));
  void* begin = nullptr;
  size_t bytes = 0;
  if (find == nullptr || !find(&begin, &bytes)) return {};
  const Result<BlockId> block = registry.adopt(begin, bytes);
  if (!block.ok())
    return {block.status().code(), "peers cannot map the shared heap: " + block.status().message()};
  WEIR_INFO(init,
            "Peers on this host read the large buffers of malloc where they are: shared heap of {} bytes",
            bytes);
  return {};
}

}  // namespace weir::device
