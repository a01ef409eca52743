// SPDX-License-Identifier: Apache-2.0
/// What loop and shm have in common: channels in segments that this process addresses. They differ in how the
/// segment of a peer comes into the address space.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "transports/memory/segment.h"
#include "transports/transport.h"

namespace weir {

/// Who a transport works for.
struct Identity {
  uint64_t uid = 0;  ///< of the communicator
  Rank rank = 0;
  uint64_t host = 0;  ///< of the host
};

class MemoryTransport : public Transport {
 public:
  std::string_view name() const final { return name_; }
  Traits traits() const final { return {.maps = true, .sleeps = true}; }
  Bytes address() const final;
  Reach reach(BytesView peer_address) const final;
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) final;
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) final;
  Result<SegmentView> map(BytesView peer_address) final;

 protected:
  /// `segment` may be null: then address() is empty and nobody is reached. It outlives the transport and its
  /// ends.
  MemoryTransport(std::string_view name, const Identity& self, Segment* segment)
      : name_(name), self_(self), segment_(segment) {}

  /// Brings the segment into this address space, or says why that cannot be.
  virtual Result<SegmentMemory> bring(const device::ShareHandle& handle, uint64_t host) const = 0;
  /// Whether bring() would succeed, where that is cheaper to find out.
  virtual Status probe(const device::ShareHandle& handle, uint64_t host) const {
    return bring(handle, host).status();
  }

  const Identity& self() const { return self_; }

 private:
  /// What a transport address says.
  struct Owner {
    Rank rank;
    uint64_t host;
    device::ShareHandle handle;
  };
  Result<Owner> read(BytesView peer_address) const;
  const PeerSegment* known(const Owner& owner) const;
  Result<PeerSegment> peer(BytesView peer_address) const;

  const std::string_view name_;
  const Identity self_;
  Segment* const segment_;
  mutable std::map<Rank, PeerSegment> peers_;  // mapped so far
};

}  // namespace weir
