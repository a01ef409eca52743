// SPDX-License-Identifier: Apache-2.0

#include "stand_in/streams.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "src/base/time_slice.h"
#include "stand_in/graphs.h"

namespace fake {
namespace {

constexpr char kEventMagic[8] = {'f', 'a', 'k', 'e', 'e', 'v', 't', '1'};

void pause(int round) {
  if (round < 20)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

bool reached(const std::vector<Until>& untils) {
  for (const Until& until : untils)
    if (until.stream->done < until.count) return false;
  return true;
}

int sticky(int gpu) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  return world.sticky[gpu];
}

/// Waits until one thing may begin. False: the GPU is broken, does nothing more, but comes to the end.
bool await_begin(const Work& work, int gpu) {
  int broken = sticky(gpu);
  for (int round = 0; broken == 0 && work.ready && !work.ready(); ++round) {
    pause(round);
    broken = sticky(gpu);
  }
  return broken == 0;
}

void carry_out(const Work& work, int gpu) {
  if (!work.run) return;
  if (const int code = work.run(); code != kSuccess) {
    World& world = World::get();
    const std::lock_guard lock(world.mutex);
    world.sticky[gpu] = code;
  }
}

void run_stream(std::shared_ptr<Stream> stream) {
  weir::ShortTimeSlice().ask();  // what other threads wait for begins at once, though they compute
  World& world = World::get();
  std::unique_lock lock(world.mutex);
  while (true) {
    world.changed.wait(lock, [&] { return !stream->work.empty() || stream->ends; });
    if (stream->work.empty()) return;
    HardwareQueue* const hardware = stream->hardware.get();
    world.changed.wait(lock, [&] {
      const Submitted& next = stream->work.front();
      return reached(next.until) && (hardware == nullptr || hardware->begun == next.ticket);
    });
    Work work = std::move(stream->work.front().work);
    stream->work.pop_front();
    lock.unlock();
    const bool begins = await_begin(work, stream->gpu);
    if (hardware != nullptr) {
      lock.lock();
      ++hardware->begun;
      world.changed.notify_all();
      lock.unlock();
    }
    if (begins) carry_out(work, stream->gpu);
    work = Work();
    lock.lock();
    ++stream->done;
    world.changed.notify_all();
  }
}

/// Of WEIR_FAKE_GPU_QUEUES, in turn; null: as many as there are streams. REQUIRES: the mutex.
std::shared_ptr<HardwareQueue> next_hardware_queue(int gpu) {
  static std::vector<std::shared_ptr<HardwareQueue>> queues[kMostGpus];
  static size_t turns[kMostGpus];
  const char* const text = std::getenv("WEIR_FAKE_GPU_QUEUES");
  const size_t count = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  if (count == 0) return nullptr;
  while (queues[gpu].size() < count) queues[gpu].push_back(std::make_shared<HardwareQueue>());
  return queues[gpu][turns[gpu]++ % count];
}

std::shared_ptr<Stream> started(int gpu, bool blocking, bool is_legacy) {
  auto stream = std::make_shared<Stream>();
  stream->hardware = next_hardware_queue(gpu);
  stream->gpu = gpu;
  stream->blocking = blocking;
  stream->is_legacy = is_legacy;
  World::get().streams.emplace(stream.get(), stream);
  std::thread(run_stream, stream).detach();
  return stream;
}

std::shared_ptr<Stream>& default_stream(std::shared_ptr<Stream>& kept, int gpu, bool is_legacy) {
  const std::lock_guard lock(World::get().mutex);
  if (kept == nullptr) kept = started(gpu, true, is_legacy);
  return kept;
}

/// What a new thing on the stream waits for because of the legacy default stream. REQUIRES: the mutex.
std::vector<Until> order_of(const Stream& stream) {
  World& world = World::get();
  std::vector<Until> untils;
  if (stream.is_legacy) {
    for (const auto& [pointer, other] : world.streams)
      if (other->gpu == stream.gpu && other->blocking && !other->is_legacy && other->done < other->queued)
        untils.push_back({other, other->queued});
  } else if (const auto& legacy = world.legacy[stream.gpu];
             stream.blocking && legacy != nullptr && legacy->done < legacy->queued) {
    untils.push_back({legacy, legacy->queued});
  }
  return untils;
}

/// A blocking stream that is being captured forbids the use of the legacy one. REQUIRES: the mutex.
std::shared_ptr<Capture> captured_beside(const Stream& stream) {
  if (!stream.is_legacy) return nullptr;
  for (const auto& [pointer, other] : World::get().streams)
    if (other->gpu == stream.gpu && other->blocking && other->capture != nullptr) return other->capture;
  return nullptr;
}

/// Things that were submitted and have not begun, of the hardware queue, or not ended, of the stream.
/// REQUIRES: the mutex.
uint64_t pending(const Stream& stream) {
  const HardwareQueue* const hardware = stream.hardware.get();
  return hardware != nullptr ? hardware->submitted - hardware->begun : stream.queued - stream.done;
}

uint64_t most_pending() {
  const char* const text = std::getenv("WEIR_FAKE_GPU_PENDING");
  return text != nullptr ? std::max(std::strtoull(text, nullptr, 10), 1ull) : 1024;
}

std::shared_ptr<EventPage> map_page(int file) {
  void* const page = mmap(nullptr, sizeof(EventPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return nullptr;
  return {static_cast<EventPage*>(page), [](EventPage* mapped) { munmap(mapped, sizeof(EventPage)); }};
}

}  // namespace

std::shared_ptr<Stream> stream_of(void* handle) {
  World& world = World::get();
  const int gpu = current_gpu() < 0 ? 0 : current_gpu();
  if (reinterpret_cast<uintptr_t>(handle) <= 1) return default_stream(world.legacy[gpu], gpu, true);
  if (reinterpret_cast<uintptr_t>(handle) == 2) {
    // No array: libraries loaded by dlopen() share about 1,600 bytes of thread-local memory.
    thread_local std::vector<std::shared_ptr<Stream>> own(kMostGpus);
    return default_stream(own[static_cast<size_t>(gpu)], gpu, false);
  }
  const std::lock_guard lock(world.mutex);
  const auto found = world.streams.find(static_cast<Stream*>(handle));
  return found == world.streams.end() ? nullptr : found->second;
}

int make_stream(int gpu, bool blocking, void** handle) {
  const std::lock_guard lock(World::get().mutex);
  *handle = started(gpu, blocking, false).get();
  return kSuccess;
}

int destroy_stream(void* handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return kInvalidHandle;
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  const auto found = world.streams.find(static_cast<Stream*>(handle));
  if (found == world.streams.end()) return kInvalidHandle;
  if (found->second->capture != nullptr) spoil(*found->second->capture);
  found->second->ends = true;
  world.streams.erase(found);
  world.changed.notify_all();
  return kSuccess;
}

void push(const std::shared_ptr<Stream>& stream, Work work, std::vector<Until> until) {
  const uint64_t ticket = stream->hardware != nullptr ? stream->hardware->submitted++ : 0;
  stream->work.push_back({std::move(work), std::move(until), ticket});
  ++stream->queued;
  World::get().changed.notify_all();
}

int enqueue(const std::shared_ptr<Stream>& stream, Work work) {
  if (stream == nullptr) return kInvalidHandle;
  if (const int code = usable(stream->gpu); code != kSuccess) return code;
  World& world = World::get();
  std::unique_lock lock(world.mutex);
  world.changed.wait(
      lock, [&, most = most_pending()] { return stream->capture != nullptr || pending(*stream) < most; });
  if (stream->capture != nullptr) return record_node(stream, std::move(work));
  if (const auto capture = captured_beside(*stream); capture != nullptr) {
    spoil(*capture);
    return kCaptureImplicit;
  }
  push(stream, std::move(work), order_of(*stream));
  return kSuccess;
}

int synchronize(const std::shared_ptr<Stream>& stream) {
  if (stream == nullptr) return kInvalidHandle;
  World& world = World::get();
  std::unique_lock lock(world.mutex);
  if (stream->capture != nullptr) {
    spoil(*stream->capture);
    return kCaptureUnsupported;
  }
  if (const auto capture = captured_beside(*stream); capture != nullptr) {
    spoil(*capture);
    return kCaptureImplicit;
  }
  std::vector<Until> untils = order_of(*stream);
  untils.push_back({stream, stream->queued});
  world.changed.wait(lock, [&] { return reached(untils); });
  return world.sticky[stream->gpu];
}

int query(const std::shared_ptr<Stream>& stream) {
  if (stream == nullptr) return kInvalidHandle;
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (stream->capture != nullptr) {
    spoil(*stream->capture);
    return kCaptureUnsupported;
  }
  if (world.sticky[stream->gpu] != 0) return world.sticky[stream->gpu];
  return stream->done < stream->queued ? kNotReady : kSuccess;
}

int synchronize_gpu(int gpu) {
  World& world = World::get();
  std::unique_lock lock(world.mutex);
  std::vector<Until> untils;
  for (const auto& [pointer, stream] : world.streams)
    if (stream->gpu == gpu) untils.push_back({stream, stream->queued});
  world.changed.wait(lock, [&] { return reached(untils); });
  return world.sticky[gpu];
}

int make_event(bool shared, void** handle) {
  auto event = std::make_unique<Event>();
  event->shared = shared;
  if (!shared) {
    event->page = std::make_shared<EventPage>();
  } else {
    event->file = memfd_create("fake-gpu-event", MFD_CLOEXEC);
    if (event->file < 0 || ftruncate(event->file, sizeof(EventPage)) != 0) return kOutOfMemory;
    event->page = map_page(event->file);
    if (event->page == nullptr) return kOutOfMemory;
  }
  *handle = event.release();
  return kSuccess;
}

int destroy_event(void* handle) {
  const std::unique_ptr<Event> event(static_cast<Event*>(handle));
  if (event->file >= 0) close(event->file);
  return kSuccess;
}

int record(Event* event, const std::shared_ptr<Stream>& stream) {
  if (event == nullptr || stream == nullptr) return kInvalidHandle;
  {
    const std::lock_guard lock(World::get().mutex);
    if (stream->capture != nullptr) {
      event->capture = stream->capture;
      event->branch = stream->branch;
      event->place = stream->capture->graph.branches[stream->branch].size();
      return record_node(stream, {});
    }
    event->capture = nullptr;
  }
  const uint64_t number = event->page->recorded.fetch_add(1) + 1;
  return enqueue(stream,
                 {nullptr, [page = event->page, number] {
                    page->reached_ns =
                        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
                    uint64_t done = page->done.load();
                    while (done < number && !page->done.compare_exchange_weak(done, number)) continue;
                    return static_cast<int>(kSuccess);
                  }});
}

int wait(Event* event, const std::shared_ptr<Stream>& stream) {
  if (event == nullptr || stream == nullptr) return kInvalidHandle;
  {
    const std::lock_guard lock(World::get().mutex);
    if (event->capture != nullptr) return join_capture(stream, *event);
    if (stream->capture != nullptr && event->page->recorded.load() > 0) {
      spoil(*stream->capture);
      return kCaptureIsolation;
    }
  }
  const uint64_t number = event->page->recorded.load();
  return enqueue(stream, {[page = event->page, number] { return page->done.load() >= number; }, nullptr});
}

int query(Event* event) {
  if (event->capture != nullptr) return kCapturedEvent;
  if (const int code = forbidden(); code != kSuccess) return code;
  return event->page->done.load() >= event->page->recorded.load() ? kSuccess : kNotReady;
}

int synchronize(Event* event) {
  const uint64_t number = event->page->recorded.load();
  for (int round = 0;; ++round) {
    if (const int code = query(event); code != kNotReady) return code;
    if (event->page->done.load() >= number) return kSuccess;
    for (int gpu = 0; gpu < kMostGpus; ++gpu)
      if (const int code = sticky(gpu); code != kSuccess) return code;
    pause(round);
  }
}

int elapsed(Event* begin, Event* end, float* milliseconds) {
  for (Event* const event : {begin, end}) {
    if (event == nullptr || event->page->recorded.load() == 0) return kInvalidHandle;
    if (const int code = query(event); code != kSuccess) return code;
  }
  *milliseconds = static_cast<float>(end->page->reached_ns - begin->page->reached_ns) / 1e6f;
  return kSuccess;
}

int make_handle(Event* event, EventHandle* handle) {
  if (!event->shared) return kInvalidValue;
  *handle = EventHandle{};
  std::memcpy(handle->magic, kEventMagic, sizeof(kEventMagic));
  handle->process = getpid();
  handle->file = event->file;
  return kSuccess;
}

int open_event(const EventHandle& handle, void** event) {
  if (std::memcmp(handle.magic, kEventMagic, sizeof(kEventMagic)) != 0) return kInvalidValue;
  if (fault_is_set("ipc")) return kMapFailed;
  if (handle.process == getpid()) return kInvalidContext;
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%ld/fd/%d", static_cast<long>(handle.process), handle.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return kMapFailed;
  auto opened = std::make_unique<Event>();
  opened->page = map_page(file);
  opened->file = file;
  if (opened->page == nullptr) return close(file), kMapFailed;
  *event = opened.release();
  return kSuccess;
}

}  // namespace fake
