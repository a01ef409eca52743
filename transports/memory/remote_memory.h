// SPDX-License-Identifier: Apache-2.0
/// Reading the memory of another process through the kernel (process_vm_readv): no mapping, no help from its
/// owner.
///
/// The kernel allows it between processes that may trace each other. explain_refusal says why it did not.
///
/// Thread safety: values.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace weir {

/// Where something lies in another process.
using RemoteAddress = uint64_t;

/// One area to copy from there to here.
struct RemotePart {
  void* into = nullptr;
  RemoteAddress from = 0;
  size_t bytes = 0;
};

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  pid_t pid() const { return pid_; }
  /// Copies all parts, one after the other; parts of 0 bytes are skipped. At most 8. Returns 0 or the errno:
  /// EFAULT when some of it is not there (any more), ESRCH when the process is gone, EPERM when the kernel
  /// does not allow it.
  int read(std::initializer_list<RemotePart> parts) const;

 private:
  pid_t pid_;
};

/// The inode of this process's pid namespace; 0 where it cannot be read.
uint64_t pid_namespace();

/// A sentence about why process `pid` could not be read, and what helps. `error` is from RemoteMemory::read.
std::string explain_refusal(pid_t pid, int error);

}  // namespace weir
