// SPDX-License-Identifier: Apache-2.0
/// What the sending and the receiving end of a matched channel have in common; for the matched_*.cc files
/// only.
///
/// An end outlives the Sender or Receiver that its channel's owner has, until all is settled with the peer:
/// Handle is what such an owner holds of it.
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
  /// `name` is the channel's.
  End(const ChannelContext& context, const LinkSpec& spec, std::string name);

  /// Goes on with what is to be done until ready_.
  virtual Status set_up() = 0;

  std::byte* slot(uint64_t message) const { return slots_[message % spec_.slots]; }
  /// The network's sentence, and whom it concerns.
  Status at_peer(const Status& status) const;
  Status unknown_fin() const;

  const ChannelContext context_;
  const LinkSpec spec_;
  const std::string name_;
  const std::string peer_;
  SetupConnection connection_;
  SlotArray slots_;
  bool ready_ = false;
  bool wanting_ = false;  ///< the last look, for a slot or a message, found none
  Status error_;
};

/// An end in use. `Kind` is an End with leave(), which says whether anything is to be settled, and
/// progress().
template <typename Kind>
class Handle {
 public:
  Handle(Engine& engine, std::unique_ptr<Kind> end) : engine_(engine), end_(std::move(end)) {}
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
  Engine& engine_;
  std::unique_ptr<Kind> end_;
};

}  // namespace weir::matched
