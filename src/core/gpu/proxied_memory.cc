// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/proxied_memory.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr size_t kMostRingBytes = size_t{256} << 20;

}  // namespace

Result<std::unique_ptr<ProxiedMemory>> ProxiedMemory::make(const Dependencies& dependencies) {
  const size_t bytes = exec::gpu::ProxyRings(dependencies.peers, dependencies.slot_bytes).bytes();
  if (bytes > kMostRingBytes)
    return Status(Code::system_error,
                  fmt::format("rings to {} ranks of other hosts need {} bytes of pinned memory; the limit is "
                              "{} bytes",
                              dependencies.peers.size(), bytes, kMostRingBytes));
  auto memory = Pinned::allocate(dependencies.gpu, bytes);
  WEIR_TRY(memory.status());
  const auto first_word = dependencies.gpu->flag_at(memory->data());
  WEIR_TRY(first_word.status());
  return std::unique_ptr<ProxiedMemory>(
      new ProxiedMemory(dependencies, std::move(*memory), first_word->device));
}

ProxiedMemory::ProxiedMemory(const Dependencies& dependencies, Pinned memory, uint64_t on_gpu)
    : memory_(std::move(memory)), rings_(dependencies.peers, dependencies.slot_bytes) {
  rings_.bind(memory_.data(), reinterpret_cast<std::byte*>(on_gpu));
  if (dependencies.routes != nullptr && dependencies.gpu->direct() != nullptr && dependencies.adapters.allows)
    register_slots(dependencies);
}

/// Registers GPU memory for the slots. Each end decides for itself where its slots are, so a refusal here
/// does not affect the peers.
void ProxiedMemory::register_slots(const Dependencies& dependencies) {
  std::map<Transport*, Status> asked;
  const Status writes = dependencies.gpu->direct()->may_be_written();
  for (const Rank peer : dependencies.peers) {
    Transport* const transport = dependencies.routes->to(peer).transport;
    const auto [asked_of, is_new] = asked.try_emplace(transport);
    if (is_new) {
      asked_of->second = register_with(*transport, dependencies);
      if (asked_of->second.code() == Code::invalid_argument) WEIR_WARN("{}", asked_of->second.message());
      WEIR_INFO(net, "GPUDirect RDMA: rank {}, {} to {}: {}", dependencies.rank, transport->name(),
                dependencies.gpu->description(),
                !asked_of->second.ok()        ? "no: " + asked_of->second.message()
                : !writes.ok()                ? "adapters only read: " + writes.message()
                : !dependencies.adapters.read ? "adapters only write (NCCL_NET_GDR_READ)"
                                              : "yes");
    }
    if (!asked_of->second.ok()) continue;
    if (writes.ok()) rings_.place_slots(peer, false, slots_->begin());
    if (dependencies.adapters.read) rings_.place_slots(peer, true, slots_->begin());
  }
  if (slots_ != nullptr && !slots_->is_registered()) slots_.reset();
}

Status ProxiedMemory::register_with(Transport& transport, const Dependencies& dependencies) {
  if (slots_ == nullptr) {
    auto made = GpuSlots::make(*dependencies.gpu, rings_.slots_bytes(), dependencies.adapters.allows);
    WEIR_TRY(made.status());
    slots_ = std::move(*made);
  }
  return slots_->register_with(transport);
}

void ProxiedMemory::deregister() {
  if (slots_ != nullptr) slots_->deregister();
}

}  // namespace weir::core
