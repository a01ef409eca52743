// SPDX-License-Identifier: Apache-2.0
#undef _FORTIFY_SOURCE  // its longjmp refuses to change to another stack

#include "tests/gpu/ptx/fiber.h"

#include <cstdint>

namespace weir::ptx {

void Fiber::prepare(void (*function)(void*), void* argument, std::byte* stack, size_t bytes) {
  function_ = function;
  argument_ = argument;
  getcontext(&first_);
  first_.uc_stack.ss_sp = stack;
  first_.uc_stack.ss_size = bytes;
  first_.uc_link = nullptr;
  const auto address = reinterpret_cast<uintptr_t>(this);
  makecontext(&first_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
  self->function_(self->argument_);
  self->ended_ = true;
  self->stop();
}

void Fiber::go_on() {
  if (_setjmp(there_) != 0) return;
  if (begun_) _longjmp(here_, 1);
  begun_ = true;
  swapcontext(&home_, &first_);
}

void Fiber::stop() {
  if (_setjmp(here_) == 0) _longjmp(there_, 1);
}

}  // namespace weir::ptx
