// SPDX-License-Identifier: Apache-2.0
/// The calls of a program that uses GPUs itself while weir is tested: functions of CUDA's or HIP's runtime,
/// whose names differ only in a prefix. WEIR_TEST_HIP selects HIP.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "src/device/gpus.h"

namespace weir::device {

#ifdef WEIR_TEST_HIP
inline constexpr bool kIsHip = true;
inline constexpr const char* kRuntime = "libamdhip64.so.6";
inline constexpr const char* kDriver = "libamdhip64.so.6";
inline std::unique_ptr<Gpus> make_gpus() { return make_hip_gpus(); }
#else
inline constexpr bool kIsHip = false;
inline constexpr const char* kRuntime = "libcudart.so.13";
inline constexpr const char* kDriver = "libcuda.so.1";
inline std::unique_ptr<Gpus> make_gpus() { return make_cuda_gpus(); }
#endif

/// The call "Malloc" is cudaMalloc or hipMalloc; the driver is loaded by the first.
template <typename... Arguments>
int user(const char* name, Arguments... arguments) {
  void* const runtime = dlopen(kRuntime, RTLD_NOW | RTLD_LOCAL);
  if (runtime == nullptr) return ADD_FAILURE() << dlerror(), -1;
  void* const function = dlsym(runtime, (std::string(kIsHip ? "hip" : "cuda") + name).c_str());
  if (function == nullptr) return ADD_FAILURE() << dlerror(), -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

inline GpuStream user_stream(unsigned flags = 0) {
  GpuStream stream = nullptr;
  EXPECT_EQ(user("StreamCreateWithFlags", &stream, flags), 0);
  return stream;
}

/// An event of the program.
class UserEvent {
 public:
  UserEvent() { EXPECT_EQ(user("EventCreateWithFlags", &event_, 2u), 0); }
  ~UserEvent() { EXPECT_EQ(user("EventDestroy", event_), 0); }
  UserEvent(const UserEvent&) = delete;
  UserEvent& operator=(const UserEvent&) = delete;
  operator void*() const { return event_; }

 private:
  void* event_ = nullptr;
};

/// A graph of the program.
class UserGraph {
 public:
  /// Makes the graph from the operations captured on the stream.
  explicit UserGraph(GpuStream stream) : code_(user("StreamEndCapture", stream, &graph_)) {
    if (code_ != 0) return;
    const int made = user("GraphInstantiate", &run_, graph_, static_cast<void**>(nullptr),
                          static_cast<char*>(nullptr), size_t{0});
    EXPECT_EQ(made, 0);
  }
  ~UserGraph() {
    if (code_ != 0) return;
    EXPECT_EQ(user("GraphExecDestroy", run_), 0);
    EXPECT_EQ(user("GraphDestroy", graph_), 0);
  }
  UserGraph(const UserGraph&) = delete;
  UserGraph& operator=(const UserGraph&) = delete;
  int code() const { return code_; }
  void launch(GpuStream stream) { EXPECT_EQ(user("GraphLaunch", run_, stream), 0); }

 private:
  void* graph_ = nullptr;
  void* run_ = nullptr;
  const int code_;
};

/// The first GPU of a process that uses it, or nothing and a failure.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(user("SetDevice", 0), 0);
    auto found = gpus_->at(0);
    ASSERT_TRUE(found.ok()) << found.status().message();
    gpu_ = *found;
  }
  void TearDown() override { unsetenv("WEIR_FAKE_GPU_FAULTS"); }

  template <typename T>
  T* made(size_t count, GpuMemory kind) {
    auto memory = gpu_->allocate(count * sizeof(T), kind);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return memory.ok() ? static_cast<T*>(*memory) : nullptr;
  }
  GpuFlag flag() {
    auto flag = gpu_->flag_at(made<uint32_t>(1, GpuMemory::pinned));
    EXPECT_TRUE(flag.ok()) << flag.status().message();
    return flag.ok() ? *flag : GpuFlag();
  }
  GpuStream own_stream() {
    auto stream = gpu_->make_stream();
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    return stream.ok() ? *stream : nullptr;
  }

  const std::unique_ptr<Gpus> gpus_ = make_gpus();
  Gpu* gpu_ = nullptr;
};

}  // namespace weir::device
