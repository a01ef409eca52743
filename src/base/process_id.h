// SPDX-License-Identifier: Apache-2.0
/// The identity of a process, by which other processes of the same machine find out whether it still exists.
///
/// A number alone says little: it is another one in another pid namespace, and is given again to others. So
/// it goes with the namespace and the time at which the process started. Processes of another pid namespace
/// are looked for by a Unix socket that announce_process() opens and that the kernel removes with the process
/// (processes of the same network namespace see it). Sockets of other users than root and the own one prove
/// nothing.
///
/// Thread-safe. Nothing blocks.
/// Tests: tests/base/process_id_test.cc
#pragma once

#include <cstdint>

namespace weir {

/// A plain value, to be sent as it is.
struct ProcessId {
  uint64_t kernel = 0;     ///< kernel_identity(); 0: the process is not known
  uint64_t pid_space = 0;  ///< its pid and time namespaces, by which `pid` and `start` count
  uint64_t net_space = 0;  ///< its network namespace
  uint64_t start = 0;      ///< when it started, in ticks of the kernel; 0: not known
  int32_t pid = 0;         ///< its number in its own namespace
  uint32_t announced = 0;  ///< 1: it has opened its socket

  bool operator==(const ProcessId&) const = default;
};

/// What the kernel says of a process.
enum class ProcessState : uint8_t {
  unknown,  ///< nothing: it is on another machine, or hidden by namespaces
  runs,     ///< it exists
  stopped,  ///< a signal or a debugger has stopped it
  gone,     ///< it has ended; its parent may not have taken note of it yet
};

/// That of this process.
ProcessId own_process_id();

/// Opens the socket by which processes of other pid namespaces see that this one exists, once per process; it
/// stays open. Takes one descriptor. Without one nothing happens, and own_process_id() says so.
void announce_process();
/// Makes room at the socket: the kernel keeps the connections of those who have looked until it is called.
/// The listener's thread does.
void let_onlookers_go();
/// Closes the socket that a forked child has inherited from its parent.
void forget_announced_parent();

/// What has become of a process.
ProcessState state_of(const ProcessId& process);

}  // namespace weir
