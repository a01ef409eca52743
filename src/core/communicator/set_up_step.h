// SPDX-License-Identifier: Apache-2.0
/// Steps in which a rank that has met its peers sets its communicator up: if one fails, the other ranks are
/// told why. Otherwise they would see only that this rank has left, or that its process has ended.
///
/// Thread safety: that of Bootstrap.
/// Tests: tests/library/injected_faults_test.cc
#pragma once

#include <cstdint>
#include <utility>

#include "src/base/exception.h"
#include "src/core/bootstrap/bootstrap.h"

namespace weir::core {

/// Who finds out that settings are wrong.
enum class WrongSettings : uint8_t {
  all_find,  ///< every rank by itself, as where settings differ: only those who ask are told
  own_rank,  ///< this rank alone
};

/// Tells the other ranks of `bootstrap` that its rank has failed with `status`, within a second, unless they
/// know of a failure already. Returns what the caller of this rank should get.
Status tell_of_failure(Bootstrap& bootstrap, const Status& status,
                       WrongSettings settings = WrongSettings::all_find);

/// The result of `step`, which returns a Status; an exception becomes one.
template <typename Step>
Status set_up_step(Bootstrap& bootstrap, Step&& step) {
  const Status status = guarded(std::forward<Step>(step));
  return status.ok() ? status : tell_of_failure(bootstrap, status);
}

}  // namespace weir::core
