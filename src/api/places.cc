/// The C function of weir/places.h.
#include <fmt/format.h>

#include "src/api/handle.h"
#include "src/api/process.h"

#pragma GCC visibility push(default)
#include "weir/places.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

constexpr const char* kFunction = "weirCommPlaces";

Status places(ncclComm* comm, weirPlace_t* places) {
  const Entry entry(comm);
  if (!entry) return explain_no_entry(comm, kFunction);
  if (places == nullptr)
    return {Code::invalid_argument, fmt::format("{} : places argument is NULL", kFunction)};
  const auto found = comm->core->places();
  WEIR_TRY(found.status());
  for (const core::RankPlace& place : *found) *places++ = {place.host, place.leaf};
  return {};
}

}  // namespace
}  // namespace weir::api

int weirCommPlaces(ncclComm* comm, weirPlace_t* places) {
  return weir::api::report(weir::api::places(comm, places));
}
