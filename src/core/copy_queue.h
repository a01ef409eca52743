/// Copies that go on beside the caller, in order, on a stream of the library's own; and how far they are.
///
/// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "src/device/gpu.h"
#include "weir/status.h"

namespace weir::core {

class CopyQueue {
 public:
  /// Of a GPU, which outlives it, with a flag for itself; or (null) of host memory alone, which it copies at
  /// once. Errors: as device::Gpu.
  static Result<std::unique_ptr<CopyQueue>> create(device::Gpu* gpu, device::GpuFlag flag);
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  /// The memory stays as it is until the copy is done. Errors: as device::Gpu; they stay.
  Status copy(void* to, const void* from, size_t bytes);
  /// Names all that was queued so far. An error stays in failure().
  uint64_t mark();
  /// That is done. Never after a failure.
  bool reached(uint64_t mark) const;
  /// Waits until that is done, or has failed; wait() for all that was marked.
  Status wait(uint64_t mark);
  Status wait() { return wait(marked_); }
  const Status& failure() const { return failure_; }

 private:
  CopyQueue(device::Gpu* gpu, device::GpuFlag flag, device::GpuStream stream)
      : gpu_(gpu), flag_(flag), stream_(stream) {}

  device::Gpu* const gpu_;
  const device::GpuFlag flag_;  ///< the last mark that is done, its lower half
  const device::GpuStream stream_;
  uint64_t marked_ = 0;
  Status failure_;
};

}  // namespace weir::core
