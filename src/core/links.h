/// The open channel ends of a communicator rank: opened on first use, shared by all programs, closed with it.
///
/// Programs run one after the other and leave their channels empty, so two programs may use the same channel.
/// Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "src/core/routes.h"
#include "src/exec/lane.h"
#include "src/exec/program.h"

namespace weir::core {

class Links {
 public:
  Links(Rank self, const Routes& routes, uint32_t slots, uint32_t slot_bytes)
      : self_(self), routes_(routes), slots_(slots), slot_bytes_(slot_bytes) {}

  /// Opens what `channel` needs and was not open. Never waits for the peer.
  Status open(const exec::Channel& channel);
  /// True once every open end works.
  Result<bool> ready();
  /// True if ready() was true since the last open().
  bool settled() const { return opening_senders_.empty() && opening_receivers_.empty(); }
  /// The peer of an end that is not ready yet; REQUIRES: ready() gave false or an error.
  Rank not_ready() const { return not_ready_; }

  Sender* sender(const exec::Channel& channel) const;
  Receiver* receiver(const exec::Channel& channel) const;
  uint32_t slot_bytes() const { return slot_bytes_; }

 private:
  using Key = std::tuple<Rank, uint32_t>;  // peer, number
  static constexpr uint32_t kSignalBytes = 64;

  const Rank self_;
  const Routes& routes_;
  const uint32_t slots_;
  const uint32_t slot_bytes_;
  std::map<Key, std::unique_ptr<Sender>> senders_;
  std::map<Key, std::unique_ptr<Receiver>> receivers_;
  std::vector<std::pair<Rank, Sender*>> opening_senders_;
  std::vector<std::pair<Rank, Receiver*>> opening_receivers_;
  Rank not_ready_ = 0;
};

}  // namespace weir::core
