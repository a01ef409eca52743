/// The slots of a channel end of verbs: pages of this process that devices read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "src/drivers/verbs.h"
#include "weir/status.h"

namespace weir::verbs {

/// Kept out of forked children: else the kernel would move the parent's pages away from under the devices
/// when it writes to them.
class Memory {
 public:
  static Result<Memory> allocate(size_t bytes);

  std::byte* begin() const { return pages_.get(); }
  /// Registered with the device once, whoever asks how often.
  Result<const drivers::VerbsRegion*> enroll(drivers::VerbsDevice& device);

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* pages) const;
  };
  explicit Memory(std::unique_ptr<std::byte, Unmap> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<std::byte, Unmap> pages_;
  std::map<drivers::VerbsDevice*, std::unique_ptr<drivers::VerbsRegion>>
      regions_;  // forgotten before the pages go
};

}  // namespace weir::verbs
