// SPDX-License-Identifier: Apache-2.0

#include "src/base/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace weir {
namespace {

constexpr uint64_t kShortestNs = 100'000;  // the kernel allows no shorter ones

/// As in sched_setattr(2). Newer C libraries declare it, older ones do not, and <linux/sched/types.h> cannot
/// be used with the newer ones.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  ///< of ordinary threads: length of a time slice in nanoseconds
  uint64_t deadline = 0;
  uint64_t period = 0;
};
static_assert(sizeof(Attributes) == 48);

bool read(Attributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0;
}

bool write(Attributes& attributes) { return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0; }

}  // namespace

void ShortTimeSlice::ask() {
  if (asked_) return;
  asked_ = true;
  Attributes attributes;
  if (!read(attributes) || attributes.policy != SCHED_OTHER || attributes.runtime <= kShortestNs) return;
  const uint64_t former = std::exchange(attributes.runtime, kShortestNs);
  if (write(attributes)) former_ns_ = former;
}

void ShortTimeSlice::give_back() {
  asked_ = false;
  const uint64_t former = std::exchange(former_ns_, 0);
  Attributes attributes;
  if (former == 0 || !read(attributes) || attributes.runtime != kShortestNs) return;
  attributes.runtime = former;
  write(attributes);
}

}  // namespace weir
