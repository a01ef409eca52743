// SPDX-License-Identifier: Apache-2.0
/// One communicator of weir, which joins through PyTorch's store when it is first used.
///
/// Threads: one thread at a time, the one that executes operations, calls get(), check() and grouped(). Any
/// thread may call abort() at any time, also while another thread waits in an operation.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "nccl.h"
#include "python/weir_torch/base.h"
#include "weir/config.h"

namespace weir_torch {

class Communicator {
 public:
  /// `name`: prefix of its keys in the store. `about`: prefix of every error; may be empty.
  Communicator(StorePtr store, std::string name, int rank, int size, std::string about = "");
  /// Destroys the communicator. REQUIRES: nobody uses it any more.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Sets the order of its sums, one of weir/config.h. Throws if it has joined the other ranks. Any thread
  /// may call this and order().
  void set_order(int order);
  /// The order of its sums once it has joined; before, the one that was set.
  int order() const;

  /// Returns the communicator; its operations fail if a running rank keeps the others waiting for `timeout`
  /// (0: unlimited). The first call joins the other ranks; throws an error that names those that have not
  /// joined within `timeout`.
  ncclComm_t get(Milliseconds timeout);
  /// The communicator if it has joined the other ranks, and was not aborted; else null.
  ncclComm_t joined() const;
  /// Throws weir's error message unless the result is success.
  void check(ncclResult_t result) const;
  /// Calls `body` between ncclGroupStart and ncclGroupEnd. Throws the first error after the group has ended.
  void grouped(const std::function<void()>& body) const;

  /// Why it has failed, with the sentence; success: it has not, as far as is known. Any thread may call this.
  std::pair<ncclResult_t, std::string> failure() const;

  /// Leaves the other ranks, which learn of it; later operations fail. REQUIRES: no operation is in flight.
  void leave();
  /// Ends all operations in flight and all later ones with an error.
  void abort();
  bool aborted() const;

 private:
  /// Takes the communicator away from all others that call get(); sets `why`, one of aborted_ and left_.
  ncclComm_t end(bool& why);
  ncclComm_t current() const;
  void connect(Milliseconds timeout);
  ncclUniqueId meet(Milliseconds timeout);

  const StorePtr store_;
  const std::string name_;
  const int rank_;
  const int size_;
  const std::string about_;
  mutable std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  bool aborted_ = false;
  bool left_ = false;
  int order_ = weirOrderUnset;
  bool joins_ = false;        ///< it joins, or has joined, with this order
  Milliseconds timeout_{-1};  ///< current timeout of the communicator
};

}  // namespace weir_torch
