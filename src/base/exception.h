// SPDX-License-Identifier: Apache-2.0
/// Exceptions of the standard library as values: out of memory above all. Nothing in weir throws on purpose,
/// but whatever allocates may. No exception may leave a call of the C interface or the body of a thread,
/// because the process would end without a sentence.
///
/// Thread-safe.
/// Tests: tests/base/exception_test.cc
#pragma once

#include <exception>
#include <utility>

#include "src/base/status.h"

namespace weir {

/// system_error: this process gets no more memory. Allocates nothing.
Status out_of_memory() noexcept;

/// What the exception that is being handled means: out_of_memory() for std::bad_alloc, system_error for
/// std::system_error, internal_error for any other. REQUIRES: called inside a handler.
Status status_of_exception() noexcept;

/// Runs `body`, which returns a Status; an exception becomes an error. The cancellation of a thread
/// (pthread_cancel) passes through.
template <typename Body>
Status guarded(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    if (std::current_exception() == nullptr) throw;  // the cancellation of a thread is none of C++'s
    return status_of_exception();
  }
}

/// The same, and tells `thrown` what an exception means, whose own exceptions are lost.
template <typename Body, typename Thrown>
Status guarded(Body&& body, Thrown&& thrown) {
  bool returned = false;
  Status status = guarded([&] {
    Status result = std::forward<Body>(body)();
    returned = true;
    return result;
  });
  if (!returned) {
    (void)guarded([&] {
      std::forward<Thrown>(thrown)(status);
      return Status();
    });
  }
  return status;
}

}  // namespace weir
