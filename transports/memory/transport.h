/// What loop and shm have in common: channels in homes that this process addresses. They differ in how the
/// home of a peer comes into the address space.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "transports/memory/home.h"
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
  Bytes card() const final;
  Reach reach(BytesView peer_card) const final;
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) final;
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) final;
  Result<HomeView> map(BytesView peer_card) final;

 protected:
  /// `home` may be null: then card() is empty and nobody is reached. It outlives the transport and its ends.
  MemoryTransport(std::string_view name, const Identity& self, Home* home)
      : name_(name), self_(self), home_(home) {}

  /// Brings the segment into this address space, or says why that cannot be.
  virtual Result<HomeMemory> bring(const device::ShareHandle& handle, uint64_t host) const = 0;
  /// Whether bring() would succeed, where that is cheaper to find out.
  virtual Status probe(const device::ShareHandle& handle, uint64_t host) const {
    return bring(handle, host).status();
  }

  const Identity& self() const { return self_; }

 private:
  /// What a card says.
  struct Owner {
    Rank rank;
    uint64_t host;
    device::ShareHandle handle;
  };
  Result<Owner> read(BytesView peer_card) const;
  const PeerHome* known(const Owner& owner) const;
  Result<PeerHome> peer(BytesView peer_card) const;

  const std::string_view name_;
  const Identity self_;
  Home* const home_;
  mutable std::map<Rank, PeerHome> peers_;  // mapped so far
};

}  // namespace weir
