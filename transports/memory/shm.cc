// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/shm.h"

#include <set>

namespace weir {
namespace {

class Shm final : public MemoryTransport {
 public:
  Shm(const Identity& self, OwnSegment own, bool disabled, const device::MemoryRegistry* registry)
      : MemoryTransport("shm", self, std::move(own), registry), disabled_(disabled) {}

 protected:
  Result<SegmentMemory> bring(const device::ShareHandle& handle, uint64_t host) const override {
    WEIR_TRY(may_reach(handle, host));
    Result<device::SharedMemory> memory = device::SharedMemory::attach(handle);
    if (!memory.ok()) return memory.status();
    return std::make_shared<device::SharedMemory>(std::move(*memory));
  }
  Status probe(const device::ShareHandle& handle, uint64_t host) const override {
    WEIR_TRY(may_reach(handle, host));
    if (reached_.contains(handle.access)) return {};
    WEIR_TRY(device::SharedMemory::probe(handle));
    if (handle.access != 0) reached_.insert(handle.access);
    return {};
  }

 private:
  Status may_reach(const device::ShareHandle& handle, uint64_t host) const {
    if (disabled_) return {Code::invalid_usage, "shared memory is disabled (NCCL_SHM_DISABLE)"};
    if (host != self().host) return {Code::invalid_usage, "the peer is on another host"};
    if (handle.token == 0) return {Code::remote_error, "the peer offers a file that is no segment of weir"};
    return {};
  }

  const bool disabled_;
  /// ShareHandle::access of a peer that was probed: the kernel lets this process reach the others with the
  /// same, or none of them. A probe takes five system calls, and there may be a thousand peers.
  mutable std::set<uint64_t> reached_;
};

}  // namespace

std::unique_ptr<Transport> make_shm(const Identity& self, OwnSegment own, bool disabled,
                                    const device::MemoryRegistry* registry) {
  return std::make_unique<Shm>(self, std::move(own), disabled, registry);
}

}  // namespace weir
