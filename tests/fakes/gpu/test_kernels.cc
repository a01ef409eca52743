// SPDX-License-Identifier: Apache-2.0
// Kernels for tests of the stand-ins: see modules.h.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace {
struct AddArguments {
  const int* from;
  int* to;
  uint64_t count;
  int value;
};
struct MeetArguments {
  std::atomic<uint32_t>* arrived;
};
struct CrowdArguments {
  std::atomic<uint32_t>* here;  ///< blocks that run
  std::atomic<uint32_t>* most;  ///< largest number so far
  uint32_t awaited;
};
}  // namespace

extern "C" {

/// to[i] = from[i] + value, a share per block.
extern const size_t fake_add_argument_bytes = sizeof(AddArguments);
void fake_add(const void* argument, uint32_t block, uint32_t grid) {
  const auto& add = *static_cast<const AddArguments*>(argument);
  for (uint64_t i = block; i < add.count; i += grid) add.to[i] = add.from[i] + add.value;
}

/// Ends when all blocks have come.
extern const size_t fake_meet_argument_bytes = sizeof(MeetArguments);
void fake_meet(const void* argument, uint32_t, uint32_t grid) {
  const auto& meet = *static_cast<const MeetArguments*>(argument);
  meet.arrived->fetch_add(1);
  while (meet.arrived->load() < grid) std::this_thread::yield();
}

/// Counts the blocks that run at the same time; none ends before so many have.
extern const size_t fake_crowd_argument_bytes = sizeof(CrowdArguments);
void fake_crowd(const void* argument, uint32_t, uint32_t) {
  const auto& crowd = *static_cast<const CrowdArguments*>(argument);
  const uint32_t here = crowd.here->fetch_add(1) + 1;
  uint32_t most = crowd.most->load();
  while (most < here && !crowd.most->compare_exchange_weak(most, here)) continue;
  while (crowd.most->load() < crowd.awaited) std::this_thread::yield();
  crowd.here->fetch_sub(1);
}
}
