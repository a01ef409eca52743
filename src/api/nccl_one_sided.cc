// SPDX-License-Identifier: Apache-2.0
// Windows, and one-sided calls: puts, signals, and waits for signals.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/api/stream.h"
#include "src/core/call/operation.h"

namespace weir::api {
namespace {

constexpr const char* kRegister = "ncclCommWindowRegister";
constexpr const char* kPut = "ncclPutSignal";

Status wrong(const char* function, const std::string& what) {
  return {Code::invalid_argument, fmt::format("{} : {}", function, what)};
}

bool is_on_host(const void* address) {
  device::Gpus* const gpus = runtime().gpus();
  return gpus == nullptr || gpus->kind_of(address) == device::GpuMemory::host;
}

Status register_window(ncclComm* comm, void* buffer, size_t size, ncclWindow_t* out, int flags) {
  WEIR_TRY(look_at(comm, kRegister, [](const core::Communicator&, const HandleState&) {}));
  if ((flags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0)
    return wrong(kRegister, fmt::format("invalid flags {:#x}", flags));
  if (buffer == nullptr || size == 0 || out == nullptr)
    return wrong(kRegister,
                 fmt::format("invalid arguments: buffer {}, size {}, output {}; none may be NULL or 0",
                             fmt::ptr(buffer), size, fmt::ptr(out)));
  auto window = std::make_unique<Window>();
  window->data = buffer;
  window->bytes = size;
  const bool on_host = is_on_host(buffer);
  if (on_host) {
    auto registration = core::Registration::make(runtime().memory(), buffer, size);
    if (registration.ok()) window->registration = std::move(*registration);
  }
  Window* const made = window.get();
  WEIR_TRY(look_at(comm, kRegister, [&](core::Communicator& core, HandleState& state) {
    made->number = core.windows().add(buffer, size, on_host);
    state.windows.push_back(std::move(window));
  }));
  *out = reinterpret_cast<ncclWindow_t>(made);
  return {};
}

/// The window of a handle, which may be any pointer; null if it is not a window of this communicator.
const Window* find_window(const HandleState& state, ncclWindow_t handle) {
  const auto found = std::ranges::find_if(
      state.windows, [&](const auto& own) { return own.get() == reinterpret_cast<const Window*>(handle); });
  return found == state.windows.end() ? nullptr : found->get();
}

Status unknown_window(const char* function, ncclWindow_t window) {
  return wrong(function, fmt::format("{} is not a window of this communicator, or was deregistered; expected "
                                     "one from {}",
                                     fmt::ptr(window), kRegister));
}

Status deregister_window(ncclComm* comm, ncclWindow_t handle) {
  constexpr const char* kFunction = "ncclCommWindowDeregister";
  std::unique_ptr<Window> taken;  // destroyed after the lock is released
  WEIR_TRY(look_at(comm, kFunction, [&](core::Communicator& core, HandleState& state) {
    const Window* const window = find_window(state, handle);
    const auto found =
        std::ranges::find_if(state.windows, [&](const auto& own) { return own.get() == window; });
    if (found == state.windows.end()) return;
    core.windows().remove(window->number);
    taken = std::move(*found);
    state.windows.erase(found);
  }));
  if (taken != nullptr || handle == nullptr) return {};
  return {Code::invalid_usage,
          fmt::format("{} : {} was not registered with this communicator", kFunction, fmt::ptr(handle))};
}

Status window_pointer(ncclComm* comm, ncclWindow_t handle, void** out) {
  constexpr const char* kFunction = "ncclWinGetUserPtr";
  if (out != nullptr) *out = nullptr;
  void* data = nullptr;
  WEIR_TRY(look_at(comm, kFunction, [&](const core::Communicator&, const HandleState& state) {
    const Window* const window = find_window(state, handle);
    if (window != nullptr) data = window->data;
  }));
  if (out == nullptr) return null_argument(kFunction, "outUserPtr");
  if (data == nullptr) return unknown_window(kFunction, handle);
  *out = data;
  return {};
}

/// What the three calls have in common: a signal that goes to a rank, or is awaited from it.
Status check(const char* function, const core::SignalOp& signal, unsigned flags,
             const core::Communicator& core) {
  if (core.gpus() != nullptr)
    return not_offered(fmt::format("{}, in a process that uses GPUs,", function).c_str(),
                       "use ncclSend and ncclRecv");
  if (signal.peer < 0 || signal.peer >= core.size())
    return wrong(function, fmt::format("invalid peer {} (0 <= peer < {})", signal.peer, core.size()));
  if (signal.index < 0 || signal.context < 0)
    return wrong(function, fmt::format("invalid sigIdx {} or ctx {}; expected 0 or more", signal.index,
                                       signal.context));
  if (flags != 0) return wrong(function, fmt::format("invalid flags {:#x}; expected 0", flags));
  return {};
}

/// Issues a checked call.
Status issue(const char* function, ncclComm* comm, cudaStream_t stream, core::Operation operation) {
  std::shared_ptr<device::HostStream> host;
  const auto place = place_of(*comm->core, stream, {}, function, host);
  WEIR_TRY(place.status());
  return run_or_add(comm, std::move(operation), *place, std::move(host));
}

Status check_fit(const core::PutOp& put, const Window& window) {
  const size_t capacity = put.offset > window.bytes ? 0 : window.bytes - put.offset;
  if (put.offset > window.bytes || put.count > capacity / size_of(put.type))
    return wrong(kPut,
                 fmt::format("{} elements of type {} do not fit at offset {} into the window, which has "
                             "{} bytes",
                             put.count, name(put.type), put.offset, window.bytes));
  if (put.input == nullptr && put.count > 0)
    return wrong(kPut, fmt::format("localbuff is NULL, with count {}", put.count));
  return {};
}

/// `put` lacks its type and its window.
Status put_signal(core::PutOp put, int type, ncclWindow_t handle, unsigned flags, ncclComm* comm,
                  cudaStream_t stream) {
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kPut);
  WEIR_TRY(check(kPut, {put.peer, put.index, put.context}, flags, *comm->core));
  if (static_cast<unsigned>(type) >= kDataTypes)
    return wrong(kPut, fmt::format("invalid type {}; expected 0 to {}", type, kDataTypes - 1));
  put.type = static_cast<DataType>(type);
  Status fits = unknown_window(kPut, handle);
  WEIR_TRY(look_at(comm, kPut, [&](const core::Communicator&, const HandleState& state) {
    const Window* const window = find_window(state, handle);
    if (window == nullptr) return;
    put.window = window->number;
    fits = check_fit(put, *window);
  }));
  WEIR_TRY(fits);
  return issue(kPut, comm, stream, put);
}

Status signal(const core::SignalOp& signal, unsigned flags, ncclComm* comm, cudaStream_t stream) {
  constexpr const char* kFunction = "ncclSignal";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  WEIR_TRY(check(kFunction, signal, flags, *comm->core));
  return issue(kFunction, comm, stream, signal);
}

Status wait_signal(int count, const ncclWaitSignalDesc_t* list, ncclComm* comm, cudaStream_t stream) {
  constexpr const char* kFunction = "ncclWaitSignal";
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  WEIR_TRY(check(kFunction, {}, 0, *comm->core));
  if (count < 1 || list == nullptr)
    return wrong(kFunction,
                 fmt::format("nDesc is {} and signalDescs {}; expected at least one", count, fmt::ptr(list)));
  std::vector<core::AwaitedSignals> awaited;
  for (const ncclWaitSignalDesc_t& one : std::span(list, static_cast<size_t>(count))) {
    WEIR_TRY(check(kFunction, {one.peer, one.sigIdx, one.ctx}, 0, *comm->core));
    if (one.opCnt < 0)
      return wrong(kFunction, fmt::format("invalid opCnt {}; expected 0 or more", one.opCnt));
    awaited.push_back({{one.peer, one.sigIdx, one.ctx}, static_cast<uint64_t>(one.opCnt)});
  }
  return issue(kFunction, comm, stream,
               core::WaitOp{std::make_shared<const std::vector<core::AwaitedSignals>>(std::move(awaited))});
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags) {
  return report([&] { return register_window(comm, buff, size, win, winFlags); });
}
WEIR_WEAK_ALIAS(ncclCommWindowRegister);

ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return report([&] { return deregister_window(comm, win); });
}
WEIR_WEAK_ALIAS(ncclCommWindowDeregister);

ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  return report([&] { return window_pointer(comm, win, outUserPtr); });
}
WEIR_WEAK_ALIAS(ncclWinGetUserPtr);

ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                            unsigned int flags, ncclComm_t comm, cudaStream_t stream) {
  return finish([&] {
    return put_signal({.input = localbuff,
                       .count = count,
                       .peer = peer,
                       .offset = peerWinOffset,
                       .index = sigIdx,
                       .context = ctx},
                      number(datatype), peerWin, flags, comm, stream);
  });
}
WEIR_WEAK_ALIAS(ncclPutSignal);

ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                         cudaStream_t stream) {
  return finish([&] { return signal({peer, sigIdx, ctx}, flags, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclSignal);

ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream) {
  return finish([&] { return wait_signal(nDesc, signalDescs, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclWaitSignal);
