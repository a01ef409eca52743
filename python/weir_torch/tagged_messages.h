// SPDX-License-Identifier: Apache-2.0
/// Tagged point-to-point messages in both directions, independent of the collectives.
///
/// Each direction between two ranks has its own communicator, created when its first message is sent, with a
/// sender's and a receiver's end. Messages with one tag arrive in the order in which they were sent; receives
/// may be posted for tags in any order. Messages that arrive before their receive is posted are kept. Tensors
/// on GPUs are copied through host memory.
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

/// A posted receive.
struct PostedReceive {
  at::Tensor tensor;      ///< receiving tensor
  GpuPassagePtr passage;  ///< GPU passage if the tensor is on a GPU
  int tag = 0;
  std::atomic<bool> claimed{false};  ///< a message was found for it
  TaskPtr task;
};
using PostedReceivePtr = std::shared_ptr<PostedReceive>;

/// The sender's end.
class MessageSender {
 public:
  MessageSender(StorePtr store, int from, int to, TaskContextPtr context);
  TaskPtr send(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag, Milliseconds timeout);
  TaskQueue& queue() { return *queue_; }
  Communicator& communicator() { return communicator_; }

 private:
  void carry(const at::Tensor& tensor, int tag, Milliseconds timeout);

  const StorePtr store_;
  const TaskContextPtr context_;
  const int to_;
  const std::string name_;
  Communicator communicator_;
  bool met_ = false;  ///< the receiver has posted a receive once
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
};

/// The receiver's end.
class MessageReceiver {
 public:
  MessageReceiver(StorePtr store, int from, int to, TaskContextPtr context);
  /// Sets wanted->task.
  TaskPtr receive(const PostedReceivePtr& wanted, Milliseconds timeout);
  /// Looks for a message for a task without a deadline, for which other receivers may look, too.
  void look_for(const PostedReceivePtr& wanted);
  TaskQueue& queue() { return *queue_; }
  Communicator& communicator() { return communicator_; }
  /// Ends all current and later waits.
  void close();

 private:
  struct Message {
    int tag;
    std::vector<char> bytes;
  };

  /// Receives messages until one matches `wanted`.
  void serve(const PostedReceivePtr& wanted, Milliseconds timeout);
  /// Reads one message, and delivers or keeps it.
  void take_one(ncclComm_t comm);
  /// Searches the kept messages. REQUIRES: mutex_ is held.
  bool take_kept(const PostedReceivePtr& wanted, std::vector<char>& bytes);
  /// Claims and returns the first posted receive with this tag, or null.
  PostedReceivePtr claim(int tag);
  void deliver(const PostedReceivePtr& wanted, const std::vector<char>& bytes) const;
  void finish(const PostedReceivePtr& wanted, const std::exception_ptr& error) const;

  const StorePtr store_;
  const TaskContextPtr context_;
  const int from_;
  const std::string name_;
  Communicator communicator_;
  std::atomic<bool> closed_{false};
  bool met_ = false;
  std::mutex mutex_;
  std::deque<PostedReceivePtr> wanted_;
  std::deque<Message> kept_;
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>(TaskQueue::Help::own);
};

/// All directions of one rank. Thread-safe.
class TaggedMessages {
 public:
  TaggedMessages(StorePtr store, int rank, int size, TaskContextPtr context);
  /// REQUIRES: close() was called.
  ~TaggedMessages() = default;
  TaggedMessages(const TaggedMessages&) = delete;
  TaggedMessages& operator=(const TaggedMessages&) = delete;

  TaskPtr send(const at::Tensor& tensor, const GpuPassagePtr& passage, int to, int tag, Milliseconds timeout);
  TaskPtr receive(const at::Tensor& tensor, const GpuPassagePtr& passage, int from, int tag,
                  Milliseconds timeout);
  TaskPtr receive_from_any(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag,
                           Milliseconds timeout);
  /// Ends all operations in flight; every later message fails.
  void abort();
  /// Gives unfinished sends a last chance, and ends all threads. Call it once, when no other call is active.
  void close();

 private:
  MessageSender& message_sender(int to);
  MessageReceiver& message_receiver(int from);
  void check_peer(int peer, const char* what) const;

  const StorePtr store_;
  const TaskContextPtr context_;
  const int rank_;
  const int size_;
  std::mutex mutex_;
  bool aborted_ = false;
  std::map<int, std::unique_ptr<MessageSender>> senders_;
  std::map<int, std::unique_ptr<MessageReceiver>> receivers_;
};

}  // namespace weir_torch
