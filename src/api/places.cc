// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/places.h.
#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/core/communicator/queries.h"

#pragma GCC visibility push(default)
#include "weir/places.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

Status places(ncclComm* comm, weirPlace_t* places) {
  constexpr const char* kFunction = "weirCommPlaces";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  if (places == nullptr) return null_argument(kFunction, "places");
  const auto found = core::places_of(*comm->core);
  WEIR_TRY(found.status());
  for (const core::RankPlace& place : *found) *places++ = {place.host, place.leaf};
  return {};
}

}  // namespace
}  // namespace weir::api

int weirCommPlaces(ncclComm* comm, weirPlace_t* places) {
  return weir::api::report([&] { return weir::api::places(comm, places); });
}
