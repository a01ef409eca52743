// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <sched.h>

#include "src/base/clock.h"
#include "transports/link_check.h"
#include "transports/matched/channel.h"
#include "transports/matched/wire.h"

namespace weir::matched {
namespace {

constexpr int64_t kTimeoutNs = 200'000'000;

}  // namespace

MatchedEngine::~MatchedEngine() {
  const int64_t until = now_ns() + kTimeoutNs;
  for (settle_closed(); !closed_.empty() && now_ns() < until; settle_closed()) sched_yield();
}

void MatchedEngine::dismiss(PolledEnd& end) {
  std::erase(busy_, &end);
  std::erase(receivers_, &end);
}

void MatchedEngine::settle(std::unique_ptr<PolledEnd> end) {
  if (!end->settle()) closed_.push_back(std::move(end));
}

void MatchedEngine::serve() {
  std::erase_if(busy_, [](PolledEnd* sender) { return !sender->advance(); });
  if (!receivers_.empty()) receivers_[++next_ % receivers_.size()]->advance();
  if (!closed_.empty()) settle_closed();
}

void MatchedEngine::settle_closed() {
  std::erase_if(closed_, [](const auto& end) { return end->settle(); });
}

std::string peer_text(const ChannelContext& context, const LinkSpec& spec) {
  return fmt::format("rank {} (address {})", spec.peer, context.peer_listener.text());
}

Status check_channel(const ChannelContext& context, const LinkSpec& spec, const std::string& name) {
  WEIR_TRY(check_spec(spec));
  if (spec.channel >= kMostChannels) {
    return Status(Code::invalid_argument,
                  fmt::format("{} cannot be opened; {} supports channel numbers below {}", name,
                              context.transport, kMostChannels));
  }
  const size_t bytes = sizeof(MessageHead) + spec.slot_bytes;
  for (size_t rail = 0; rail < context.network->rails(); ++rail) {
    const size_t most = context.network->most_bytes(rail);
    if (bytes <= most) continue;
    return Status(Code::invalid_argument,
                  fmt::format("{} needs messages of {} bytes; {} of {} takes at most {}; set "
                              "WEIR_SLOT_BYTES to a smaller value",
                              name, bytes, context.network->rail_text(rail), context.transport, most));
  }
  return {};
}

}  // namespace weir::matched
