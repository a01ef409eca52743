#include "src/core/gpu/proxied_memory.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr size_t kMostRingBytes = size_t{256} << 20;

}  // namespace

Result<std::unique_ptr<ProxiedMemory>> ProxiedMemory::make(const Parts& parts) {
  const size_t bytes = exec::gpu::ProxyRings(parts.peers, parts.slot_bytes).bytes();
  if (bytes > kMostRingBytes)
    return Status(Code::system_error,
                  fmt::format("rings to {} ranks of other hosts need {} bytes of pinned memory; kernels are "
                              "given at most {}",
                              parts.peers.size(), bytes, kMostRingBytes));
  auto memory = Pinned::allocate(parts.gpu, bytes);
  WEIR_TRY(memory.status());
  const auto first_word = parts.gpu->flag_at(memory->data());
  WEIR_TRY(first_word.status());
  return std::unique_ptr<ProxiedMemory>(new ProxiedMemory(parts, std::move(*memory), first_word->device));
}

ProxiedMemory::ProxiedMemory(const Parts& parts, Pinned memory, uint64_t on_gpu)
    : memory_(std::move(memory)), rings_(parts.peers, parts.slot_bytes) {
  rings_.bind(memory_.data(), reinterpret_cast<std::byte*>(on_gpu));
  if (parts.routes != nullptr && parts.gpu->direct() != nullptr && parts.adapters.allows) lend(parts);
}

/// Each end decides for itself where its slots are: what is refused here is no business of others.
void ProxiedMemory::lend(const Parts& parts) {
  std::map<Transport*, Status> asked;
  const Status writes = parts.gpu->direct()->may_be_written();
  for (const Rank peer : parts.peers) {
    Transport* const transport = parts.routes->to(peer).transport;
    const auto [lent, is_new] = asked.try_emplace(transport);
    if (is_new) {
      lent->second = lend_to(*transport, parts);
      if (lent->second.code() == Code::invalid_argument) WEIR_WARN("{}", lent->second.message());
      WEIR_INFO(net, "GPUDirect RDMA: rank {}, {} to {}: {}", parts.rank, transport->name(),
                parts.gpu->description(),
                !lent->second.ok()     ? "no: " + lent->second.message()
                : !writes.ok()         ? "adapters only read: " + writes.message()
                : !parts.adapters.read ? "adapters only write, as NCCL_NET_GDR_READ says"
                                       : "yes");
    }
    if (!lent->second.ok()) continue;
    if (writes.ok()) rings_.place_slots(peer, false, slots_->begin());
    if (parts.adapters.read) rings_.place_slots(peer, true, slots_->begin());
  }
  if (slots_ != nullptr && !slots_->is_lent()) slots_.reset();
}

Status ProxiedMemory::lend_to(Transport& transport, const Parts& parts) {
  if (slots_ == nullptr) {
    auto made = GpuSlots::make(*parts.gpu, rings_.slots_bytes(), parts.adapters.allows);
    WEIR_TRY(made.status());
    slots_ = std::move(*made);
  }
  return slots_->lend_to(transport);
}

void ProxiedMemory::take_back() {
  if (slots_ != nullptr) slots_->take_back();
}

}  // namespace weir::core
