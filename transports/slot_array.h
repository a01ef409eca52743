// SPDX-License-Identifier: Apache-2.0
/// The slots of a channel end in ordinary memory of this process.
/// Tests: tests/transports/cma_test.cc, tests/transports/tcp_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace weir {

/// `slots` areas of `bytes`, each aligned to 64 bytes. Uninitialized.
class SlotArray {
 public:
  SlotArray(uint32_t slots, uint32_t bytes)
      : stride_((size_t{bytes} + kAlign - 1) / kAlign * kAlign),
        bytes_(slots * stride_),
        memory_(static_cast<std::byte*>(operator new(bytes_, std::align_val_t(kAlign)))) {}

  std::byte* operator[](uint64_t slot) const { return memory_.get() + slot * stride_; }
  /// From the begin of slot 0 to the end of the last slot.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlign = 64;
  struct Free {
    void operator()(std::byte* memory) const { operator delete(memory, std::align_val_t(kAlign)); }
  };

  size_t stride_;
  size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace weir
