// SPDX-License-Identifier: Apache-2.0

#include "src/api/pointers.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace weir::api {

Status check_buffer(const char* function, const char* name, const void* buffer, size_t bytes) {
  if (bytes == 0) return {};
  auto* const first = static_cast<char*>(const_cast<void*>(buffer));
  char ends[2];
  const iovec here{ends, sizeof(ends)};
  const iovec there[] = {{first, 1}, {first + bytes - 1, 1}};
  const ssize_t got = process_vm_readv(getpid(), &here, 1, there, 2, 0);
  if (got == 2 || (got < 0 && errno != EFAULT)) return {};
  return {Code::invalid_argument,
          fmt::format(
              "{} : {} {} is not {} bytes of memory of this process: its {} byte is not there; was it freed?",
              function, name, fmt::ptr(buffer), bytes, got == 1 ? "last" : "first")};
}

}  // namespace weir::api
