// SPDX-License-Identifier: Apache-2.0

#include "transports/matched/end.h"

#include <fmt/format.h>

#include "transports/matched/wire.h"

namespace weir::matched {

End::End(const ChannelContext& context, const LinkSpec& spec, std::string name)
    : context_(context),
      spec_(spec),
      name_(std::move(name)),
      peer_(peer_text(context, spec)),
      slots_(spec.slots, sizeof(MessageHead) + spec.slot_bytes) {}

Status End::at_peer(const Status& status) const {
  if (status.ok()) return {};
  std::string words = fmt::format("{}, peer {}, failed: {}", name_, peer_, status.message());
  if (ready_ && !status.is_shortage()) return Status(Code::remote_error, std::move(words));
  return status.reworded(std::move(words));
}

Status End::unknown_fin() const {
  return Status(Code::remote_error, fmt::format("{} ended {} with an unknown fin frame", peer_, name_));
}

}  // namespace weir::matched
