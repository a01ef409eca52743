// SPDX-License-Identifier: Apache-2.0

#include "tests/device/fake_gpu.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace weir::testing {
namespace {

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

FakeGpu::FakeGpu(int index) : index_(index) {
  auto made = std::make_unique<Stream>();
  made->thread = std::move(*device::HostStream::create());
  streams_[nullptr] = std::move(made);
}

FakeGpu::~FakeGpu() {
  streams_.clear();
  for (const auto& [begin, block] : blocks_) {
    munmap(const_cast<std::byte*>(begin), whole_pages(block.bytes));
    if (block.shadow != begin) munmap(block.shadow, whole_pages(block.bytes));
  }
}

Result<void*> FakeGpu::allocate(size_t bytes, device::GpuMemory kind) {
  allocations_.fetch_add(1);
  const size_t size = whole_pages(bytes);
  const int file = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
    return Status(Code::system_error, "fake GPU: out of memory");
  const bool device = kind == device::GpuMemory::device;
  void* const outside = mmap(nullptr, size, device ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const inside = device ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : outside;
  close(file);
  std::lock_guard lock(mutex_);
  blocks_[static_cast<std::byte*>(outside)] = {kind, bytes, static_cast<std::byte*>(inside)};
  return outside;
}

Status FakeGpu::free(void* memory, device::GpuMemory kind) {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(memory));
  if (found == blocks_.end() || found->second.kind != kind)
    return {Code::device_error, "fake GPU: freed what was not allocated"};
  munmap(memory, whole_pages(found->second.bytes));
  if (found->second.shadow != memory) munmap(found->second.shadow, whole_pages(found->second.bytes));
  blocks_.erase(found);
  return {};
}

Result<device::GpuFlag> FakeGpu::flag_at(void* pinned) {
  if (kind_of(pinned) != device::GpuMemory::pinned)
    return Status(Code::device_error, "fake GPU: a flag outside of pinned memory");
  return device::GpuFlag{static_cast<std::atomic<uint32_t>*>(pinned), reinterpret_cast<uint64_t>(pinned)};
}

Status FakeGpu::copy(void* to, const void* from, size_t bytes, device::GpuStream stream) {
  if (copies_fail_.load()) return {Code::device_error, "fake GPU: copies fail"};
  void* const target = shadow_of(to);
  const void* const source = shadow_of(from);
  return queue(stream, [target, source, bytes] {
    std::memmove(target, source, bytes);
    return Status();
  });
}

Status FakeGpu::set(device::GpuFlag flag, uint32_t value, device::GpuStream stream) {
  return queue(stream, [flag, value] {
    flag.host->store(value, std::memory_order_release);
    return Status();
  });
}

Status FakeGpu::await(device::GpuFlag flag, uint32_t value, device::GpuStream stream,
                      device::GpuCondition test) {
  return queue(stream, [flag, value, test] {
    const auto passes = [&](uint32_t now) {
      return test == device::GpuCondition::has_any ? (now & value) != 0
                                                   : static_cast<int32_t>(now - value) >= 0;
    };
    while (!passes(flag.host->load(std::memory_order_acquire))) sched_yield();
    return Status();
  });
}

Status FakeGpu::call(void (*function)(void*), void* argument, device::GpuStream stream) {
  return queue(stream, [function, argument] {
    function(argument);
    return Status();
  });
}

Result<bool> FakeGpu::captures(device::GpuStream stream) {
  std::lock_guard lock(mutex_);
  return stream_of(stream).capturing;
}

Result<device::GpuStream> FakeGpu::make_stream() {
  auto made = std::make_unique<Stream>();
  auto thread = device::HostStream::create();
  if (!thread.ok()) return thread.status();
  made->thread = std::move(*thread);
  const device::GpuStream handle = made.get();
  std::lock_guard lock(mutex_);
  streams_[handle] = std::move(made);
  return handle;
}

Status FakeGpu::destroy_stream(device::GpuStream stream) {
  std::unique_ptr<Stream> taken;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  taken = std::move(streams_.at(stream));
  streams_.erase(stream);
  return {};
}

Status FakeGpu::synchronize(device::GpuStream stream) {
  device::HostStream* thread = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (stream_of(stream).capturing)
      return {Code::device_error, "fake GPU: waited for a stream that is being captured"};
    thread = stream_of(stream).thread.get();
  }
  return thread->synchronize();
}

void FakeGpu::run(device::GpuStream stream, std::function<void()> kernel) {
  (void)queue(stream, [kernel = std::move(kernel)] {
    kernel();
    return Status();
  });
}

void FakeGpu::begin_capture(device::GpuStream stream) {
  std::lock_guard lock(mutex_);
  stream_of(stream).capturing = true;
}

FakeGpu::Graph FakeGpu::end_capture(device::GpuStream stream) {
  std::lock_guard lock(mutex_);
  stream_of(stream).capturing = false;
  return std::exchange(stream_of(stream).recorded, {});
}

void FakeGpu::launch(const Graph& graph, device::GpuStream stream) {
  for (const Step& step : graph) (void)queue(stream, step);
}

device::GpuMemory FakeGpu::kind_of(const void* address) const {
  std::lock_guard lock(mutex_);
  const auto found = find(address);
  return found == blocks_.end() ? device::GpuMemory::host : found->second.kind;
}

bool FakeGpu::has_stream(device::GpuStream stream) const {
  std::lock_guard lock(mutex_);
  return streams_.contains(stream);
}

size_t FakeGpu::held(device::GpuMemory kind) const {
  std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [begin, block] : blocks_) bytes += block.kind == kind ? block.bytes : 0;
  return bytes;
}

FakeGpu::Stream& FakeGpu::stream_of(device::GpuStream stream) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) std::abort();  // a real driver would crash
  return *found->second;
}

Status FakeGpu::queue(device::GpuStream stream, Step step) {
  std::lock_guard lock(mutex_);
  Stream& own = stream_of(stream);
  if (own.capturing) {
    own.recorded.push_back(std::move(step));
  } else {
    own.thread->submit(std::move(step));
  }
  return {};
}

void* FakeGpu::shadow_of(const void* memory) const {
  std::lock_guard lock(mutex_);
  const auto found = find(memory);
  if (found == blocks_.end()) return const_cast<void*>(memory);
  return found->second.shadow + (static_cast<const std::byte*>(memory) - found->first);
}

std::map<const std::byte*, FakeGpu::Block>::const_iterator FakeGpu::find(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  auto found = blocks_.upper_bound(byte);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return byte < found->first + found->second.bytes ? found : blocks_.end();
}

device::GpuMemory FakeGpus::kind_of(const void* address) {
  for (const FakeGpu* gpu : gpus_) {
    const device::GpuMemory kind = gpu->kind_of(address);
    if (kind != device::GpuMemory::host) return kind;
  }
  return device::GpuMemory::host;
}

device::Gpu* FakeGpus::of(const void* address) {
  for (FakeGpu* gpu : gpus_) {
    if (address == nullptr || gpu->kind_of(address) == device::GpuMemory::device) return gpu;
  }
  return nullptr;
}

Result<device::Gpu*> FakeGpus::at(int index) {
  for (FakeGpu* gpu : gpus_) {
    if (gpu->index() == index) return gpu;
  }
  return Status(Code::invalid_argument, "there is no fake GPU " + std::to_string(index));
}

device::Gpu* FakeGpus::of_stream(device::GpuStream stream) {
  for (FakeGpu* gpu : gpus_) {
    if (gpu->has_stream(stream)) return gpu;
  }
  return nullptr;
}

}  // namespace weir::testing
