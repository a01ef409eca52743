// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/gpu_flags.h"

namespace weir::core {

Result<device::GpuFlag> GpuFlags::take() {
  if (next_ == kPageBytes) {
    auto page = Pinned::allocate(&gpu_, kPageBytes);
    WEIR_TRY(page.status());
    pages_.push_back(std::move(*page));
    next_ = 0;
  }
  auto flag = gpu_.flag_at(pages_.back().data() + next_);
  if (flag.ok()) next_ += sizeof(uint32_t);
  return flag;
}

}  // namespace weir::core
