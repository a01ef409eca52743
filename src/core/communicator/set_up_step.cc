// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/set_up_step.h"

#include <fmt/format.h>

#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {

Status tell_of_failure(Bootstrap& bootstrap, const Status& status, WrongSettings settings) {
  Activity& own = bootstrap.activity();
  const Rank rank = bootstrap.rank();
  if (own.failed() || status.code() == Code::remote_error) return status;
  Status told = status;
  (void)guarded([&]() -> Status {
    if (status.is_shortage()) {
      told = bootstrap.watchdog().explain(rank, status);
      return {};
    }
    const Failure failure{
        rank,
        Status(Code::remote_error,
               fmt::format("{} cannot set up the communicator: {}",
                           bootstrap.peers()[static_cast<size_t>(rank)].describe(rank), status.message()))};
    const bool all_find = status.code() != Code::system_error && status.code() != Code::internal_error &&
                          settings == WrongSettings::all_find;
    if (!all_find) return bootstrap.watchdog().fail(failure);
    own.fail(failure);
    return {};
  });
  return told;
}

}  // namespace weir::core
