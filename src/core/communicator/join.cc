// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/join.h"

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"

namespace weir::core {

Result<JoinResult> join(Runtime& runtime, const IdOrigin& from, const std::atomic<bool>& abort) {
  auto listener = runtime.listener(from.id.root);
  WEIR_TRY(listener.status());
  auto credentials = runtime.credentials(from.id.secret);
  WEIR_TRY(credentials.status());
  Bootstrap::Spec spec;
  spec.id = from.id;
  spec.tls = credentials->tls;
  spec.ranks = from.ranks;
  spec.rank = from.rank;
  spec.listener = *listener;
  spec.activities = &runtime.activities();
  spec.roots = &runtime.roots();
  spec.all_gathers = &runtime.all_gathers();
  spec.host = runtime.host();
  spec.timeouts = runtime.timeouts();
  spec.abort = &abort;
  const ActivityRegistry::JoiningNote note(runtime.activities(),
                                           {from.rank, from.ranks, from.id.root.text()});
  auto bootstrap = Bootstrap::join(spec);
  WEIR_TRY(bootstrap.status());
  return JoinResult{std::move(*listener), std::move(*bootstrap)};
}

Result<ParentBootstrap> ParentBootstrap::of(const Communicator& parent, const std::atomic<bool>& abort) {
  ParentBootstrap made;
  if (parent.lifecycle().revoked()) {
    auto fresh = Bootstrap::without(*parent.resources()->bootstrap, {}, &abort);
    WEIR_TRY(fresh.status());
    made.fresh_ = std::move(*fresh);
    made.used_ = made.fresh_.get();
    return made;
  }
  WEIR_TRY(parent.lifecycle().usable());
  made.used_ = parent.resources()->bootstrap.get();
  return made;
}

}  // namespace weir::core
