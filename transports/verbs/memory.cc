// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "src/base/shortage.h"

namespace weir::verbs {

void Memory::Unmap::operator()(std::byte* pages) const { munmap(pages, bytes); }

Result<Memory> Memory::allocate(size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return system_failure(fmt::format("cannot allocate {} bytes for a channel's slots", bytes), errno);
  }
  Memory memory(std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(pages), Unmap{bytes}));
  madvise(pages, bytes, MADV_DONTFORK);
  return memory;
}

Result<const drivers::VerbsRegion*> Memory::enroll(drivers::VerbsDevice& device) {
  std::unique_ptr<drivers::VerbsRegion>& region = regions_[&device];
  if (region == nullptr) {
    auto made = device.enroll(begin(), pages_.get_deleter().bytes);
    WEIR_TRY(made.status());
    region = std::move(*made);
  }
  return region.get();
}

Result<RegisteredMemory> RegisteredMemory::enroll(SlotMemory& memory,
                                                  std::span<drivers::VerbsDevice* const> devices) {
  RegisteredMemory made(memory);
  const Result<Socket> file = memory.file();
  for (drivers::VerbsDevice* const device : devices) {
    if (made.regions_.contains(device)) continue;
    auto region = file.ok() ? device->enroll_file(file->fd(), memory.begin(), memory.bytes())
                            : device->enroll(memory.begin(), memory.bytes());
    const Status by_file = region.status();
    if (file.ok() && !region.ok()) region = device->enroll(memory.begin(), memory.bytes());
    if (!region.ok())
      return Status(
          region.status().code(),
          fmt::format("{}; registration by address failed, too: {}",
                      file.ok() ? by_file.message() : file.status().message(), region.status().message()));
    made.regions_[device] = std::move(*region);
  }
  return made;
}

bool RegisteredMemory::has(const std::byte* begin, size_t bytes) const {
  return begin >= memory_->begin() && bytes <= memory_->bytes() &&
         begin <= memory_->begin() + (memory_->bytes() - bytes);
}

const drivers::VerbsRegion* RegisteredMemory::region(drivers::VerbsDevice& device) const {
  const auto found = regions_.find(&device);
  return found != regions_.end() ? found->second.get() : nullptr;
}

}  // namespace weir::verbs
