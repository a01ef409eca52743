// SPDX-License-Identifier: Apache-2.0
/// What all calls of a process share: the runtime, and the way errors leave the library.
///
/// Thread-safe.
#pragma once

#include <string_view>

#include "src/api/abi.h"
#include "src/core/communicator/runtime.h"
#include "weir/status.h"

namespace weir::api {

/// Made on first use (the environment is read then), never destroyed. A forked child gets one of its own.
core::Runtime& runtime();

/// Prints the line that says who answers, once per process, if NCCL_DEBUG asks for anything.
void say_version();

/// Makes the sentence the last error and a WARN line. in_progress is no error and leaves no sentence.
ncclResult_t report_error(const Status& status);

/// The code of a status; an error is reported.
inline ncclResult_t report(const Status& status) {
  if (status.ok()) [[likely]]
    return ncclSuccess;
  return report_error(status);
}

/// invalid_argument: an argument of `function` is NULL and may not be.
Status null_argument(const char* function, std::string_view argument);

/// For functions that exist so that programs load, and are not offered: invalid_usage, with what to do
/// instead.
Status not_offered(const char* function, const char* instead);
inline ncclResult_t refuse(const char* function, const char* instead) {
  return report(not_offered(function, instead));
}

}  // namespace weir::api
