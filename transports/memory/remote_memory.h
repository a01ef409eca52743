// SPDX-License-Identifier: Apache-2.0
/// Reads the memory of another process through the kernel (process_vm_readv), without a mapping and without
/// help from its owner.
///
/// The kernel allows this between processes that may trace each other. explain_refusal() returns the reason
/// for a refusal.
///
/// Thread safety: values.
/// Tests: tests/transports/cma_test.cc
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace weir {

/// An address in another process.
using RemoteAddress = uint64_t;

/// One area to copy from the other process to this one.
struct RemotePart {
  void* into = nullptr;
  RemoteAddress from = 0;
  size_t bytes = 0;
};

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  pid_t pid() const { return pid_; }
  /// Copies at most 8 parts in order; parts of 0 bytes are skipped. Returns 0 or the errno: EFAULT if an
  /// address is not mapped (any more), ESRCH if the process has ended, EPERM if the kernel forbids it.
  int read(std::initializer_list<RemotePart> parts) const;

 private:
  pid_t pid_;
};

/// Inode of this process's pid namespace; 0 if it cannot be read.
uint64_t pid_namespace();

/// One sentence with the reason why process `pid` could not be read, and the remedy. `error` is from
/// RemoteMemory::read.
std::string explain_refusal(pid_t pid, int error);

}  // namespace weir
