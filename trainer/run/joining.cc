// SPDX-License-Identifier: Apache-2.0
// The part of World by which processes join.
#include <fmt/format.h>
#include <weir/unique_id.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "trainer/run/newcomer.h"
#include "trainer/run/own_address.h"
#include "trainer/run/world.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

constexpr const char* kJoining = "letting processes join";
constexpr size_t kAddressBytes = 128;

/// One element of each rank. Collective.
template <typename T>
Result<std::vector<T>> from_all(ncclComm_t comm, int rank, int ranks, const T& own) {
  std::vector<T> all(static_cast<size_t>(ranks));
  T* const mine = all.data() + rank;
  *mine = own;
  WEIR_TRY(shard::checked(ncclAllGather(mine, all.data(), sizeof(T), ncclChar, comm, nullptr), kJoining));
  return all;
}

std::string plural_of_processes(int count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

}  // namespace

Result<bool> World::enter(const std::string& addresses, const std::string& options) {
  for (;;) {
    const auto called = wait_to_join(addresses_in(addresses), options);
    WEIR_TRY(called.status());
    if (!called->has_value()) return false;
    const Call& call = **called;
    ncclComm_t grown = nullptr;
    weirConfig_t config = weirConfig();
    config.order = order_;
    int32_t go = 0;
    // Where this fails, the others go on without the newcomers, of which this one may come again.
    if (ncclCommGrow(nullptr, call.ranks, &call.id, call.rank, &grown, &config.nccl) != ncclSuccess) continue;
    if (ncclBroadcast(&go, &go, 1, ncclInt32, 0, grown, nullptr) != ncclSuccess) {
      (void)ncclCommAbort(grown);
      continue;
    }
    WEIR_TRY(take(grown, false));
    is_outside_ = false;
    target_ = call.target;
    newcomers_ = go;
    options_ = options;
    (void)settle_listeners();  // where ranks were lost meanwhile, the first step says so
    return true;
  }
}

Status World::listen_for_newcomers(const std::string& options) {
  options_ = options;
  return settle_listeners();
}

/// The first rank of each host has a listener. What is wrong with the address of one host does not concern
/// others.
Status World::settle_listeners() {
  if (options_.empty()) return {};
  const auto places = shard::places_of_ranks(comm_);
  WEIR_TRY(places.status());
  const auto host = [&](int rank) { return (*places)[static_cast<size_t>(rank)].host; };
  int first = 0;
  while (host(first) != host(rank_)) ++first;
  const char* const meeting = std::getenv("NCCL_COMM_ID");
  if (first == rank_ && listener_ == nullptr && meeting != nullptr) {
    const auto address = own_address(meeting);
    if (address.ok()) listener_ = std::make_unique<NewcomerListener>(*address, options_);
  }
  std::array<char, kAddressBytes> own{};
  if (first == rank_ && listener_ != nullptr) listener_->address().copy(own.data(), own.size() - 1);
  const auto all = from_all(comm_, rank_, ranks_, own);
  WEIR_TRY(all.status());
  addresses_.clear();
  for (const auto& address : *all)
    if (address[0] != 0) addresses_ += (addresses_.empty() ? "" : ",") + std::string(address.data());
  if (listener_ != nullptr) listener_->set_others(addresses_);
  return {};
}

bool World::has_newcomers() const {
  return listener_ != nullptr && listener_->has_news() && (target_ == 0 || ranks_ < target_);
}

Result<std::string> World::admit(const std::function<int(int)>& fitting) {
  if (options_.empty()) return std::string();
  const bool is_full = target_ > 0 && ranks_ >= target_;
  const int own = listener_ != nullptr && !is_full ? listener_->count_present() : 0;
  const auto counts = from_all(comm_, rank_, ranks_, own);
  WEIR_TRY(counts.status());
  int waiting = std::accumulate(counts->begin(), counts->end(), 0);
  if (target_ > 0) waiting = std::min(waiting, target_ - ranks_);
  const int count = waiting > 0 ? fitting(waiting) : 0;
  if (count <= 0) return std::string();
  const int before = std::accumulate(counts->begin(), counts->begin() + rank_, 0);
  const Status grown = grow(count, std::clamp(count - before, 0, own), before);
  if (grown.code() == Code::in_progress)
    return fmt::format("{} could not join: {}", plural_of_processes(count), grown.message());
  WEIR_TRY(grown);
  return fmt::format("{} joined: {} ranks continue", plural_of_processes(count), ranks_);
}

/// That of a new root in the process of rank 0. The same, or the same error, on all ranks.
Result<ncclUniqueId> World::id_to_grow() const {
  struct Offer {
    int32_t code = 0;
    ncclUniqueId id = {};
  } offer;
  if (rank_ == 0) offer.code = weirGetUniqueIdAt(nullptr, &offer.id);
  WEIR_TRY(
      shard::checked(ncclBroadcast(&offer, &offer, sizeof offer, ncclChar, 0, comm_, nullptr), kJoining));
  if (offer.code != 0) return Status(Code::in_progress, "rank 0 has no address for them");
  return offer.id;
}

/// Adds `count` processes, of which `own_count`, after `before` others, wait at this rank's listener. The
/// code is in_progress, on all ranks, if newcomers were lost meanwhile and the world is as it was.
Status World::grow(int count, int own_count, int before) {
  const auto id = id_to_grow();
  WEIR_TRY(id.status());
  const int ranks = ranks_ + count;
  if (own_count > 0) listener_->let_go(own_count, {Call::join, ranks_ + before, ranks, target_, *id});
  ncclComm_t grown = nullptr;
  const Status status =
      shard::checked(ncclCommGrow(comm_, ranks, rank_ == 0 ? &*id : nullptr, -1, &grown, nullptr), kJoining);
  // Newcomers may die when some ranks have the new communicator already.
  int32_t all = status.ok() ? 1 : 0;
  const Status agreed =
      shard::checked(ncclAllReduce(&all, &all, 1, ncclInt32, ncclMin, comm_, nullptr), kJoining);
  if (!agreed.ok() || all == 0) {
    if (grown != nullptr) (void)ncclCommAbort(grown);
    WEIR_TRY(agreed);
    return Status(Code::in_progress, status.ok() ? "another rank has lost them" : status.message());
  }
  WEIR_TRY(take(grown, false));
  newcomers_ = count;
  int32_t go = count;
  WEIR_TRY(shard::checked(ncclBroadcast(&go, &go, 1, ncclInt32, 0, comm_, nullptr), kJoining));
  return settle_listeners();
}

Result<std::string> World::expel_newcomers() {
  const int kept = ranks_ - newcomers_;
  std::vector<int> gone(static_cast<size_t>(newcomers_));
  std::iota(gone.begin(), gone.end(), kept);
  ncclComm_t smaller = nullptr;
  WEIR_TRY(
      shard::checked(ncclCommShrink(comm_, gone.data(), newcomers_, &smaller, nullptr, NCCL_SHRINK_ABORT),
                     "going on without those that joined"));
  WEIR_TRY(take(smaller, true));
  const int count = std::exchange(newcomers_, 0);
  WEIR_TRY(settle_listeners());
  return fmt::format("{} cannot take part", plural_of_processes(count));
}

}  // namespace weir::trainer
