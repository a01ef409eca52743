// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/ranks.h"

#include <algorithm>
#include <vector>

namespace weir::perf {
namespace {

constexpr size_t kWidestElement = 8;

/// Ends the group even after an error inside it; returns the first failure.
Outcome end_group(Outcome inside) {
  Outcome end = nccl(ncclGroupEnd());
  return inside.ok() ? std::move(end) : std::move(inside);
}

}  // namespace

Ranks::Ranks(const PerfOptions& options, int first, int count, int size) : options_(options), size_(size) {
  for (int i = 0; i < count; ++i) {
    LocalRank rank;
    rank.rank = first + i;
    local_.push_back(std::move(rank));
  }
}

Outcome Ranks::open(const Devices& devices, int first_on_host) {
  for (LocalRank& rank : local_) WEIR_TRY(devices.open(devices.of(first_on_host++), &rank.memory));
  return Outcome();
}

Ranks::~Ranks() {
  for (const Buffer& buffer : buffers_) buffer.memory->release(buffer.pointer, by_library());
}

Outcome Ranks::join(const ncclUniqueId& id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (options_.cta_policy) config.CTAPolicy = *options_.cta_policy;
  WEIR_TRY(nccl(ncclGroupStart()));
  Outcome joined;
  for (LocalRank& rank : local_) {
    if (joined.ok()) joined = rank.memory->select();
    if (joined.ok()) joined = nccl(ncclCommInitRankConfig(&rank.communicator, size_, id, rank.rank, &config));
  }
  return end_group(std::move(joined));
}

Outcome Ranks::allocate(size_t bytes) {
  bytes += static_cast<size_t>(options_.unalign) * kWidestElement;
  for (LocalRank& rank : local_) {
    WEIR_TRY(allocate_one(rank, bytes, &rank.send));
    WEIR_TRY(allocate_one(rank, bytes, &rank.recv));
  }
  if (options_.local_register == 0) return Outcome();
  const size_t registered = buffers_.size() / local_.size();
  WEIR_TRY(nccl(ncclGroupStart()));
  Outcome enrolled;
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (enrolled.ok()) enrolled = enroll(local_[i / registered], buffers_[i].pointer, bytes);
  return end_group(std::move(enrolled));
}

Outcome Ranks::allocate_one(LocalRank& rank, size_t bytes, char** out) {
  void* pointer = nullptr;
  WEIR_TRY(rank.memory->allocate(bytes, by_library(), &pointer));
  buffers_.push_back({rank.memory.get(), pointer});
  // Memory that was never written is mapped to one shared page of zeros, and is faster than other memory.
  const std::vector<char> zeros(std::min<size_t>(bytes, size_t{1} << 20));
  for (size_t at = 0; at < bytes; at += zeros.size()) {
    size_t block = std::min(zeros.size(), bytes - at);
    WEIR_TRY(rank.memory->copy(static_cast<char*>(pointer) + at, zeros.data(), block));
  }
  WEIR_TRY(rank.memory->synchronize());
  *out = static_cast<char*>(pointer);
  return Outcome();
}

Outcome Ranks::enroll(LocalRank& rank, void* buffer, size_t bytes) {
  registrations_.push_back({rank.communicator, nullptr, nullptr});
  Registration& made = registrations_.back();
  if (options_.local_register == 1)
    return nccl(ncclCommRegister(rank.communicator, buffer, bytes, &made.handle));
  const size_t whole = whole_pages(bytes);  // windows need whole pages
  return nccl(
      ncclCommWindowRegister(rank.communicator, buffer, whole, &made.window, NCCL_WIN_COLL_SYMMETRIC));
}

Outcome Ranks::leave() {
  std::lock_guard lock(leaving_);
  if (left_) return Outcome();
  left_ = true;
  for (const Registration& made : registrations_) {
    if (made.handle != nullptr) WEIR_TRY(nccl(ncclCommDeregister(made.communicator, made.handle)));
    if (made.window != nullptr) WEIR_TRY(nccl(ncclCommWindowDeregister(made.communicator, made.window)));
  }
  WEIR_TRY(nccl(ncclGroupStart()));
  Outcome left;
  for (const LocalRank& rank : local_)
    if (left.ok()) left = nccl(ncclCommDestroy(rank.communicator));
  return end_group(std::move(left));
}

void Ranks::abort() {
  std::lock_guard lock(leaving_);
  if (left_) return;
  left_ = true;
  for (const LocalRank& rank : local_)
    if (rank.communicator != nullptr) (void)ncclCommAbort(rank.communicator);
}

Outcome Ranks::asynchronous_error() {
  for (LocalRank& rank : local_) {
    ncclResult_t result = ncclSuccess;
    WEIR_TRY(nccl(ncclCommGetAsyncError(rank.communicator, &result)));
    WEIR_TRY(nccl(result));
  }
  return Outcome();
}

}  // namespace weir::perf
