// SPDX-License-Identifier: Apache-2.0
/// One communicator of weir, met through PyTorch's store when it is first used.
///
/// Threads: get(), check() and grouped() belong to the thread that carries out operations, one at a time.
/// abort() may be called from any thread at any time, also while another waits in an operation.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "nccl.h"
#include "python/weir_torch/base.h"

namespace weir_torch {

class Communicator {
 public:
  /// `name`: of its keys in the store. `about`: put before every error; may be empty.
  Communicator(StorePtr store, std::string name, int rank, int size, std::string about = "");
  /// Destroys the communicator; nobody uses it any more.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Ready for operations, which fail when a rank that runs keeps the others waiting for `timeout` (0: they
  /// wait for ever). The first call meets the other ranks and names those that have not come within
  /// `timeout`. Throws.
  ncclComm_t get(Milliseconds timeout);
  /// Throws weir's sentence unless the result is success.
  void check(ncclResult_t result) const;
  /// Calls `body` between ncclGroupStart and ncclGroupEnd. Throws the first error, once the group has ended.
  void grouped(const std::function<void()>& body) const;

  /// Whatever is under way, and every operation from now on, ends with an error.
  void abort();
  bool aborted() const;

 private:
  ncclComm_t current() const;
  void connect(Milliseconds timeout);

  const StorePtr store_;
  const std::string name_;
  const int rank_;
  const int size_;
  const std::string about_;
  mutable std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  bool aborted_ = false;
  Milliseconds timeout_{-1};  ///< that the communicator has now
};

}  // namespace weir_torch
