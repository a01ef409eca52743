#include "transports/memory/loop.h"

#include <fmt/format.h>
#include <unistd.h>

namespace weir {
namespace {

class Loop final : public MemoryTransport {
 public:
  Loop(const Identity& self, Home* home, LocalHomes* homes)
      : MemoryTransport("loop", self, home), homes_(homes) {
    if (home != nullptr && homes != nullptr) homes->add(home->memory());
  }

 protected:
  Result<HomeMemory> bring(const device::ShareHandle& handle, uint64_t host) const override {
    HomeMemory memory = homes_ != nullptr && host == self().host ? homes_->find(handle) : nullptr;
    if (memory != nullptr) return memory;
    return Status(Code::invalid_usage,
                  fmt::format("the peer is in another process ({}{}) than this rank ({})", handle.pid,
                              host == self().host ? "" : " of another host", getpid()));
  }

 private:
  LocalHomes* const homes_;
};

}  // namespace

std::unique_ptr<Transport> make_loop(const Identity& self, Home* home, LocalHomes* homes) {
  return std::make_unique<Loop>(self, home, homes);
}

}  // namespace weir
