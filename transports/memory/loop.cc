// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/loop.h"

#include <fmt/format.h>
#include <unistd.h>

namespace weir {
namespace {

class Loop final : public MemoryTransport {
 public:
  Loop(const Identity& self, const OwnSegment& own, LocalSegments* segments,
       const device::MemoryRegistry* registry)
      : MemoryTransport("loop", self, own, registry), segments_(segments) {
    if (own.segment != nullptr && segments != nullptr) segments->add(own.segment->memory());
  }

 protected:
  Result<SegmentMemory> bring(const device::ShareHandle& handle, uint64_t host) const override {
    SegmentMemory memory = segments_ != nullptr && host == self().host ? segments_->find(handle) : nullptr;
    if (memory != nullptr) return memory;
    return Status(Code::invalid_usage,
                  fmt::format("the peer is in another process ({}{}) than this rank ({})", handle.pid,
                              host == self().host ? "" : " of another host", getpid()));
  }

 private:
  LocalSegments* const segments_;
};

}  // namespace

std::unique_ptr<Transport> make_loop(const Identity& self, const OwnSegment& own, LocalSegments* segments,
                                     const device::MemoryRegistry* registry) {
  return std::make_unique<Loop>(self, own, segments, registry);
}

}  // namespace weir
