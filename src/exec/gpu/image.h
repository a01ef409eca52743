// SPDX-License-Identifier: Apache-2.0
/// Makes launches from programs, on the host. Pure; thread-safe.
/// Tests: tests/exec/gpu_image_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/exec/gpu/launch.h"
#include "src/exec/program.h"
#include "src/exec/work.h"

namespace weir::exec::gpu {

/// A program as contiguous bytes to be copied to a device, aligned to 32 bytes. Lanes without steps are
/// omitted.
struct Image {
  Bytes bytes;
  uint32_t places = 0;  ///< offset in bytes; the steps are at offset 0
  uint32_t lanes = 0;
  uint32_t lane_count = 0;
  uint32_t channels = 0;
};
Image image_of(const Program& program);

/// Sets the launch's pointers into a copy of the image in device memory.
void bind(Launch& launch, const Image& image, const std::byte* copy);

/// Sets the operation's fields. The tile is the smaller one of Work::tile_bytes and `tile_bytes` (the
/// capacity, as Binding::tile_bytes). An error if the buffers are not aligned to elements, or if the capacity
/// is less than one element.
Status set_work(Launch& launch, const Program& program, const Work& work, size_t tile_bytes);

/// Whether messages of the plan also order accesses to other memory: two lanes of a rank use the same memory
/// and one of them writes, or ranks read each other's memory. REQUIRES: a verified plan.
bool orders_memory(const ir::Plan& plan);

}  // namespace weir::exec::gpu
