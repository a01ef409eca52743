// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/join.h"

#include <optional>

#include "src/base/exception.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"

namespace weir::core {

namespace {

/// The credentials for a root. A rank that only declines does without TLS where its settings of TLS are
/// wrong.
Result<Credentials> credentials_for(const Runtime& runtime, const UniqueId& id, bool declines) {
  auto credentials = runtime.credentials(id.secret);
  return declines && !credentials.ok() ? Result<Credentials>(Credentials(id.secret)) : credentials;
}

/// All but the listener. `declines`: only what it takes to tell a root why this rank cannot join.
Result<Bootstrap::Spec> spec_of(Runtime& runtime, const IdOrigin& from, bool declines) {
  auto credentials = credentials_for(runtime, from.id, declines);
  WEIR_TRY(credentials.status());
  Bootstrap::Spec spec;
  spec.id = from.id;
  if (spec.id.fixed) {
    const Status completed = runtime.complete(spec.id);
    if (!declines) WEIR_TRY(completed);
  }
  spec.tls = credentials->tls;
  spec.ranks = from.ranks;
  spec.rank = from.rank;
  spec.activities = &runtime.activities();
  spec.roots = &runtime.roots();
  spec.all_gathers = &runtime.all_gathers();
  spec.host = runtime.host();
  spec.timeouts = runtime.timeouts();
  if (from.other_ids.empty()) return spec;
  std::vector<UniqueId> ids{from.id};
  ids.insert(ids.end(), from.other_ids.begin(), from.other_ids.end());
  const int roots = static_cast<int>(ids.size());
  const int place = root_of(from.rank, roots, from.ranks);
  const UniqueId& id = ids[static_cast<size_t>(place)];
  auto own = credentials_for(runtime, id, declines);
  WEIR_TRY(own.status());
  spec.own_root = OwnRoot{id, own->tls, place, roots, digest_of(ids)};
  return spec;
}

}  // namespace

void decline(Runtime& runtime, const IdOrigin& from, const Status& why) {
  (void)guarded([&]() -> Status {
    auto spec = spec_of(runtime, from, true);
    WEIR_TRY(spec.status());
    Bootstrap::decline(*spec, why);
    return {};
  });
}

Result<JoinResult> join(Runtime& runtime, const IdOrigin& from, const std::atomic<bool>& abort) {
  std::optional<Bootstrap::Spec> spec;
  std::optional<ActivityRegistry::JoiningNote> note;
  const Status ready = guarded([&]() -> Status {
    WEIR_TRY(runtime.pretended_cluster().status());  // a wrong one is told before others wait
    auto made = spec_of(runtime, from, false);
    WEIR_TRY(made.status());
    spec = std::move(*made);
    spec->abort = &abort;
    auto listener = runtime.listener(spec->id.has_own_address() ? spec->id.own : from.id.root);
    WEIR_TRY(listener.status());
    spec->listener = std::move(*listener);
    const SocketAddress root = spec->own_root ? spec->own_root->id.root : from.id.root;
    note.emplace(runtime.activities(), ActivityRegistry::Joining{from.rank, from.ranks, root.text()});
    return {};
  });
  if (!ready.ok()) decline(runtime, from, ready);
  WEIR_TRY(ready);
  auto bootstrap = Bootstrap::join(*spec);
  WEIR_TRY(bootstrap.status());
  return JoinResult{std::move(spec->listener), std::move(*bootstrap)};
}

Result<ParentBootstrap> ParentBootstrap::of(const Communicator& parent, const std::atomic<bool>& abort) {
  ParentBootstrap made;
  if (parent.resources() != nullptr) parent.resources()->wait_idle();
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
