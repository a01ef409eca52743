// SPDX-License-Identifier: Apache-2.0
/// Collectives of fp32 arrays that are encoded before they travel (block_format.h, weir/quantized.h).
///
/// Only bytes travel, by the communicator's own all-gather and all-to-all; what is rounded, and in which
/// order sums are added, is decided here. So the bits depend neither on the plan nor on the transport.
/// Tests: tests/api/quantized_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/status.h"
#include "src/core/communicator/communicator.h"
#include "src/core/quantized/block_format.h"
#include "src/device/host_stream.h"

namespace weir::core {

/// Arrays of bytes, kept for the next call. Thread-safe.
class BytePool : public std::enable_shared_from_this<BytePool> {
 public:
  using Bytes = std::shared_ptr<std::byte>;
  BytePool() { idle_.reserve(kMostIdle); }  // so that give() never allocates
  /// An array with unspecified contents, which returns to the pool when it is no longer used.
  Bytes take(size_t bytes);

 private:
  struct Idle {
    std::unique_ptr<std::byte[]> array;
    size_t bytes = 0;
  };
  static constexpr size_t kMostIdle = 8;
  void give(Idle array);

  std::mutex mutex_;
  std::vector<Idle> idle_;  ///< the one that was used last is last
};

/// The arguments of a call; weir/quantized.h says what they mean. `input` and `output` belong to the user.
struct QuantizedCall {
  const float* input = nullptr;
  float* output = nullptr;
  size_t count = 0;
  BlockFormat format = BlockFormat::int8;
  uint64_t seed = 0;
};

/// Where a call runs: the communicator, its pool, and a stream, or null to return when it is done. The
/// caller sees to it that the stream lives until it has done what is queued.
struct QuantizedPlace {
  Communicator* communicator = nullptr;
  std::shared_ptr<BytePool> pool;
  device::HostStream* stream = nullptr;
};

/// Each: collective. Returns when queued, or, without a stream, when done. Errors of what is queued are those
/// of the stream.
Status quantized_all_gather(const QuantizedPlace& place, const QuantizedCall& call);
Status quantized_reduce_scatter(const QuantizedPlace& place, const QuantizedCall& call);
Status quantized_all_reduce(const QuantizedPlace& place, const QuantizedCall& call);

}  // namespace weir::core
