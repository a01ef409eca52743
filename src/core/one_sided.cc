#include "src/core/one_sided.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/door.h"

namespace weir::core {
namespace {

using exec::Progress;

/// Bytes that go with a question: little enough that a door is not busy with them for long.
constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

void OneSidedTask::start(const Operation& operation) {
  operation_ = &operation;
  done_ = 0;
  error_ = {};
  waiting_for_ = operation.root;
}

Progress OneSidedTask::advance() { return operation_->side == Operation::Side::wait ? wait() : deliver(); }

/// In the order of the list; what has come for later ones stays for them.
Progress OneSidedTask::wait() {
  const std::vector<OneSidedCall::Awaited>& awaited = operation_->one_sided->awaited;
  const std::shared_ptr<LandingSpace> own = parts_.landings->find(parts_.uid, parts_.rank);
  const size_t before = done_;
  while (done_ < awaited.size() && own->consume(awaited[done_].key, awaited[done_].count)) ++done_;
  if (done_ == awaited.size()) return Progress::done;
  waiting_for_ = awaited[done_].key.from;
  return done_ > before ? Progress::moved : Progress::blocked;
}

/// The next piece; the last one brings the signal.
Progress OneSidedTask::deliver() {
  const OneSidedCall& call = *operation_->one_sided;
  const size_t total = operation_->count * size_of(operation_->type);
  const Rank peer = operation_->root;
  Delivery delivery;
  delivery.landing = call.landing;
  delivery.offset = call.offset + done_;
  const size_t now = is_local(peer) ? total - done_ : std::min(total - done_, kPiece);
  if (now > 0) delivery.bytes = {static_cast<const std::byte*>(operation_->input) + done_, now};
  if (done_ + now == total) delivery.signal = SignalKey{parts_.rank, call.index, call.context};
  const Delivered delivered = send(peer, delivery);
  if (delivered.code() == Code::in_progress) return Progress::blocked;  // the peer has to come so far
  if (!delivered.ok()) {
    error_ = {delivered.code(),
              fmt::format("{} to rank {}: {}", describe(*operation_), peer, delivered.message())};
    return Progress::failed;
  }
  done_ += now;
  return done_ == total ? Progress::done : Progress::moved;
}

bool OneSidedTask::is_local(Rank peer) const {
  const PeerAddress& own = (*parts_.peers)[static_cast<size_t>(parts_.rank)];
  const PeerAddress& other = (*parts_.peers)[static_cast<size_t>(peer)];
  return own.door == other.door && own.pid == other.pid;
}

Delivered OneSidedTask::send(Rank peer, const Delivery& delivery) const {
  if (is_local(peer)) return parts_.landings->deliver(parts_.uid, peer, delivery);
  const Answer answer =
      ask((*parts_.peers)[static_cast<size_t>(peer)].door, parts_.uid, Landings::question(peer, delivery),
          Deadline::in_ms(parts_.answer_ms, parts_.abort));
  if (answer.kind != Answer::Kind::given) return {Code::remote_error, answer.why};
  const std::optional<Delivered> read = Landings::read_answer(answer.bytes);
  return read ? *read : Delivered(Code::remote_error, "its process gave no answer that makes sense");
}

}  // namespace weir::core
