// SPDX-License-Identifier: Apache-2.0
/// What all calls of a process share: the runtime, and the reporting of errors.
///
/// Thread-safe.
/// Tests: tests/api/life_test.cc
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

#include "src/api/abi.h"
#include "src/base/exception.h"
#include "src/base/status.h"
#include "src/core/communicator/runtime.h"
#include "src/net/tls/tls_settings.h"

namespace weir::api {

/// The runtime: made on first use, which reads the environment, and never destroyed. A forked child gets its
/// own.
core::Runtime& runtime();

/// Says how communicators made from now on are encrypted, in this process and in children that it forks;
/// nullopt: as the environment says.
void set_encryption(std::optional<TlsSettings> settings);

/// Logs the library's version, once per process, if NCCL_DEBUG enables the log.
void say_version();

/// Stores the message as the last error and logs it at WARN, except for in_progress, which is not an error.
/// Throws nothing: without memory, only the code is left.
ncclResult_t report_error(const Status& status) noexcept;

/// The code of a status; reports an error.
inline ncclResult_t report(const Status& status) {
  if (status.ok()) [[likely]]
    return ncclSuccess;
  return report_error(status);
}

/// Reports what `call` returns. No exception leaves it; one is reported as an error.
template <std::invocable Call>
ncclResult_t report(Call&& call) {
  return report(guarded(std::forward<Call>(call)));
}

/// invalid_argument: an argument of `function` is NULL, but must not be.
Status null_argument(const char* function, std::string_view argument);

/// For functions that exist only so that programs load: invalid_usage, with what to use instead.
Status not_offered(const char* function, const char* instead);
inline ncclResult_t refuse(const char* function, const char* instead) {
  return report([&] { return not_offered(function, instead); });
}

}  // namespace weir::api
