// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/flag_pages.h"

#include <algorithm>

namespace weir::exec::gpu {

Result<std::unique_ptr<FlagPages>> FlagPages::create(device::Gpu& gpu, Rank rank, int ranks) {
  std::unique_ptr<FlagPages> pages(new FlagPages(gpu, rank, ranks));
  auto memory = device::SharedMemory::create(sizeof(Shared));
  WEIR_TRY(memory.status());
  WEIR_TRY(pages->adopt(rank, std::move(*memory)));
  return pages;
}

FlagPages::~FlagPages() {
  for (void* const memory : pinned_) (void)gpu_.unpin(memory);
}

Status FlagPages::attach(std::span<const device::ShareHandle> handles) {
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (pages_[static_cast<size_t>(rank)].shared != nullptr) continue;
    auto memory = device::SharedMemory::attach(handles[static_cast<size_t>(rank)]);
    WEIR_TRY(memory.status());
    WEIR_TRY(adopt(rank, std::move(*memory)));
  }
  return {};
}

Status FlagPages::adopt(Rank rank, device::SharedMemory memory) {
  const auto at = static_cast<size_t>(rank);
  auto address = gpu_.pin(memory.data(), memory.size());
  WEIR_TRY(address.status());
  pages_[at] = {reinterpret_cast<Shared*>(memory.data()), *address};
  pinned_.push_back(memory.data());
  memory_[at] = std::make_shared<device::SharedMemory>(std::move(memory));
  return {};
}

void FlagPages::enter(uint64_t tag) {
  pages_[static_cast<size_t>(rank_)].shared->calls[(tag >> 32) % kCalls].store(tag);
}

Rank FlagPages::foreign(uint64_t& tag) const {
  const Shared& own = *pages_[static_cast<size_t>(rank_)].shared;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const Shared& other = *pages_[static_cast<size_t>(rank)].shared;
    for (uint32_t call = 0; call < kCalls; ++call) {
      const uint64_t mine = own.calls[call].load(), theirs = other.calls[call].load();
      if (mine == theirs || mine == 0 || theirs == 0 || mine >> 32 != theirs >> 32) continue;
      tag = theirs;
      return rank;
    }
  }
  return -1;
}

void FlagPages::leave() { pages_[static_cast<size_t>(rank_)].shared->left.store(1); }

Rank FlagPages::left() const {
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (rank != rank_ && pages_[static_cast<size_t>(rank)].shared->left.load() != 0) return rank;
  }
  return -1;
}

bool FlagPages::all_left() const {
  return std::all_of(pages_.begin(), pages_.end(),
                     [](const Page& page) { return page.shared->left.load() != 0; });
}

void FlagPages::release() {
  for (const Page& page : pages_)
    for (std::atomic<uint32_t>& flag : page.shared->flags) flag.store(kReleased, std::memory_order_release);
}

}  // namespace weir::exec::gpu
