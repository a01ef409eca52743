// SPDX-License-Identifier: Apache-2.0
/// A process that uses a GPU, for tests: buffers on it, and ranks that call with its streams.
#pragma once

#include <numeric>
#include <vector>

#include "src/api/process.h"
#include "tests/api/ranks.h"
#include "tests/device/fake_gpu.h"

namespace weir::api {

using weir::testing::FakeGpu;
using weir::testing::FakeGpus;
using weir::testing::gpu;

/// The second GPU of the process, as lasting as the first.
inline FakeGpu& other_gpu() {
  static auto* const kGpu = new FakeGpu(1);
  return *kGpu;
}

/// While it lives, communicators are made that know the GPUs.
class UsesGpu : public ::testing::Test {
 protected:
  UsesGpu() {
    static FakeGpus gpus({&gpu(), &other_gpu()});
    runtime().set_gpus(&gpus);
  }
  ~UsesGpu() override { runtime().set_gpus(nullptr); }
};

class GpuStream {
 public:
  explicit GpuStream(FakeGpu& on = gpu()) : gpu_(on), stream_(*on.make_stream()) {}
  ~GpuStream() { EXPECT_TRUE(gpu_.destroy_stream(stream_).ok()); }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;
  operator cudaStream_t() const { return static_cast<cudaStream_t>(stream_); }  // NOLINT
  void wait() const { EXPECT_TRUE(gpu_.synchronize(stream_).ok()); }

 private:
  FakeGpu& gpu_;
  const device::GpuStream stream_;
};

/// Elements in device memory.
template <typename T>
class OnGpu {
 public:
  explicit OnGpu(size_t count, T value = T(), device::GpuMemory kind = device::GpuMemory::device)
      : count_(count), kind_(kind), data_(static_cast<T*>(*gpu().allocate(count * sizeof(T), kind))) {
    std::fill_n(gpu().inside(data_), count, value);
  }
  ~OnGpu() { EXPECT_TRUE(gpu().free(data_, kind_).ok()); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }
  /// element i becomes of(i), in the order of the stream.
  template <typename Of>
  void fill(cudaStream_t stream, Of of) const {
    gpu().run(stream, [at = gpu().inside(data_), count = count_, of] {
      for (size_t i = 0; i < count; ++i) at[i] = static_cast<T>(of(i));
    });
  }
  /// What is there once the stream has come so far.
  std::vector<T> read(cudaStream_t stream) const {
    EXPECT_TRUE(gpu().synchronize(stream).ok());
    const T* const at = gpu().inside(data_);
    return std::vector<T>(at, at + count_);
  }

 private:
  const size_t count_;
  const device::GpuMemory kind_;
  T* const data_;
};

/// The first element of `got` that is not of(i), as words; empty if all are right.
template <typename T, typename Of>
std::string wrong(const std::vector<T>& got, Of of) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != static_cast<T>(of(i)))
      return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
             std::to_string(static_cast<T>(of(i)));
  }
  return "";
}

}  // namespace weir::api
