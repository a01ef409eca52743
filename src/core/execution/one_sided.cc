// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/one_sided.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/core/call/operation_summary.h"
#include "src/net/listener/listener.h"

namespace weir::core {
namespace {

using exec::Progress;

/// Maximum bytes of a put in one message: few enough that they do not occupy a listener for long.
constexpr size_t kPiece = size_t{1} << 20;

/// A put of at most this many bytes has its signal in the same message. The signal of a larger put is sent
/// alone: the pieces, harmless if they arrive twice, can then be resent after an overloaded listener has
/// closed the connection.
constexpr size_t kTogether = size_t{64} << 10;
constexpr int kAttempts = 3;

}  // namespace

void OneSidedTask::start(const Operation& operation) {
  operation_ = &operation;
  done_ = 0;
  error_ = {};
  waiting_for_ = peer_of(operation);
  if (std::holds_alternative<WaitOp>(operation))
    own_ = dependencies_.windows->find(dependencies_.uid, dependencies_.rank);
}

Progress OneSidedTask::advance() {
  if (const auto* const put = std::get_if<PutOp>(operation_)) return deliver(*put);
  if (const auto* const signal = std::get_if<SignalOp>(operation_)) return deliver(*signal);
  return wait(std::get<WaitOp>(*operation_));
}

/// Consumes the awaited signals in the order of the list; signals for later entries stay counted for these.
Progress OneSidedTask::wait(const WaitOp& operation) {
  const std::vector<AwaitedSignals>& awaited = *operation.awaited;
  const size_t before = done_;
  while (done_ < awaited.size() && own_->consume(awaited[done_].key, awaited[done_].count)) ++done_;
  if (done_ == awaited.size()) return Progress::done;
  waiting_for_ = awaited[done_].key.from;
  return done_ > before ? Progress::moved : Progress::blocked;
}

/// Sends the next piece, or the signal.
Progress OneSidedTask::deliver(const PutOp& operation) {
  const size_t total = operation.count * size_of(operation.type);
  const Rank peer = operation.peer;
  Delivery delivery;
  delivery.window = operation.window;
  delivery.offset = operation.offset + done_;
  const size_t now = is_local(peer) ? total - done_ : std::min(total - done_, kPiece);
  if (now > 0) delivery.bytes = {static_cast<const std::byte*>(operation.input) + done_, now};
  if (now == 0 || is_local(peer) || total <= kTogether)
    delivery.signal = SignalKey{dependencies_.rank, operation.index, operation.context};
  return carry_out(peer, delivery);
}

Progress OneSidedTask::deliver(const SignalOp& operation) {
  Delivery delivery;
  delivery.signal = SignalKey{dependencies_.rank, operation.index, operation.context};
  return carry_out(operation.peer, delivery);
}

/// Makes the delivery; one with a signal ends the operation.
Progress OneSidedTask::carry_out(Rank peer, const Delivery& delivery) {
  const Delivered delivered = send(peer, delivery);
  if (delivered.code() == Code::in_progress) return Progress::blocked;  // the peer has no such window yet
  if (!delivered.ok()) {
    error_ = delivered.reworded(
        fmt::format("{} to rank {}: {}", describe(*operation_), peer, delivered.message()));
    return Progress::failed;
  }
  done_ += delivery.bytes.size();
  return delivery.signal ? Progress::done : Progress::moved;
}

bool OneSidedTask::is_local(Rank peer) const {
  const PeerAddress& own = (*dependencies_.peers)[static_cast<size_t>(dependencies_.rank)];
  const PeerAddress& other = (*dependencies_.peers)[static_cast<size_t>(peer)];
  return own.listener == other.listener && own.pid == other.pid;
}

Delivered OneSidedTask::send(Rank peer, const Delivery& delivery) const {
  if (is_local(peer)) return dependencies_.windows->deliver(dependencies_.uid, peer, delivery);
  const SocketAddress& listener = (*dependencies_.peers)[static_cast<size_t>(peer)].listener;
  const Bytes question = WindowRegistry::question(peer, delivery);
  for (int attempt = 1;; ++attempt) {
    const Answer answer = ask(listener, dependencies_.uid, dependencies_.credentials, question,
                              Deadline::in_ms(dependencies_.answer_ms, abort_));
    if (answer.kind == Answer::Kind::given) {
      const std::optional<Delivered> read = WindowRegistry::read_answer(answer.bytes);
      return read ? *read : Delivered(Code::remote_error, "its process sent a malformed answer");
    }
    const bool again = answer.kind == Answer::Kind::refused && !delivery.signal && attempt < kAttempts;
    if (!again && answer.kind == Answer::Kind::unasked) return Status::shortage(answer.why);
    if (!again) return {Code::remote_error, answer.why};
  }
}

}  // namespace weir::core
