// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/kernel_read.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "transports/memory/memory_owner.h"
#include "transports/slot_array.h"

namespace weir {
namespace {

constexpr size_t kBytes = size_t{64} << 10;

/// Time of two copies through shared memory, the second of lines that another core has written, in copies
/// within a cache: about 2.3 as measured on an Intel Xeon and an AMD EPYC (Zen 3).
constexpr double kTwoCopies = 2.5;

/// Nanoseconds of the fastest of a few calls: others may take the core meanwhile.
template <typename Call>
double fastest(const Call& call) {
  constexpr int kTries = 8;
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; ++i) {
    const auto begin = now_ns();
    call();
    best = std::min(best, static_cast<double>(now_ns() - begin));
  }
  return best;
}

bool measure() {
  const SlotArray slots(2, kBytes);
  std::memset(slots[0], 1, slots.bytes());
  bool read = true;
  const double by_kernel = fastest([&] {
    read =
        read && read_memory(MemoryOwner::self(), reinterpret_cast<RemoteAddress>(slots[0]), slots[1], kBytes);
  });
  const double by_copy = fastest([&] {
    std::memcpy(slots[1], slots[0], kBytes);
    asm volatile("" : : "r"(slots[1]) : "memory");  // the copy has a reader
  });
  const bool pay = read && by_kernel < kTwoCopies * by_copy;
  WEIR_INFO(p2p,
            "64 KiB are read through the kernel in {:.1f} us and copied in {:.1f} us: ranks of a host {}",
            by_kernel / 1e3, by_copy / 1e3,
            pay ? "read large messages where they are" : "copy large messages through shared memory");
  return pay;
}

}  // namespace

bool kernel_reads_pay() {
  static const bool pay = measure();
  return pay;
}

}  // namespace weir
