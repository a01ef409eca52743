// SPDX-License-Identifier: Apache-2.0
/// Whether a process of this host runs.
#pragma once

#include <cstdint>

namespace weir {

/// The kernel's letter for its state, as in /proc/PID/stat: 'R', 'S', 'T' (stopped), 'Z' ... '\0': there is
/// no such process.
char process_state(int32_t pid);

/// Of such a letter: it is there, and has not ended.
inline bool is_alive(char state) { return state != '\0' && state != 'Z' && state != 'X'; }
/// By a signal or a debugger.
inline bool is_stopped(char state) { return state == 'T' || state == 't'; }

}  // namespace weir
