// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/config.h.
#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/core/communicator/queries.h"

#pragma GCC visibility push(default)
#include "weir/config.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

static_assert(static_cast<int>(SumOrder::run) == weirOrderRun);
static_assert(static_cast<int>(SumOrder::any) == weirOrderAny);
static_assert(static_cast<int>(SumOrder::ranks) == weirOrderRanks);

Status order(ncclComm* comm, int* order) {
  constexpr const char* kFunction = "weirCommOrder";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  if (order == nullptr) return null_argument(kFunction, "order");
  const auto found = core::order_of(*comm->core);
  WEIR_TRY(found.status());
  *order = static_cast<int>(*found);
  return {};
}

}  // namespace
}  // namespace weir::api

int weirCommOrder(ncclComm* comm, int* order) {
  return weir::api::report([&] { return weir::api::order(comm, order); });
}
