// SPDX-License-Identifier: Apache-2.0
/// The state of a process of this host.
/// Tests: tests/base/process_state_test.cc
#pragma once

#include <cstdint>

namespace weir {

/// The kernel's letter for the state of process `pid`, as in /proc/PID/stat: 'R', 'S', 'T' (stopped), 'Z' ...
/// '\0' means that there is no such process. A process that is ending is 'X': for a while the kernel shows it
/// as running, although it has closed its sockets.
char process_state(int32_t pid);

/// True for the state of a process that exists and has not ended.
inline bool is_alive(char state) { return state != '\0' && state != 'Z' && state != 'X'; }
/// True for the state of a process that a signal or a debugger has stopped.
inline bool is_stopped(char state) { return state == 'T' || state == 't'; }

}  // namespace weir
