// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/tagged_messages.h"

#include <algorithm>
#include <cstring>

#include "python/weir_torch/rendezvous.h"
#include "python/weir_torch/tensors.h"
#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

constexpr cudaStream_t kNow = nullptr;
constexpr int kSender = 0, kReceiver = 1;
constexpr Milliseconds kForever{24LL * 3600 * 1000};

/// The first part of every message; short messages fit into it completely.
struct Envelope {
  int64_t tag;
  uint64_t bytes;
  char contents[1008];
};
static_assert(sizeof(Envelope) == 1024);

std::string name_of(int from, int to) {
  return "messages/" + std::to_string(from) + "/" + std::to_string(to);
}
std::string about(int from, int to) {
  return "message from rank " + std::to_string(from) + " (below: rank 0) to rank " + std::to_string(to) +
         " (below: rank 1): ";
}
std::string words(const char* what, int peer, int tag) {
  return std::string(what) + std::to_string(peer) + " with tag " + std::to_string(tag);
}
Milliseconds limit_of(Milliseconds timeout) { return timeout.count() > 0 ? timeout : kForever; }

}  // namespace

MessageSender::MessageSender(StorePtr store, int from, int to, TaskContextPtr context)
    : store_(store),
      context_(std::move(context)),
      to_(to),
      name_(name_of(from, to)),
      communicator_(store, name_, kSender, 2, about(from, to)) {}

TaskPtr MessageSender::send(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag,
                            Milliseconds timeout) {
  const auto body = [this, tensor, passage, tag, timeout] {
    at::Tensor here = tensor;
    if (passage != nullptr) passage->run({tensor}, [&] { here = packed(tensor).cpu(); });
    carry(here, tag, timeout);
  };
  TaskFacts facts{c10d::OpType::SEND, words("send to rank ", to_, tag), {tensor}, {tensor}, timeout, passage};
  auto task = c10::make_intrusive<Task>(queue_, context_, std::move(facts), body);
  queue_->submit(task);
  return task;
}

void MessageSender::carry(const at::Tensor& tensor, int tag, Milliseconds timeout) {
  if (!met_) {
    if (!await_key(*store_, name_ + "/asked", limit_of(timeout),
                   [this] { return communicator_.aborted(); })) {
      if (communicator_.aborted()) refuse("the group was aborted");
      refuse("rank " + std::to_string(to_) +
             " has not posted a receive for this rank within the timeout of " + seconds(timeout) +
             timed_out(timeout));
    }
    met_ = true;
  }
  ncclComm_t comm = communicator_.get(timeout);
  const at::Tensor flat = packed(tensor);
  Envelope envelope;
  envelope.tag = tag;
  envelope.bytes = flat.nbytes();
  const bool fits = flat.nbytes() <= sizeof(envelope.contents);
  if (fits && flat.nbytes() > 0) std::memcpy(envelope.contents, flat.data_ptr(), flat.nbytes());
  communicator_.check(ncclSend(&envelope, sizeof(envelope), ncclUint8, kReceiver, comm, kNow));
  if (!fits) communicator_.check(ncclSend(flat.data_ptr(), flat.nbytes(), ncclUint8, kReceiver, comm, kNow));
}

MessageReceiver::MessageReceiver(StorePtr store, int from, int to, TaskContextPtr context)
    : store_(store),
      context_(std::move(context)),
      from_(from),
      name_(name_of(from, to)),
      communicator_(store, name_, kReceiver, 2, about(from, to)) {}

TaskPtr MessageReceiver::receive(const PostedReceivePtr& wanted, Milliseconds timeout) {
  TaskFacts facts{c10d::OpType::RECV,
                  words("receive from rank ", from_, wanted->tag),
                  {wanted->tensor},
                  {wanted->tensor},
                  timeout,
                  wanted->passage};
  wanted->task = c10::make_intrusive<Task>(queue_, context_, std::move(facts),
                                           [this, wanted, timeout] { serve(wanted, timeout); });
  std::vector<char> bytes;
  {
    std::lock_guard lock(mutex_);
    if (!take_kept(wanted, bytes)) {
      wanted_.push_back(wanted);
      queue_->submit(wanted->task);
      return wanted->task;
    }
  }
  deliver(wanted, bytes);
  return wanted->task;
}

void MessageReceiver::look_for(const PostedReceivePtr& wanted) {
  std::vector<char> bytes;
  {
    std::lock_guard lock(mutex_);
    if (wanted->claimed) return;
    if (!take_kept(wanted, bytes)) {
      wanted_.push_back(wanted);
      TaskFacts facts{c10d::OpType::RECVANYSOURCE, "receive from any rank", {}, {}, Milliseconds(0)};
      queue_->submit(c10::make_intrusive<Task>(queue_, nullptr, std::move(facts),
                                               [this, wanted] { serve(wanted, Milliseconds(0)); }));
      queue_->urge();
      return;
    }
  }
  deliver(wanted, bytes);
}

bool MessageReceiver::take_kept(const PostedReceivePtr& wanted, std::vector<char>& bytes) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Message& message) { return message.tag == wanted->tag; });
  if (found == kept_.end() || wanted->claimed.exchange(true)) return false;
  bytes = std::move(found->bytes);
  kept_.erase(found);
  return true;
}

PostedReceivePtr MessageReceiver::claim(int tag) {
  std::lock_guard lock(mutex_);
  for (auto it = wanted_.begin(); it != wanted_.end();) {
    const PostedReceivePtr wanted = *it;
    if (wanted->claimed) {  // another message receiver has claimed it
      it = wanted_.erase(it);
    } else if (wanted->tag == tag && !wanted->claimed.exchange(true)) {
      wanted_.erase(it);
      return wanted;
    } else {
      ++it;
    }
  }
  return nullptr;
}

void MessageReceiver::serve(const PostedReceivePtr& wanted, Milliseconds timeout) {
  try {
    if (!met_ && !wanted->claimed) {
      const std::vector<uint8_t> yes{'1'};
      store_->set(name_ + "/asked", yes);
      const bool sent = await_key(*store_, Rendezvous::begun(name_), limit_of(timeout),
                                  [&] { return closed_ || wanted->claimed || communicator_.aborted(); });
      if (wanted->claimed) return;
      if (closed_ || communicator_.aborted()) refuse("the group was aborted");
      if (!sent)
        refuse("rank " + std::to_string(from_) + " has sent nothing to this rank within " + seconds(timeout) +
               timed_out(timeout));
      met_ = true;
    }
    while (!wanted->claimed) take_one(communicator_.get(timeout));
  } catch (...) {  // the receiver failed: no message can arrive here any more
    std::deque<PostedReceivePtr> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(wanted_);
    }
    for (const PostedReceivePtr& each : all) {
      if (!each->claimed.exchange(true)) finish(each, std::current_exception());
    }
    throw;
  }
}

void MessageReceiver::take_one(ncclComm_t comm) {
  Envelope envelope;
  communicator_.check(ncclRecv(&envelope, sizeof(envelope), ncclUint8, kSender, comm, kNow));
  const int tag = static_cast<int>(envelope.tag);
  const size_t size = envelope.bytes;
  const bool fits = size <= sizeof(envelope.contents);
  const PostedReceivePtr wanted = claim(tag);
  const bool in_place = wanted && wanted->passage == nullptr && is_packed(wanted->tensor);
  if (!fits && in_place && wanted->tensor.nbytes() == size) {
    std::exception_ptr error;
    try {
      communicator_.check(ncclRecv(wanted->tensor.data_ptr(), size, ncclUint8, kSender, comm, kNow));
    } catch (...) {
      error = std::current_exception();
    }
    finish(wanted, error);
    if (error) std::rethrow_exception(error);
    return;
  }
  std::vector<char> bytes(size);
  if (fits) {
    std::memcpy(bytes.data(), envelope.contents, size);
  } else {
    try {
      communicator_.check(ncclRecv(bytes.data(), size, ncclUint8, kSender, comm, kNow));
    } catch (...) {
      if (wanted) finish(wanted, std::current_exception());
      throw;
    }
  }
  if (wanted) {
    deliver(wanted, bytes);
  } else {
    std::unique_lock lock(mutex_);
    kept_.push_back({tag, std::move(bytes)});
    // A receive may have been posted since claim() looked.
    const auto late = std::find_if(wanted_.begin(), wanted_.end(), [&](const PostedReceivePtr& each) {
      return each->tag == tag && !each->claimed;
    });
    std::vector<char> message;
    if (late == wanted_.end() || !take_kept(*late, message)) return;
    const PostedReceivePtr to = *late;
    wanted_.erase(late);
    lock.unlock();
    deliver(to, message);
  }
}

void MessageReceiver::deliver(const PostedReceivePtr& wanted, const std::vector<char>& bytes) const {
  std::exception_ptr error;
  try {
    const at::Tensor& tensor = wanted->tensor;
    if (bytes.size() != tensor.nbytes()) {
      refuse("the message from rank " + std::to_string(from_) + " with tag " + std::to_string(wanted->tag) +
             " has " + std::to_string(bytes.size()) + " bytes, expected the size of the receiving tensor, " +
             std::to_string(tensor.nbytes()));
    }
    const at::NoGradGuard plain;
    const auto write = [&] {
      const Target target(tensor, /*keep=*/false);
      copy_elements(target.flat(), at::from_blob(const_cast<char*>(bytes.data()), target.flat().sizes(),
                                                 at::TensorOptions().dtype(tensor.dtype())));
      target.give_back();
    };
    if (wanted->passage != nullptr)
      wanted->passage->run({tensor}, write);
    else
      write();
  } catch (...) {
    error = std::current_exception();
  }
  finish(wanted, error);
}

void MessageReceiver::finish(const PostedReceivePtr& wanted, const std::exception_ptr& error) const {
  if (!error) wanted->task->set_source(from_);
  wanted->task->finish(error);
}

void MessageReceiver::close() {
  closed_ = true;
  communicator_.abort();
  queue_->close();
}

TaggedMessages::TaggedMessages(StorePtr store, int rank, int size, TaskContextPtr context)
    : store_(std::move(store)), context_(std::move(context)), rank_(rank), size_(size) {}

void TaggedMessages::close() {
  for (auto& [to, message_sender] : senders_) {
    if (!message_sender->queue().drain(kLastCall)) message_sender->communicator().abort();
    message_sender->queue().close();
    message_sender->communicator().leave();
  }
  for (auto& [from, message_receiver] : receivers_) message_receiver->close();
}

void TaggedMessages::check_peer(int peer, const char* what) const {
  if (peer < 0 || peer >= size_ || peer == rank_) {
    refuse(std::string(what) + " rank " + std::to_string(peer) + ", expected another rank of the group's " +
           std::to_string(size_));
  }
}

MessageSender& TaggedMessages::message_sender(int to) {
  std::lock_guard lock(mutex_);
  auto& box = senders_[to];
  if (!box) box = std::make_unique<MessageSender>(store_, rank_, to, context_);
  if (aborted_) box->communicator().abort();
  return *box;
}

MessageReceiver& TaggedMessages::message_receiver(int from) {
  std::lock_guard lock(mutex_);
  auto& box = receivers_[from];
  if (!box) box = std::make_unique<MessageReceiver>(store_, from, rank_, context_);
  if (aborted_) box->communicator().abort();
  return *box;
}

TaskPtr TaggedMessages::send(const at::Tensor& tensor, const GpuPassagePtr& passage, int to, int tag,
                             Milliseconds timeout) {
  check_peer(to, "send to");
  return message_sender(to).send(tensor, passage, tag, timeout);
}

TaskPtr TaggedMessages::receive(const at::Tensor& tensor, const GpuPassagePtr& passage, int from, int tag,
                                Milliseconds timeout) {
  check_peer(from, "receive from");
  auto wanted = std::make_shared<PostedReceive>();
  wanted->tensor = tensor;
  wanted->passage = passage;
  wanted->tag = tag;
  return message_receiver(from).receive(wanted, timeout);
}

TaskPtr TaggedMessages::receive_from_any(const at::Tensor& tensor, const GpuPassagePtr& passage, int tag,
                                         Milliseconds timeout) {
  auto wanted = std::make_shared<PostedReceive>();
  wanted->tensor = tensor;
  wanted->passage = passage;
  wanted->tag = tag;
  TaskFacts facts{c10d::OpType::RECVANYSOURCE,
                  "receive from any rank with tag " + std::to_string(tag),
                  {tensor},
                  {tensor},
                  timeout,
                  passage};
  wanted->task = c10::make_intrusive<Task>(nullptr, context_, std::move(facts), nullptr);
  for (int from = 0; from < size_; ++from) {
    if (from != rank_) message_receiver(from).look_for(wanted);
  }
  return wanted->task;
}

void TaggedMessages::abort() {
  std::vector<Communicator*> all;
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
    for (auto& [to, message_sender] : senders_) all.push_back(&message_sender->communicator());
    for (auto& [from, message_receiver] : receivers_) all.push_back(&message_receiver->communicator());
  }
  for (Communicator* communicator : all) communicator->abort();
}

}  // namespace weir_torch
