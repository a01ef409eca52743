// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "python/weir_torch/rendezvous.h"
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
  if (left_) refuse(about_ + "the group was closed");
  return comm_;
}

ncclComm_t Communicator::joined() const {
  const std::lock_guard lock(mutex_);
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

/// Meets the other ranks and returns the id that rank 0 has made for them.
ncclUniqueId Communicator::meet(Milliseconds timeout) {
  ncclUniqueId id;
  Rendezvous rendezvous(*store_, name_, rank_, size_);
  const auto given_up = [this] { return aborted(); };
  std::vector<int> missing;
  if (rank_ == 0) {
    check(ncclGetUniqueId(&id));
    missing = rendezvous.await_all(timeout, given_up);
    if (missing.empty()) rendezvous.say(std::string(id.internal, sizeof(id.internal)));
  } else if (const auto said = rendezvous.listen(timeout, given_up);
             said && said->size() == sizeof(id.internal)) {
    std::memcpy(id.internal, said->data(), sizeof(id.internal));
  } else {
    missing = rendezvous.missing();
  }
  (void)current();  // throws after abort()
  if (missing.empty()) return id;
  refuse(about_ + ranks(missing) + " did not join the first operation of the group within the timeout of " +
         seconds(timeout) + timed_out(timeout));
}

void Communicator::connect(Milliseconds timeout) {
  const Milliseconds meeting = timeout.count() > 0 ? timeout : kLongestMeeting;
  const ncclUniqueId id = meet(meeting);
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
  if (aborted_ || left_) {
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

std::pair<ncclResult_t, std::string> Communicator::failure() const {
  const std::lock_guard lock(mutex_);
  ncclResult_t state = ncclSuccess;
  if (comm_ == nullptr || ncclCommGetAsyncError(comm_, &state) != ncclSuccess || state == ncclInProgress)
    return {ncclSuccess, ""};
  return {state, state == ncclSuccess ? "" : ncclGetLastError(comm_)};
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

ncclComm_t Communicator::end(bool& why) {
  const std::lock_guard lock(mutex_);
  why = true;
  return std::exchange(comm_, nullptr);
}

void Communicator::leave() {
  if (ncclComm_t comm = end(left_)) ncclCommDestroy(comm);
}

void Communicator::abort() {
  if (ncclComm_t comm = end(aborted_)) ncclCommAbort(comm);
}

}  // namespace weir_torch
