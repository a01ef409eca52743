// SPDX-License-Identifier: Apache-2.0
/// Launches from programs: the host's part. Pure; thread-safe.
#pragma once

#include "algorithms/ir/plan.h"
#include "src/base/bytes.h"
#include "src/exec/gpu/launch.h"
#include "src/exec/program.h"
#include "src/exec/work.h"
#include "weir/status.h"

namespace weir::exec::gpu {

/// A program as one run of bytes, to be copied to a device, aligned to 32 bytes. Lanes without steps are left
/// out.
struct Image {
  Bytes bytes;
  uint32_t places = 0;  ///< offsets in bytes; steps are at 0
  uint32_t lanes = 0;
  uint32_t lane_count = 0;
  uint32_t channels = 0;
};
Image image_of(const Program& program);

/// Points the launch at a copy of the image in memory of its device.
void bind(Launch& launch, const Image& image, const std::byte* copy);

/// Sets what is of the operation, with tiles as Work says and `tile_bytes` has room for
/// (Binding::tile_bytes). An error if the buffers are not aligned to elements, or if there is room for no
/// element.
Status set_work(Launch& launch, const Program& program, const Work& work, size_t tile_bytes);

/// Whether messages of the plan order more than their own bytes: two lanes of a rank use the same memory, one
/// of them writing, or ranks read each other's. REQUIRES: a verified plan.
bool orders_memory(const ir::Plan& plan);

}  // namespace weir::exec::gpu
