// SPDX-License-Identifier: Apache-2.0
/// Messages between two ranks, with tags, in both directions, beside the collectives and without waiting for
/// them.
///
/// Each direction between two ranks has a communicator of its own, made when its first message is sent: a
/// sender's and a receiver's end. Messages of one tag arrive in the order in which they were sent; a receiver
/// may ask for tags in any order. What comes before it is asked for is kept. Tensors on GPUs go through the
/// host's memory.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "python/weir_torch/communicator.h"
#include "python/weir_torch/task.h"

namespace weir_torch {

/// A message that somebody wants.
struct Wanted {
  at::Tensor tensor;      ///< where it goes
  GpuPassagePtr passage;  ///< if that is on a GPU
  int tag = 0;
  std::atomic<bool> claimed{false};  ///< a message was found for it
  TaskPtr task;
};
using WantedPtr = std::shared_ptr<Wanted>;

/// The sender's end.
class MessageSender {
 public:
  MessageSender(StorePtr store, int from, int to);
  TaskPtr send(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag, Milliseconds timeout);
  TaskQueue& queue() { return *queue_; }
  Communicator& communicator() { return communicator_; }

 private:
  void carry(const at::Tensor& tensor, int tag, Milliseconds timeout);

  const StorePtr store_;
  const int to_;
  const std::string name_;
  Communicator communicator_;
  bool met_ = false;  ///< the receiver has asked for a message once
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
};

/// The receiver's end.
class MessageReceiver {
 public:
  MessageReceiver(StorePtr store, int from, int to);
  /// wanted->task is set here.
  TaskPtr receive(const WantedPtr& wanted, Milliseconds timeout);
  /// Looks for a message to a task that others may find one for, too, and has no deadline.
  void look_for(const WantedPtr& wanted);
  TaskQueue& queue() { return *queue_; }
  Communicator& communicator() { return communicator_; }
  /// Ends every wait here and from now on.
  void close();

 private:
  struct Message {
    int tag;
    std::vector<char> bytes;
  };

  /// Takes messages until `wanted` has one.
  void serve(const WantedPtr& wanted, Milliseconds timeout);
  /// Reads one message and gives it to who wants it, or keeps it.
  void take_one(ncclComm_t comm);
  /// From what was kept. REQUIRES: mutex_ is held.
  bool take_kept(const WantedPtr& wanted, std::vector<char>& bytes);
  /// The first that wants this tag, now claimed, or null.
  WantedPtr claim(int tag);
  void deliver(const WantedPtr& wanted, const std::vector<char>& bytes) const;
  void finish(const WantedPtr& wanted, const std::exception_ptr& error) const;

  const StorePtr store_;
  const int from_;
  const std::string name_;
  Communicator communicator_;
  std::atomic<bool> closed_{false};
  bool met_ = false;
  std::mutex mutex_;
  std::deque<WantedPtr> wanted_;
  std::deque<Message> kept_;
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>(TaskQueue::Help::own);
};

/// All directions of one rank. Thread-safe.
class TaggedMessages {
 public:
  TaggedMessages(StorePtr store, int rank, int size);
  /// REQUIRES: close() was called.
  ~TaggedMessages() = default;
  TaggedMessages(const TaggedMessages&) = delete;
  TaggedMessages& operator=(const TaggedMessages&) = delete;

  TaskPtr send(const at::Tensor& tensor, const GpuPassagePtr& passage, int to, int tag, Milliseconds timeout);
  TaskPtr receive(const at::Tensor& tensor, const GpuPassagePtr& passage, int from, int tag,
                  Milliseconds timeout);
  TaskPtr receive_from_any(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag,
                           Milliseconds timeout);
  /// Ends what is under way; every message from now on fails.
  void abort();
  /// Gives sends that nobody waited for a last chance, and ends all threads. Once, when nobody calls anything
  /// any more.
  void close();

 private:
  MessageSender& message_sender(int to);
  MessageReceiver& message_receiver(int from);
  void check_peer(int peer, const char* what) const;

  const StorePtr store_;
  const int rank_;
  const int size_;
  std::mutex mutex_;
  bool aborted_ = false;
  std::map<int, std::unique_ptr<MessageSender>> senders_;
  std::map<int, std::unique_ptr<MessageReceiver>> receivers_;
};

}  // namespace weir_torch
