// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

// Only weir has this function; with another library it is null.
extern "C" __attribute__((weak)) int weirDescribe(char* buffer, size_t size);

namespace weir::perf {
namespace {

size_t available_in_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (size_t kilobytes = 0; file >> key >> kilobytes && std::getline(file, unit);)
    if (key == "MemAvailable:") return kilobytes * 1024;
  return std::numeric_limits<size_t>::max();
}

size_t number_in_file(const char* path) {
  std::ifstream file(path);
  size_t number = 0;
  return file >> number ? number : std::numeric_limits<size_t>::max();
}

class HostMemory final : public Memory {
 public:
  Outcome allocate(size_t bytes, bool by_library, void** out) override {
    size_t rounded = whole_pages(bytes);
    if (by_library) return nccl(ncclMemAlloc(out, rounded));
    *out = std::aligned_alloc(kPage, rounded);
    if (*out == nullptr)
      return Outcome::failure(ExitCode::device, fmt::format("cannot allocate {} bytes of memory", rounded));
    return Outcome();
  }

  void release(void* pointer, bool by_library) override {
    if (pointer == nullptr) return;
    if (by_library)
      (void)ncclMemFree(pointer);
    else
      std::free(pointer);
  }

  Outcome copy(void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return Outcome();
  }

  cudaStream_t stream() const override { return nullptr; }
  Outcome synchronize() override { return Outcome(); }
};

class HostDevices final : public Devices {
 public:
  int count() const override { return 0; }

  Outcome describe(int, std::string* text) const override {
    *text = fmt::format("[0000:00:00] {}", weirDescribe != nullptr ? "weir host" : "host");
    return Outcome();
  }

  Outcome available(int, size_t* bytes) const override {
    size_t limit = number_in_file("/sys/fs/cgroup/memory.max");  // "max" (no limit) is not a number
    size_t used = number_in_file("/sys/fs/cgroup/memory.current");
    size_t machine = available_in_machine();
    *bytes = limit == std::numeric_limits<size_t>::max() || used > limit ? machine
                                                                         : std::min(machine, limit - used);
    return Outcome();
  }

  Outcome open(int, std::unique_ptr<Memory>* memory) const override {
    *memory = std::make_unique<HostMemory>();
    return Outcome();
  }
};

}  // namespace

std::unique_ptr<Devices> host_devices() { return std::make_unique<HostDevices>(); }

std::string library_description() {
  char text[1024] = {};
  if (weirDescribe != nullptr) weirDescribe(text, sizeof(text) - 1);
  return text;
}

}  // namespace weir::perf
