// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/admission.h"

#include <algorithm>

namespace weir::core {

bool Admission::fits(const Load& load) const {
  if (aborted_ || outstanding_.operations == 0) return true;
  return (limits_.operations == 0 || outstanding_.operations + load.operations <= limits_.operations) &&
         (limits_.bytes == 0 || outstanding_.bytes + load.bytes <= limits_.bytes);
}

void Admission::enter(const Load& load) {
  std::unique_lock lock(mutex_);
  if (!fits(load)) {
    ++counters_.waits;
    left_.wait(lock, [&] { return limits_.flushes ? aborted_ || outstanding_.operations == 0 : fits(load); });
  }
  outstanding_.bytes += load.bytes;
  outstanding_.operations += load.operations;
  counters_.most_bytes = std::max(counters_.most_bytes, outstanding_.bytes);
  counters_.most_operations = std::max(counters_.most_operations, outstanding_.operations);
}

void Admission::leave(const Load& load) {
  {
    std::lock_guard lock(mutex_);
    outstanding_.bytes -= load.bytes;
    outstanding_.operations -= load.operations;
  }
  left_.notify_all();
}

void Admission::abort() {
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  left_.notify_all();
}

Admission::Counters Admission::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

namespace {

/// Whether the larger buffer has a block per rank.
bool has_blocks(Collective kind) {
  switch (kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter: return true;
    default: return false;
  }
}

}  // namespace

Admission::Load load_of(std::span<const Operation> operations, int ranks) {
  Admission::Load load;
  for (const Operation& operation : operations) {
    const uint64_t blocks = has_blocks(kind_of(operation)) ? static_cast<uint64_t>(ranks) : 1;
    load.bytes += bytes_of(operation) * blocks;
  }
  load.operations = operations.size();
  return load;
}

}  // namespace weir::core
