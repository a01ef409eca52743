// SPDX-License-Identifier: Apache-2.0
/// Common part of loop and shm: channels in segments that this process can address. They differ in how the
/// segment of a peer gets into the address space.
/// Tests: tests/transports/conformance.cc
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/net/tls/credentials.h"
#include "transports/memory/attached_blocks.h"
#include "transports/memory/segment.h"
#include "transports/memory/segment_mapper.h"
#include "transports/transport.h"

namespace weir {

/// The rank that a transport works for.
struct Identity {
  uint64_t uid = 0;  ///< id of the communicator
  Rank rank = 0;
  uint64_t host = 0;          ///< identity of the host
  Credentials credentials{};  ///< of the job, for listeners
};

/// The segment of this rank; or null, and why there is none.
struct OwnSegment {
  Segment* segment = nullptr;
  std::string why_none;

  OwnSegment(Segment* own, std::string why = {}) : segment(own), why_none(std::move(why)) {}
};

class MemoryTransport : public Transport, private SegmentMapper {
 public:
  std::string_view name() const final { return name_; }
  Traits traits() const final { return {.maps = true, .sleeps = true}; }
  Bytes address() const final;
  Reach reach(BytesView peer_address) const final;
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) final;
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) final;
  SegmentMapper* segment_mapper() final { return this; }

 protected:
  /// Without a segment address() is empty and no peer can be reached. Peers may map memory of `registry`;
  /// null: of none. Both outlive the transport and its ends.
  MemoryTransport(std::string_view name, const Identity& self, OwnSegment own,
                  const device::MemoryRegistry* registry)
      : name_(name),
        self_(self),
        segment_(own.segment),
        why_none_(std::move(own.why_none)),
        registry_(registry) {}

  /// Maps the segment into this address space, or returns the reason why that fails.
  virtual Result<SegmentMemory> bring(const device::ShareHandle& handle, uint64_t host) const = 0;
  /// Predicts whether bring() would succeed, if that is cheaper.
  virtual Status probe(const device::ShareHandle& handle, uint64_t host) const {
    return bring(handle, host).status();
  }

  const Identity& self() const { return self_; }

 private:
  Result<SegmentView> map(BytesView peer_address) final;
  /// Content of a transport address.
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
  const std::string why_none_;
  const device::MemoryRegistry* const registry_;
  AttachedBlocks attached_;
  mutable std::map<Rank, PeerSegment> peers_;  // segments that are mapped so far
};

}  // namespace weir
