// SPDX-License-Identifier: Apache-2.0
// Memory that peers can map: from ncclMemAlloc, or registered by users.
//
// Memory from ncclMemAlloc is recognized in every call, so registering it has no effect and returns a NULL
// handle, which NCCL's interface allows. Memory that no peer can map also gets a NULL handle; the log gives
// the reason.
#include <fmt/format.h>

#include <algorithm>

#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/base/log.h"

namespace weir::api {
namespace {

Status check_buffer(const char* function, const void* buffer, size_t size, const void* out) {
  if (buffer == nullptr || size == 0 || out == nullptr) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid arguments: buffer {}, size {}, output {}; none may be NULL or 0",
                        function, fmt::ptr(buffer), size, fmt::ptr(out))};
  }
  return {};
}

device::GpuMemory kind_of(const void* address) {
  device::Gpus* const gpus = runtime().gpus();
  return gpus == nullptr ? device::GpuMemory::host : gpus->kind_of(address);
}

/// Allocates on the calling thread's current GPU; in a process without GPUs, host memory that peers can map.
Result<void*> allocate(size_t size) {
  device::Gpus* const gpus = runtime().gpus();
  device::Gpu* const gpu = gpus == nullptr ? nullptr : gpus->of(nullptr);
  const size_t bytes = std::max<size_t>(size, 1);
  return gpu == nullptr ? runtime().memory().allocate(bytes)
                        : gpu->allocate(bytes, device::GpuMemory::device);
}

Status free_memory(void* memory) {
  if (kind_of(memory) != device::GpuMemory::device) return runtime().memory().free(memory);
  return runtime().gpus()->of(memory)->free(memory, device::GpuMemory::device);
}

/// Ends a registration; does nothing for NULL.
Status deregister(ncclComm* comm, const char* function, void* handle) {
  bool known = handle == nullptr;
  std::unique_ptr<core::Registration> taken;  // destroyed after the lock is released
  WEIR_TRY(look_at(comm, function, [&](const core::Communicator&, HandleState& state) {
    const auto found =
        std::find_if(state.registrations.begin(), state.registrations.end(),
                     [&](const std::unique_ptr<core::Registration>& own) { return own.get() == handle; });
    if (found == state.registrations.end()) return;
    known = true;
    taken = std::move(*found);
    state.registrations.erase(found);
  }));
  if (known) return {};
  return {Code::invalid_usage,
          fmt::format("{} : {} was not registered with this communicator", function, fmt::ptr(handle))};
}

/// Registers memory, if peers can map it. *handle stays NULL if nothing was registered.
Status register_memory(ncclComm* comm, const char* function, const void* buffer, size_t size, void** handle) {
  WEIR_TRY(look_at(comm, function, [](const core::Communicator&, const HandleState&) {}));
  WEIR_TRY(check_buffer(function, buffer, size, handle));
  *handle = nullptr;
  if (kind_of(buffer) != device::GpuMemory::host) {
    WEIR_INFO(reg, "{} has no effect: {} is memory of a GPU, which is staged through pinned memory", function,
              fmt::ptr(buffer));
    return {};
  }
  auto registration = core::Registration::make(runtime().memory(), buffer, size);
  if (!registration.ok()) {
    if (!runtime().memory().find(buffer, size))
      WEIR_INFO(reg, "{} has no effect: {}", function, registration.status().message());
    return {};
  }
  void* const made = registration->get();
  WEIR_TRY(look_at(comm, function, [&](const core::Communicator&, HandleState& state) {
    state.registrations.push_back(std::move(*registration));
  }));
  *handle = made;
  return {};
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclMemAlloc(void** ptr, size_t size) {
  return report([&] {
    if (ptr == nullptr) return null_argument("ncclMemAlloc", "ptr");
    *ptr = nullptr;
    const Result<void*> memory = allocate(size);
    if (memory.ok()) *ptr = *memory;
    return memory.status();
  });
}
WEIR_WEAK_ALIAS(ncclMemAlloc);

ncclResult_t pncclMemFree(void* ptr) {
  return ptr == nullptr ? ncclSuccess : report([&] { return free_memory(ptr); });
}
WEIR_WEAK_ALIAS(ncclMemFree);

ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return report([&] { return register_memory(comm, "ncclCommRegister", buff, size, handle); });
}
WEIR_WEAK_ALIAS(ncclCommRegister);

ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle) {
  return report([&] { return deregister(comm, "ncclCommDeregister", handle); });
}
WEIR_WEAK_ALIAS(ncclCommDeregister);
