// SPDX-License-Identifier: Apache-2.0
/// The machine under a conformance program: memory, streams and graphs of one kind of device.
/// WEIR_CONFORM_CUDA or WEIR_CONFORM_HIP says which runtime a program calls, loaded by name as by any
/// application; without either, buffers are host memory and streams weir's own.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <weir/stream.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conform/pool.h"

namespace weir::conform {

#if defined(WEIR_CONFORM_CUDA) || defined(WEIR_CONFORM_HIP)
inline constexpr bool kOnGpus = true;
#ifdef WEIR_CONFORM_HIP
inline constexpr const char* kRuntime = "libamdhip64.so.6";
inline constexpr const char* kPrefix = "hip";
#else
inline constexpr const char* kRuntime = "libcudart.so.13";
inline constexpr const char* kPrefix = "cuda";
#endif
#else
inline constexpr bool kOnGpus = false;
inline constexpr const char* kRuntime = "";
inline constexpr const char* kPrefix = "";
#endif

/// The runtime's call of that name without its prefix: "Malloc" is cudaMalloc or hipMalloc.
template <typename... Arguments>
int runtime(const char* name, Arguments... arguments) {
  void* const library = dlopen(kRuntime, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ADD_FAILURE() << dlerror(), -1;
  void* const function = dlsym(library, (std::string(kPrefix) + name).c_str());
  if (function == nullptr) return ADD_FAILURE() << dlerror(), -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

/// GPUs that ranks are spread over; 0 on host memory.
inline int gpus() {
  int count = 0;
  if constexpr (kOnGpus) {
    EXPECT_EQ(runtime("GetDeviceCount", &count), 0);
  }
  return count;
}
/// The calling thread works on this GPU from now on.
inline void choose_gpu([[maybe_unused]] int gpu) {
  if constexpr (kOnGpus) {
    EXPECT_EQ(runtime("SetDevice", gpu), 0);
  }
}

/// A stream of the GPU that is current, or a host stream. Flags are the runtime's: 1 does not wait for the
/// legacy default stream.
class Stream {
 public:
  explicit Stream(unsigned flags = 1) {
    if constexpr (kOnGpus) {
      EXPECT_EQ(runtime("StreamCreateWithFlags", &handle_, flags), 0);
    } else {
      EXPECT_EQ(weirStreamCreate(reinterpret_cast<weirStream_t*>(&handle_)), ncclSuccess);
    }
  }
  ~Stream() {
    wait();
    if constexpr (kOnGpus) {
      EXPECT_EQ(runtime("StreamDestroy", handle_), 0);
    } else {
      (void)weirStreamDestroy(static_cast<weirStream_t>(handle_));  // what failed there, again
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return static_cast<cudaStream_t>(handle_); }  // NOLINT
  void wait() const { wait_for(*this); }
  static void wait_for(cudaStream_t stream) {
    if constexpr (kOnGpus) {
      EXPECT_EQ(runtime("StreamSynchronize", static_cast<void*>(stream)), 0);
    } else if (stream != nullptr) {
      // What failed there is for the caller of the operation to look at.
      (void)weirStreamSynchronize(reinterpret_cast<weirStream_t>(stream));
    }
  }

 private:
  void* handle_ = nullptr;
};

/// Of the GPU that is current.
inline Pool& pool() {
  constexpr size_t kBytes = size_t{512} << 20;
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Pool>> pools;
  int gpu = 0;
  EXPECT_EQ(runtime("GetDevice", &gpu), 0);
  const std::lock_guard lock(mutex);
  std::unique_ptr<Pool>& of_gpu = pools[gpu];
  if (of_gpu == nullptr) {
    void* memory = nullptr;
    EXPECT_EQ(runtime("Malloc", &memory, kBytes), 0);
    of_gpu = std::make_unique<Pool>(memory, kBytes);
  }
  return *of_gpu;
}

/// Bytes in device memory of the current GPU, or on the host; filled and read in the order of a stream.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    const size_t room = bytes > 0 ? bytes : 1;
    if constexpr (kOnGpus) {
      pool_ = &pool();
      data_ = pool_->take(room);
    } else {
      data_ = std::malloc(room);
    }
  }
  ~Buffer() {
    if constexpr (kOnGpus) {
      pool_->give(data_);
    } else {
      std::free(data_);
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t bytes() const { return bytes_; }
  void write(const void* from, size_t bytes, cudaStream_t stream, size_t at = 0) const {
    move(data() + at, from, bytes, stream);
  }
  template <typename T>
  void write(const std::vector<T>& values, cudaStream_t stream) const {
    write(values.data(), values.size() * sizeof(T), stream);
  }
  void read(void* to, size_t bytes, cudaStream_t stream, size_t at = 0) const {
    move(to, data() + at, bytes, stream);
    Stream::wait_for(stream);
  }
  template <typename T>
  std::vector<T> read(size_t count, cudaStream_t stream) const {
    std::vector<T> values(count);
    read(values.data(), count * sizeof(T), stream);
    return values;
  }

 private:
  static void move(void* to, const void* from, size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return;
    if constexpr (kOnGpus) {
      constexpr int kEither = 4;  // the runtime looks where the addresses lie
      EXPECT_EQ(runtime("MemcpyAsync", to, from, bytes, kEither, static_cast<void*>(stream)), 0);
    } else {
      Stream::wait_for(stream);
      std::memcpy(to, from, bytes);
    }
  }

  const size_t bytes_;
  Pool* pool_ = nullptr;
  void* data_ = nullptr;
};

/// What a thread captured on a stream. REQUIRES: kOnGpus.
class Graph {
 public:
  static void begin(cudaStream_t stream) {
    constexpr int kThread = 1;  // other threads may do what they like
    EXPECT_EQ(runtime("StreamBeginCapture", static_cast<void*>(stream), kThread), 0);
  }
  explicit Graph(cudaStream_t stream) {
    EXPECT_EQ(runtime("StreamEndCapture", static_cast<void*>(stream), &graph_), 0);
    if constexpr (std::string_view(kPrefix) == "hip") {
      EXPECT_EQ(runtime("GraphInstantiate", &run_, graph_, static_cast<void**>(nullptr),
                        static_cast<char*>(nullptr), size_t{0}),
                0);
    } else {
      EXPECT_EQ(runtime("GraphInstantiate", &run_, graph_, 0ULL), 0);
      EXPECT_EQ(runtime("GraphUpload", run_, static_cast<void*>(stream)), 0);
    }
  }
  ~Graph() {
    EXPECT_EQ(runtime("GraphExecDestroy", run_), 0);
    EXPECT_EQ(runtime("GraphDestroy", graph_), 0);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const {
    EXPECT_EQ(runtime("GraphLaunch", run_, static_cast<void*>(stream)), 0);
  }

 private:
  void* graph_ = nullptr;
  void* run_ = nullptr;
};

}  // namespace weir::conform
