// SPDX-License-Identifier: Apache-2.0
/// Sends and receives of a group on GPUs: those to the rank itself are copies, the others are for the
/// executor. Pure; thread-safe.
#pragma once

#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/exec/gpu/queued.h"

namespace weir::core {

struct DevicePairs {
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    size_t bytes = 0;
  };
  std::vector<Copy> copies;
  std::vector<exec::gpu::Pair> pairs;
};

/// `works` say where the GPU finds the buffers of the operations; what is no send or receive is passed over.
/// Errors: invalid_usage where a send to the rank itself has no receive of as many bytes, or the reverse.
Result<DevicePairs> pairs_of(std::span<const Operation> operations, std::span<const exec::Work> works,
                             Rank self);

/// "a send of 8 bytes" or "operation #3": what a message's tag is of.
std::string words_of_tag(uint64_t tag);

}  // namespace weir::core
