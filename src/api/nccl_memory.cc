// Memory that peers can map, and announcements of buffers.
//
// What ncclMemAlloc gives is found by itself in every call, so registering has nothing to add: it succeeds
// with a NULL handle, which NCCL's interface allows, and is checked all the same.
#include <fmt/format.h>

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

Status check_handle(ncclComm* comm, const char* function, const void* handle) {
  WEIR_TRY(look_at(comm, function, [](const core::Communicator&, const HandleState&) {}));
  if (handle == nullptr) return {};
  return {Code::invalid_usage,
          fmt::format("{} : {} was not registered with this communicator", function, fmt::ptr(handle))};
}

Status register_window(ncclComm* comm, const void* buffer, size_t size, ncclWindow_t* window, int flags) {
  constexpr const char* kFunction = "ncclCommWindowRegister";
  WEIR_TRY(look_at(comm, kFunction, [](const core::Communicator&, const HandleState&) {}));
  WEIR_TRY(check_buffer(kFunction, buffer, size, window));
  if ((flags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0) {
    return {Code::invalid_argument, fmt::format("{} : invalid flags {:#x}", kFunction, flags)};
  }
  *window = nullptr;
  WEIR_INFO(reg,
            "a window of {} bytes at {} has no handle: collectives find memory of ncclMemAlloc by themselves",
            size, fmt::ptr(buffer));
  return {};
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclMemAlloc(void** ptr, size_t size) {
  if (ptr == nullptr) return report(Status(Code::invalid_argument, "ncclMemAlloc : ptr argument is NULL"));
  *ptr = nullptr;
  Result<void*> memory = runtime().memory().allocate(size == 0 ? 1 : size);
  if (!memory.ok()) return report(memory.status());
  *ptr = *memory;
  return ncclSuccess;
}
WEIR_WEAK_ALIAS(ncclMemAlloc);

ncclResult_t pncclMemFree(void* ptr) {
  return ptr == nullptr ? ncclSuccess : report(runtime().memory().free(ptr));
}
WEIR_WEAK_ALIAS(ncclMemFree);

ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  constexpr const char* kFunction = "ncclCommRegister";
  if (Status status = look_at(comm, kFunction, [](const core::Communicator&, const HandleState&) {});
      !status.ok()) {
    return report(status);
  }
  if (Status status = check_buffer(kFunction, buff, size, handle); !status.ok()) return report(status);
  *handle = nullptr;
  return ncclSuccess;
}
WEIR_WEAK_ALIAS(ncclCommRegister);

ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle) {
  return report(check_handle(comm, "ncclCommDeregister", handle));
}
WEIR_WEAK_ALIAS(ncclCommDeregister);

ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags) {
  return report(register_window(comm, buff, size, win, winFlags));
}
WEIR_WEAK_ALIAS(ncclCommWindowRegister);

ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return report(check_handle(comm, "ncclCommWindowDeregister", win));
}
WEIR_WEAK_ALIAS(ncclCommWindowDeregister);
