// SPDX-License-Identifier: Apache-2.0
/// An array of floats, aligned to cache lines and zeroed. Owns its memory; movable, not copyable.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "trainer/math/lanes.h"

namespace weir::trainer {

class Buffer {
 public:
  static constexpr Index kAlignment = 64;  ///< bytes

  Buffer() = default;
  /// Throws std::bad_alloc, as containers do.
  explicit Buffer(Index count) : count_(count) {
    const size_t bytes =
        (static_cast<size_t>(count) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes > 0 ? bytes : kAlignment)));
    if (data_ == nullptr) throw std::bad_alloc();
    clear();
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  Index size() const { return count_; }
  std::span<const float> values() const { return {data(), static_cast<size_t>(count_)}; }
  void clear() {
    if (count_ > 0) std::memset(data_.get(), 0, static_cast<size_t>(count_) * sizeof(float));
  }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };

  std::unique_ptr<float, Free> data_;
  Index count_ = 0;
};

}  // namespace weir::trainer
