// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/failures.h.
#include <fmt/format.h>

#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/core/communicator/queries.h"

#pragma GCC visibility push(default)
#include "weir/failures.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

int number(core::Presence presence) {
  switch (presence) {
    case core::Presence::present: return weirRankPresent;
    case core::Presence::left: return weirRankLeft;
    case core::Presence::silent: return weirRankSilent;
    case core::Presence::dead: return weirRankDead;
  }
  return weirRankSilent;
}

Status rank_states(ncclComm* comm, int* states) {
  constexpr const char* kFunction = "weirCommRankStates";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  if (states == nullptr) return null_argument(kFunction, "states");
  const auto presences = core::presences_of(*comm->core);
  WEIR_TRY(presences.status());
  for (const core::Presence presence : *presences) *states++ = number(presence);
  return {};
}

Status set_stuck_timeout(ncclComm* comm, long long milliseconds) {
  constexpr const char* kFunction = "weirCommSetStuckTimeout";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  if (milliseconds < 0)
    return {Code::invalid_argument,
            fmt::format("{} : milliseconds is {}; expected 0 or more", kFunction, milliseconds)};
  return core::set_stuck_timeout(*comm->core, milliseconds);
}

}  // namespace
}  // namespace weir::api

int weirCommSetStuckTimeout(ncclComm* comm, long long milliseconds) {
  return weir::api::report([&] { return weir::api::set_stuck_timeout(comm, milliseconds); });
}

int weirCommRankStates(ncclComm* comm, int* states) {
  return weir::api::report([&] { return weir::api::rank_states(comm, states); });
}
