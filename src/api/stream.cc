// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/stream.h.
#include "src/api/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/api/process.h"

#pragma GCC visibility push(default)
#include "weir/stream.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

Status null_result(const char* function, const char* argument) {
  return Status(Code::invalid_argument,
                fmt::format("{}: {} is NULL; expected a pointer for the result", function, argument));
}

Result<std::shared_ptr<device::HostEvent>> host_event(const void* handle, const char* function) {
  auto event = streams().events.find(handle);
  if (event == nullptr) {
    return Status(Code::invalid_argument,
                  fmt::format("{}: {} is not an event, or was destroyed; expected one from weirEventCreate",
                              function, handle));
  }
  return event;
}

Status create_stream(weirStream_t* result) {
  if (result == nullptr) return null_result("weirStreamCreate", "stream");
  *result = nullptr;
  auto made = device::HostStream::create();
  if (!made.ok()) return made.status();
  *result = reinterpret_cast<weirStream_t>(streams().streams.add(std::move(made.value())));
  return {};
}

Status destroy_stream(weirStream_t handle) {
  if (auto stream = host_stream(handle, "weirStreamDestroy"); !stream.ok()) return stream.status();
  const auto stream = streams().streams.remove(handle);
  return stream == nullptr ? Status() : stream->synchronize();
}

Status create_event(weirEvent_t* result) {
  if (result == nullptr) return null_result("weirEventCreate", "event");
  *result = reinterpret_cast<weirEvent_t>(streams().events.add(std::make_shared<device::HostEvent>()));
  return {};
}

Status with_stream(weirStream_t handle, const char* function, Status (*act)(device::HostStream&)) {
  auto stream = host_stream(handle, function);
  if (!stream.ok()) return stream.status();
  return *stream == nullptr ? Status() : act(**stream);
}

Status with_event(weirEvent_t handle, const char* function, Status (*act)(device::HostEvent&)) {
  auto event = host_event(handle, function);
  return event.ok() ? act(**event) : event.status();
}

/// Acts on an event and a stream, which may be NULL.
Status with_both(weirEvent_t event_handle, weirStream_t stream_handle, const char* function,
                 void (*act)(device::HostEvent&, device::HostStream*)) {
  auto event = host_event(event_handle, function);
  if (!event.ok()) return event.status();
  auto stream = host_stream(stream_handle, function);
  if (!stream.ok()) return stream.status();
  act(**event, stream->get());
  return {};
}

Status elapsed(float* milliseconds, weirEvent_t start_handle, weirEvent_t stop_handle) {
  if (milliseconds == nullptr) return null_result("weirEventElapsedTime", "milliseconds");
  auto start = host_event(start_handle, "weirEventElapsedTime");
  if (!start.ok()) return start.status();
  auto stop = host_event(stop_handle, "weirEventElapsedTime");
  if (!stop.ok()) return stop.status();
  auto time = device::HostEvent::elapsed_ms(**start, **stop);
  if (!time.ok()) return time.status();
  *milliseconds = time.value();
  return {};
}

}  // namespace

core::Streams& streams() {
  static core::Streams* const kStreams = new core::Streams;
  return *kStreams;
}

Result<std::shared_ptr<device::HostStream>> host_stream(const void* handle, const char* function) {
  if (handle == nullptr) return std::shared_ptr<device::HostStream>();
  auto stream = streams().streams.find(handle);
  if (stream == nullptr) {
    return Status(
        Code::invalid_argument,
        fmt::format(
            "{}: {} is not a host stream, or was destroyed; expected NULL or one from weirStreamCreate",
            function, handle));
  }
  return stream;
}

Result<core::StreamPlace> place_of(const core::Communicator& communicator, void* handle,
                                   std::initializer_list<const void*> addresses, const char* function,
                                   std::shared_ptr<device::HostStream>& keeps) {
  device::Gpus* const gpus = communicator.gpus();
  if (handle == nullptr) {
    const bool on_gpu =
        gpus != nullptr && std::any_of(addresses.begin(), addresses.end(), [&](const void* a) {
          return a != nullptr && gpus->kind_of(a) != device::GpuMemory::host;
        });
    return core::StreamPlace{nullptr, on_gpu, nullptr};
  }
  keeps = streams().streams.find(handle);
  if (keeps != nullptr) return core::StreamPlace{keeps.get()};
  if (gpus == nullptr) {
    return Status(
        Code::invalid_argument,
        fmt::format("{}: {} is not a host stream, or was destroyed; expected NULL or one from "
                    "weirStreamCreate. Streams of a GPU need a communicator that was made after the "
                    "process had chosen a GPU",
                    function, handle));
  }
  if (gpus->of_stream(handle) != nullptr) return core::StreamPlace{nullptr, true, handle};
  return Status(
      Code::invalid_argument,
      fmt::format("{}: {} is neither a stream of a GPU nor a host stream, or was destroyed; expected "
                  "NULL, one of the GPU's, or one from weirStreamCreate",
                  function, handle));
}

}  // namespace weir::api

using weir::api::report;

extern "C" {

int weirStreamCreate(weirStream_t* stream) {
  return report([&] { return weir::api::create_stream(stream); });
}
int weirStreamDestroy(weirStream_t stream) {
  return report([&] { return weir::api::destroy_stream(stream); });
}
int weirStreamSynchronize(weirStream_t stream) {
  return report([&] {
    return weir::api::with_stream(stream, "weirStreamSynchronize",
                                  [](weir::device::HostStream& s) { return s.synchronize(); });
  });
}
int weirStreamQuery(weirStream_t stream) {
  return report([&] {
    return weir::api::with_stream(stream, "weirStreamQuery",
                                  [](weir::device::HostStream& s) { return s.query(); });
  });
}
int weirStreamWaitEvent(weirStream_t stream, weirEvent_t event) {
  return report([&] {
    return weir::api::with_both(event, stream, "weirStreamWaitEvent",
                                [](weir::device::HostEvent& e, weir::device::HostStream* s) { e.hold(s); });
  });
}

int weirEventCreate(weirEvent_t* event) {
  return report([&] { return weir::api::create_event(event); });
}
int weirEventDestroy(weirEvent_t event) {
  return report([&] {
    return weir::api::with_event(event, "weirEventDestroy", [](weir::device::HostEvent& e) {
      weir::api::streams().events.remove(&e);
      return weir::Status();
    });
  });
}
int weirEventRecord(weirEvent_t event, weirStream_t stream) {
  return report([&] {
    return weir::api::with_both(event, stream, "weirEventRecord",
                                [](weir::device::HostEvent& e, weir::device::HostStream* s) { e.record(s); });
  });
}
int weirEventQuery(weirEvent_t event) {
  return report([&] {
    return weir::api::with_event(event, "weirEventQuery",
                                 [](weir::device::HostEvent& e) { return e.query(); });
  });
}
int weirEventSynchronize(weirEvent_t event) {
  return report([&] {
    return weir::api::with_event(event, "weirEventSynchronize", [](weir::device::HostEvent& e) {
      e.synchronize();
      return weir::Status();
    });
  });
}
int weirEventElapsedTime(float* milliseconds, weirEvent_t start, weirEvent_t stop) {
  return report([&] { return weir::api::elapsed(milliseconds, start, stop); });
}

}  // extern "C"
