// SPDX-License-Identifier: Apache-2.0
/// A function with a stack of its own that goes on where it stopped. Any host thread may let it go on, one at
/// a time.
///
/// Not thread-safe.
/// Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace weir::ptx {

class Fiber {
 public:
  /// Begins with the first go_on(). `stack` outlives the fiber.
  void prepare(void (*function)(void*), void* argument, std::byte* stack, size_t bytes);
  /// Returns when the fiber stops or has ended.
  void go_on();
  /// Called by the fiber itself.
  void stop();
  bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);

  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  // Only the first step needs contexts, which save the mask of signals by system calls.
  ucontext_t first_{}, home_{};
  jmp_buf here_{}, there_{};
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace weir::ptx
