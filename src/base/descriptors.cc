// SPDX-License-Identifier: Apache-2.0

#include "src/base/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "src/base/log.h"

namespace weir {
namespace {

/// The approximate number of open descriptors: the kernel gives a new one the lowest free number.
size_t open_descriptors(size_t limit) {
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (lowest < 0) return limit;
  close(lowest);
  return static_cast<size_t>(lowest);
}

}  // namespace

void allow_descriptors(size_t more) {
  static std::mutex mutex;  // makes reading and raising the limit one step
  const std::lock_guard lock(mutex);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t wanted = open_descriptors(limit.rlim_cur) + more;
  const rlim_t before = limit.rlim_cur;
  if (wanted <= before || limit.rlim_max <= before) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
    WEIR_INFO(init, "raised the limit of open files (ulimit -n) of this process to {}, from {}",
              limit.rlim_cur, before);
}

}  // namespace weir
