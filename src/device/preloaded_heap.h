// SPDX-License-Identifier: Apache-2.0
/// The heap of a program that was started with libweir_heap.so (src/heap, `weir run --shared-heap`): peers
/// can map it, so all large buffers of malloc are as if they were from ncclMemAlloc.
/// Tests: tests/heap/preload_test.py
#pragma once

#include "src/device/host_memory.h"

namespace weir::device {

/// Adds the heap to `registry`, where there is one. Errors: those of MemoryRegistry::adopt.
Status adopt_preloaded_heap(MemoryRegistry& registry);

}  // namespace weir::device
