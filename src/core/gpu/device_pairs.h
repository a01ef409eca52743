// SPDX-License-Identifier: Apache-2.0
/// Sends and receives of a group on GPUs: those from the rank to itself become copies, the executor carries
/// out the others. Pure; thread-safe.
/// Tests: tests/core/device_pairs_test.cc
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
  std::vector<exec::gpu::PeerTransfer> pairs;
};

/// Splits the sends and receives among `operations`; `works` hold the buffers' addresses on the GPU.
/// Errors: invalid_usage if a send of the rank to itself has no receive of the same size, or vice versa.
Result<DevicePairs> pairs_of(std::span<const Operation> operations, std::span<const exec::Work> works,
                             Rank self);

/// Describes the operation of a message's tag: "a send of 8 bytes" or "operation #3".
std::string words_of_tag(uint64_t tag);

}  // namespace weir::core
