// SPDX-License-Identifier: Apache-2.0
// Communicators without some ranks of their parent, which may have failed.
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/join.h"
#include "src/core/communicator/resources.h"

namespace weir::core {

Result<JoinResult> join(Runtime& /*runtime*/, const ShrinkOrigin& from, const std::atomic<bool>& abort) {
  Communicator& parent = *from.parent;
  if (parent.resources() != nullptr) parent.resources()->wait_idle();
  if (parent.lifecycle().phase() == Lifecycle::Phase::suspended) return suspended_status();
  if (parent.resources() == nullptr) {
    const Status why = parent.state();
    return Status(Code::invalid_usage,
                  "the communicator was never connected to its ranks and cannot be shrunk" +
                      (why.ok() ? std::string() : ": " + why.message()));
  }
  if (!from.after_failure && !parent.lifecycle().revoked()) WEIR_TRY(parent.lifecycle().usable());
  auto rest = Bootstrap::without(*parent.resources()->bootstrap, from.excluded, &abort);
  WEIR_TRY(rest.status());
  return JoinResult{parent.resources()->listener, std::move(*rest)};
}

}  // namespace weir::core
