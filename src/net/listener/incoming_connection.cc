// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/incoming_connection.h"

#include <algorithm>

namespace weir {
namespace {

using listener_wire::Decision;
using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::kChunk;
using listener_wire::Opening;
using listener_wire::Verdict;

}  // namespace

IncomingConnection::IncomingConnection(Socket socket, const SocketAddress& listener, int64_t now_ns)
    : socket_(std::move(socket)), listener_(listener), since_ns_(now_ns) {
  if (const auto random = random_challenge(); random.ok()) {
    challenge_ = *random;
    if (say(Opening{challenge_}.encode())) return;
  }
  socket_.close();
}

IncomingConnection::Step IncomingConnection::advance(const AdmittedJobs& jobs, const MayRead& may_read) {
  if (!socket_.valid()) return Step::over;
  return answers() ? write() : read(jobs, may_read);
}

void IncomingConnection::answer(BytesView bytes) {
  out_ = ByteWriter().put_bytes(bytes).take();
  in_ = Bytes();
}

/// The buffer of a new connection takes the few bytes of a challenge and a verdict at once.
bool IncomingConnection::say(BytesView bytes) {
  const auto sent = socket_.try_send(bytes);
  return sent.ok() && *sent == bytes.size();
}

IncomingConnection::Step IncomingConnection::reject(std::string_view why) {
  rejection_ = why;
  return Step::over;
}

IncomingConnection::Step IncomingConnection::read(const AdmittedJobs& jobs, const MayRead& may_read) {
  for (;;) {
    if (received_ == expected()) {
      if (admitted_) return Step::complete;
      hello_ = Hello::decode(in_);
      if (!hello_) return reject("its first bytes are not a handshake of this version of weir");
      if (!judge(jobs, may_read)) return Step::over;
      admitted_ = true;
      in_.clear();
      received_ = 0;
      continue;
    }
    make_room();
    const auto got = socket_.try_recv(std::span(in_).subspan(received_));
    if (!got.ok()) return Step::over;
    if (*got == 0) return Step::waits;
    received_ += *got;
  }
}

void IncomingConnection::make_room() {
  if (received_ < in_.size()) return;
  in_.resize(std::min(expected(), received_ + std::max(received_, kChunk)));
}

/// Sends the verdict; returns whether it is that the asker is admitted.
bool IncomingConnection::judge(const AdmittedJobs& jobs, const MayRead& may_read) {
  const bool reports = hello_->kind == HelloKind::report;
  const auto secret = jobs.prover(*hello_, challenge_, listener_);
  const bool admitted = reports ? may_read && may_read(socket_, secret.has_value()) : secret.has_value();
  if (!admitted) {
    rejection_ = reports ? "it may not read the reports of this process (WEIR_REPORTS)"
                         : "it does not know the secret of any job of this process";
    say(Verdict{reports ? Decision::forbidden : Decision::refused}.encode());
    return false;
  }
  if (reports) hello_->key = {};  // a reader of reports speaks for no communicator
  return say((secret ? Verdict::admitted(*secret, *hello_) : Verdict{Decision::admitted}).encode());
}

IncomingConnection::Step IncomingConnection::write() {
  while (sent_ < out_.size()) {
    const auto sent = socket_.try_send(BytesView(out_).subspan(sent_));
    if (!sent.ok()) return Step::over;
    if (*sent == 0) return Step::waits;
    sent_ += *sent;
  }
  return Step::over;
}

}  // namespace weir
