// SPDX-License-Identifier: Apache-2.0
/// Threads that the library starts. Every thread of the library is started here, since both a system without
/// more threads and an exception in a thread would otherwise end the process.
///
/// Thread-safe.
/// Tests: tests/base/service_thread_test.cc
#pragma once

#include <functional>
#include <thread>

#include "src/base/status.h"

namespace weir {

/// Starts a thread that handles none of the application's signals and runs `body`. `name`, of at most 15
/// characters, is what debuggers show.
///
/// No exception leaves `body`: `failed` gets what it means, on that thread, which then ends. What `failed`
/// itself throws is lost.
///
/// Errors: system_error if the system gives this process no more threads or memory; the sentence names the
/// limits.
Result<std::thread> start_thread(const char* name, std::function<void()> body,
                                 std::function<void(const Status&)> failed);

}  // namespace weir
