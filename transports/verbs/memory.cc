#include "transports/verbs/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace weir::verbs {

void Memory::Unmap::operator()(std::byte* pages) const { munmap(pages, bytes); }

Result<Memory> Memory::allocate(size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return Status(Code::system_error, fmt::format("no memory for the {} bytes of a channel's slots: {}",
                                                  bytes, std::generic_category().message(errno)));
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

}  // namespace weir::verbs
