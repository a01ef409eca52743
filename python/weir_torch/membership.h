// SPDX-License-Identifier: Apache-2.0
/// One rank's membership of a group: its communicators, messages, and the queue of its collectives.
///
/// It joins the other ranks when they are first needed. Thread-safe, except for close().
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "python/weir_torch/collectives.h"
#include "python/weir_torch/tagged_messages.h"

namespace weir_torch {

class Membership {
 public:
  /// `store`: has keys of this membership only.
  Membership(StorePtr store, int rank, int size, const TaskContextPtr& context);
  /// REQUIRES: close() was called.
  ~Membership() = default;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  c10d::Store& store() { return *store_; }
  Communicator& communicator() { return communicator_; }          ///< for tensors on the CPU
  Communicator& gpu_communicator() { return gpu_communicator_; }  ///< for those on the first GPU that is used
  TaggedMessages& tagged_messages() { return tagged_messages_; }
  const std::shared_ptr<TaskQueue>& queue() const { return queue_; }

  /// Number of collectives that this rank has issued.
  uint64_t issued() const { return issued_.load(); }
  void count_collective() { ++issued_; }
  /// Numbers of the group's barriers over the store, and of the groups made of it.
  uint64_t next_barrier() { return barriers_++; }
  uint64_t next_group() { return groups_++; }

  /// Throws after the first operation.
  void set_order(int order);
  int order() const;
  /// Why operations fail, with the sentence; success: they do not, as far as is known.
  std::pair<ncclResult_t, std::string> failure() const;

  /// Ends all operations in flight and all later ones with an error.
  void abort();
  /// Returns when all collectives issued so far are done. Like close(), without the interpreter's lock
  /// meanwhile: callbacks of futures may be Python's.
  void wait_for_all();
  /// Waits a short time for operations in flight, aborts the rest and ends the threads. Call it once.
  void close();

 private:
  const StorePtr store_;
  Communicator communicator_;
  Communicator gpu_communicator_;
  TaggedMessages tagged_messages_;
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
  std::atomic<uint64_t> issued_{0};
  std::atomic<uint64_t> barriers_{0};
  std::atomic<uint64_t> groups_{0};
};

}  // namespace weir_torch
