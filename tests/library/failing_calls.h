// SPDX-License-Identifier: Apache-2.0
/// Makes the n-th call of a function of the system fail, whichever thread of the process makes it.
///
/// A program that is linked with failing_calls.cc has its own malloc, operator new, mmap, and so on, which
/// all libraries of the process use. They pass calls on to those of the C library, or of a sanitizer. What
/// the C library calls inside itself (the stack of a thread, the file of a stream) does not come by here, and
/// calls of hwloc do not fail, because it would crash.
///
/// Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weir::testing {

enum class Call : uint8_t {
  allocate,
  map,
  make_thread,
  make_socket,
  open_file,
  make_memory_file,
  make_event
};
inline constexpr std::array kCalls = {Call::allocate,    Call::map,       Call::make_thread,
                                      Call::make_socket, Call::open_file, Call::make_memory_file,
                                      Call::make_event};

const char* name(Call call);

/// What came of it.
struct Injected {
  long calls = 0;       ///< calls of that kind while it was armed
  bool failed = false;  ///< whether one of them was made to fail
};

/// The `number`-th of these calls from now on fails, and only that; 0: none.
void fail_call(Call call, long number);
/// A place from which a call is made: a hash of the return addresses up to it. The same in processes that
/// were forked from one.
using Site = uint64_t;
/// None of these calls fails; their sites go to `sites`, in the order of the calls, as many as fit.
void record_sites(Call call, std::span<Site> sites);
/// The first call from that site fails, and only that.
void fail_site(Call call, Site site);
/// Ends that.
Injected stop_failing();
/// Where the last one failed: lines for addr2line, to standard error.
void print_where();

}  // namespace weir::testing
