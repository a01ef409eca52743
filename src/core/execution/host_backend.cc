// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/host_backend.h"

#include <algorithm>
#include <utility>

#include "src/base/exception.h"
#include "src/device/host_stream.h"

namespace weir::core {

using device::HostEvent;
using device::HostStream;

/// Operations of one communicator and their position in its order, which is given up in any case: those
/// behind it, and the end of the communicator, wait for that.
struct HostBackend::Share {
  Share(const Dependencies& with, std::vector<Operation> operations, const OperationQueue::Ticket& ticket)
      : with(&with), operations(std::move(operations)), ticket(ticket) {}
  Share(Share&& other) noexcept
      : with(std::exchange(other.with, nullptr)),
        operations(std::move(other.operations)),
        ticket(other.ticket) {}
  ~Share() {
    if (with == nullptr) return;
    with->queue->enter(ticket);
    leave();
  }

  void leave() { std::exchange(with, nullptr)->queue->leave(ticket); }

  const Dependencies* with;
  std::vector<Operation> operations;
  OperationQueue::Ticket ticket;
};

class HostBackend::HostCall final : public Call {
 public:
  HostCall(HostBackend& backend, Batch batch) : backend_(backend), batch_(std::move(batch)) {}

  bool advance() override { return false; }
  Status finish() override { return result_; }

  const Dependencies& with() const { return backend_.dependencies_; }
  const std::vector<StreamPlace>& places() const { return batch_.places; }
  /// Ends the call, as far as the caller is concerned.
  void set_result(Status result) { result_ = std::move(result); }
  /// The operations, in the order of those that are carried out at once, or later.
  Share share(bool at_once) {
    OperationQueue& queue = *with().queue;
    OperationQueue::Ticket ticket = at_once ? queue.draw() : queue.queue(batch_.operations, with().ranks);
    return {with(), std::move(batch_.operations), ticket};
  }

 private:
  HostBackend& backend_;
  Batch batch_;
  Status result_;
};

std::vector<Operation> HostBackend::take(std::vector<Operation>& operations,
                                         std::span<const StreamPlace> /*places*/) const {
  return std::exchange(operations, {});
}

Result<std::unique_ptr<Backend::Call>> HostBackend::prepare(Batch batch) {
  return std::unique_ptr<Call>(std::make_unique<HostCall>(*this, std::move(batch)));
}

Status HostBackend::start(std::span<Call* const> calls) {
  std::vector<HostCall*> left;
  for (Call* call : calls) left.push_back(static_cast<HostCall*>(call));
  if (!dependencies_.queue->blocking()) {
    const bool on_its_stream = left.size() == 1 && left[0]->places().size() == 1;
    for (HostCall* call : left) {
      HostStream* stream = on_its_stream ? call->places()[0].host : nullptr;
      if (stream == nullptr) {
        auto thread = call->with().queue->background();
        WEIR_TRY(thread.status());
        stream = *thread;
      }
      stream->submit([share = call->share(false)]() mutable { return carry_out({&share, 1}, false); });
      call->set_result({Code::in_progress, "the operation continues in the background"});
    }
    return {};
  }
  while (!left.empty()) {
    HostStream* const stream = left[0]->places()[0].host;
    const auto rest = std::stable_partition(
        left.begin(), left.end(), [&](const HostCall* call) { return call->places()[0].host == stream; });
    start_on(stream, {left.begin(), rest});
    left.erase(left.begin(), rest);
  }
  return {};
}

/// Calls of blocking communicators whose first place is on this stream; null: the caller's thread.
void HostBackend::start_on(HostStream* stream, std::span<HostCall* const> calls) {
  std::vector<Share> shares;
  for (HostCall* call : calls) {
    shares.push_back(call->share(stream == nullptr));
    for (const StreamPlace& other : call->places()) {  // what is queued there already comes first
      if (other.host == stream) continue;
      HostEvent before;
      before.record(other.host);
      before.hold(stream);
    }
  }
  if (stream == nullptr) {
    const Status done = carry_out(shares, true);
    for (HostCall* call : calls) call->set_result(done);
    return;
  }
  stream->submit([shares = std::move(shares)]() mutable { return carry_out(shares, false); });
  HostEvent done;
  done.record(stream);
  for (const HostCall* call : calls) {
    for (const StreamPlace& other : call->places())
      if (other.host != stream) done.hold(other.host);
  }
}

/// Carries shares of several communicators out together, each when it is its turn, on this thread.
/// `returned`: a call returns the error.
Status HostBackend::carry_out(std::span<Share> shares, bool returned) {
  const auto run = [&] {
    std::vector<Execution*> executions;
    for (Share& share : shares) {
      share.with->queue->enter(share.ticket);
      executions.push_back(share.with->execution);
      if (share.with->pace != nullptr) share.with->pace->begin(share.operations);
      executions.back()->begin(share.operations);
    }
    Status done = drive(executions);
    for (Share& share : shares)
      if (done.ok() && share.with->pace != nullptr) share.with->pace->end(share.with->execution->aborted());
    return done;
  };
  Status status = guarded(run, [&](const Status& why) {
    for (const Share& share : shares) share.with->lifecycle->fail(why, returned);
  });
  for (Share& share : shares) {
    share.with->queue->enter(share.ticket);
    if (const Status& own = share.with->execution->status(); !own.ok())
      share.with->lifecycle->fail(own, returned);
    share.leave();
  }
  return status;
}

}  // namespace weir::core
