// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/root_links.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "src/base/exception.h"
#include "src/core/bootstrap/shares.h"

namespace weir::core {
namespace {

/// Time to tell the first root of a failure.
constexpr int64_t kTellFirstMs = 1000;

}  // namespace

Result<std::unique_ptr<RootLinks>> RootLinks::open(const Bootstrap::Spec& spec,
                                                   const root_wire::Hello& hello) {
  const bool several = spec.own_root.has_value();
  const UniqueId& id = several ? spec.own_root->id : spec.id;
  const Credentials credentials = several ? Credentials(id.secret, spec.own_root->tls) : spec.credentials();
  // Made before: where memory is missing for it, the root must not see a connection that ends without a word.
  std::unique_ptr<RootLinks> links(new RootLinks(spec, hello));
  auto own = RootLink::open(id, credentials, hello, spec.timeouts, spec.abort);
  if (!own.ok() && hello.root != 0 && !own.status().is_shortage()) {
    // Without this the first root, and so the others, would not hear of it before they give up.
    (void)guarded([&]() -> Status {
      auto first = open_first(spec, hello, kTellFirstMs);
      WEIR_TRY(first.status());
      (*first)->leave(own.status());
      return {};
    });
  }
  WEIR_TRY(own.status());
  links->own_ = std::move(*own);
  return links;
}

/// While this rank connects it does not answer its own root, which takes it for stopped after
/// root_wire::silence_ms().
Result<std::unique_ptr<RootLink>> RootLinks::open_first(const Bootstrap::Spec& spec, root_wire::Hello hello,
                                                        int64_t limit_ms) {
  Timeouts brief = spec.timeouts;
  brief.peer_ms = std::min(brief.peer_ms, limit_ms);
  hello.nonce = spec.id.nonce;
  hello.purpose = root_wire::Purpose::relays;
  return RootLink::open(spec.id, spec.credentials(), hello, brief, spec.abort);
}

Status RootLinks::serve(int wait_ms) {
  if (!own_->relays()) {
    WEIR_TRY(own_->serve(wait_ms));
    if (!own_->relays()) return {};
  }
  if (first_ == nullptr) {
    auto first = open_first(spec_, hello_, spec_.timeouts.peer_ms / 2);
    WEIR_TRY(first.status());
    first_ = std::move(*first);
    wait_ms = 0;
  }
  std::array<pollfd, 2> events{own_->events(), first_->events()};
  const bool pending = own_->pending() || first_->pending();
  poll(events.data(), events.size(), pending ? 0 : wait_ms);
  WEIR_TRY(own_->serve(0));
  for (const Bytes& frame : own_->take_relayed()) first_->send(frame);
  WEIR_TRY(first_->serve(0));
  for (const Bytes& frame : first_->take_relayed()) own_->send(frame);
  return {};
}

void RootLinks::leave(const Status& status) {
  own_->leave(status);
  const bool elsewhere = hello_.root != 0;
  if (!elsewhere) return;
  // What its own root has said, the relay tells; what this rank has found, its own root may not know.
  if (first_ == nullptr && !status.ok() && (own_->relays() || !own_->was_told()))
    (void)guarded([&]() -> Status {
      auto first = open_first(spec_, hello_, kTellFirstMs);
      WEIR_TRY(first.status());
      first_ = std::move(*first);
      return {};
    });
  if (first_ != nullptr) first_->leave(status);
}

}  // namespace weir::core
