// SPDX-License-Identifier: Apache-2.0
/// Base of the sending and the receiving end of a matched channel; for the files of this folder only.
///
/// An end outlives the Sender or Receiver that the user of the channel owns, until everything is settled with
/// the peer. Handle is what such a user owns.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <memory>
#include <string>

#include "transports/matched/channel.h"
#include "transports/setup_connection.h"
#include "transports/slot_array.h"

namespace weir::matched {

class End : public PolledEnd {
 public:
  Result<bool> ready() {
    if (!ready_ && error_.ok()) error_ = set_up();
    WEIR_TRY(error_);
    return ready_;
  }

 protected:
  /// `name` is the channel's name.
  End(const ChannelContext& context, const LinkSpec& spec, std::string name);

  /// Continues the set-up until ready_.
  virtual Status set_up() = 0;

  std::byte* slot(uint64_t message) const { return slots_[message % spec_.slots]; }
  /// Adds the channel and the peer to an error of the network.
  Status at_peer(const Status& status) const;
  Status unknown_fin() const;

  const ChannelContext context_;
  const LinkSpec spec_;
  const std::string name_;
  const std::string peer_;
  SetupConnection connection_;
  SlotArray slots_;
  bool ready_ = false;
  bool wanting_ = false;  ///< the last poll found no free slot, or no message
  Status error_;
};

/// An end in use. `Kind` is an End with progress() and leave(); leave() returns whether something remains to
/// be settled.
template <typename Kind>
class Handle {
 public:
  Handle(MatchedEngine& engine, std::unique_ptr<Kind> end) : engine_(engine), end_(std::move(end)) {}
  Handle(const Handle&) = delete;
  ~Handle() {
    engine_.dismiss(*end_);
    if (end_->leave()) engine_.settle(std::move(end_));
  }
  Kind* operator->() const { return end_.get(); }
  Kind& operator*() const { return *end_; }

  Result<bool> ready() {
    engine_.serve();
    return end_->ready();
  }
  Status progress() {
    engine_.serve();
    return end_->progress();
  }

 private:
  MatchedEngine& engine_;
  std::unique_ptr<Kind> end_;
};

}  // namespace weir::matched
