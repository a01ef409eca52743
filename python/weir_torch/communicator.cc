// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "python/weir_torch/roll_call.h"
#include "python/weir_torch/words.h"
#include "weir/failures.h"

namespace weir_torch {
namespace {

/// Limit for joining if the group has no timeout.
constexpr Milliseconds kLongestMeeting{24LL * 3600 * 1000};

}  // namespace

Communicator::Communicator(StorePtr store, std::string name, int rank, int size, std::string about)
    : store_(std::move(store)), name_(std::move(name)), rank_(rank), size_(size), about_(std::move(about)) {}

Communicator::~Communicator() {
  if (comm_ != nullptr) ncclCommDestroy(comm_);
}

ncclComm_t Communicator::current() const {
  std::lock_guard lock(mutex_);
  if (aborted_) refuse(about_ + "the group was aborted");
  return comm_;
}

bool Communicator::aborted() const {
  std::lock_guard lock(mutex_);
  return aborted_;
}

void Communicator::set_order(int order) {
  const std::lock_guard lock(mutex_);
  if (joins_)
    refuse(about_ + "the order of sums was set after the first operation of the group; expected it before");
  order_ = order;
}

int Communicator::order() const {
  const std::lock_guard lock(mutex_);
  return order_;
}

ncclComm_t Communicator::get(Milliseconds timeout) {
  if (current() == nullptr) connect(timeout);
  ncclComm_t comm = current();
  if (timeout != timeout_) {
    check(static_cast<ncclResult_t>(weirCommSetStuckTimeout(comm, timeout.count())));
    timeout_ = timeout;
  }
  return comm;
}

void Communicator::connect(Milliseconds timeout) {
  const Milliseconds meeting = timeout.count() > 0 ? timeout : kLongestMeeting;
  ncclUniqueId id;
  const std::string key = name_ + "/id";
  if (rank_ == 0) {
    check(ncclGetUniqueId(&id));
    const auto* bytes = reinterpret_cast<const uint8_t*>(id.internal);
    store_->set(key, std::vector<uint8_t>(bytes, bytes + sizeof(id.internal)));
  }
  const std::vector<int> missing =
      roll_call(*store_, name_, rank_, size_, meeting, [this] { return aborted(); });
  (void)current();  // throws after abort()
  if (!missing.empty()) {
    refuse(about_ + ranks(missing) + " did not join the first operation of the group within " +
           seconds(meeting));
  }
  const std::vector<uint8_t> bytes = store_->get(key);
  if (bytes.size() != sizeof(id.internal)) {
    refuse(about_ + "the store's key " + key + " has " + std::to_string(bytes.size()) + " bytes, expected " +
           std::to_string(sizeof(id.internal)));
  }
  std::memcpy(id.internal, bytes.data(), sizeof(id.internal));
  weirConfig_t config = weirConfig();
  {
    const std::lock_guard lock(mutex_);
    joins_ = true;
    config.order = order_;
  }
  ncclComm_t made = nullptr;
  check(ncclCommInitRankConfig(&made, size_, id, rank_, &config.nccl));
  int order = weirOrderUnset;
  check(static_cast<ncclResult_t>(weirCommOrder(made, &order)));
  std::unique_lock lock(mutex_);
  order_ = order;
  if (aborted_) {
    lock.unlock();
    ncclCommAbort(made);
    return;
  }
  comm_ = made;
}

void Communicator::check(ncclResult_t result) const {
  if (result == ncclSuccess) return;
  std::string sentence = ncclGetLastError(nullptr);
  if (sentence.empty()) sentence = ncclGetErrorString(result);
  refuse(about_ + sentence);
}

void Communicator::grouped(const std::function<void()>& body) const {
  check(ncclGroupStart());
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  const ncclResult_t ended = ncclGroupEnd();
  if (error) std::rethrow_exception(error);
  check(ended);
}

void Communicator::abort() {
  ncclComm_t comm = nullptr;
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
    comm = std::exchange(comm_, nullptr);
  }
  if (comm != nullptr) ncclCommAbort(comm);
}

}  // namespace weir_torch
