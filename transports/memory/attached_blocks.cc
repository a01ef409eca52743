// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/attached_blocks.h"

#include "src/base/log.h"

namespace weir {

const std::byte* AttachedBlocks::find(Rank peer, const RendezvousSource& source, size_t bytes) {
  if (source.block.generation == 0) return nullptr;
  Attached& attached = blocks_[peer][source.block.slot % kMost];
  if (attached.block != source.block) {
    attached = {source.block, {}};
    auto memory = device::SharedMemory::attach(source.handle, device::Pages::huge);
    if (memory.ok()) {
      attached.memory = std::move(*memory);
    } else {
      WEIR_INFO(p2p, "Memory that rank {} has registered is read through the kernel: {}", peer,
                memory.status().message());
    }
  }
  const size_t size = attached.memory.data() != nullptr ? attached.memory.size() : 0;
  return source.offset <= size && bytes <= size - source.offset ? attached.memory.data() + source.offset
                                                                : nullptr;
}

}  // namespace weir
