// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/incoming_connection.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/net/listener/report_readers.h"

namespace weir {
namespace {

using listener_wire::Decision;
using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::kChunk;
using listener_wire::MessageHeader;
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
  if (const auto ready = socket_.ready(); !ready.ok()) return refuse_tls();
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

IncomingConnection::Step IncomingConnection::read(const AdmittedJobs& jobs, const MayRead& may_read) {
  for (;;) {
    if (received_ == expected()) {
      if (stage_ == Stage::body) return socket_.is_ready() ? Step::complete : Step::waits;
      if (!understand(jobs, may_read)) return Step::over;
      stage_ = Stage::body;
      in_.clear();
      received_ = 0;
      continue;
    }
    make_room();
    const auto got = socket_.try_receive(std::span(in_).subspan(received_));
    if (!got.ok()) return socket_.is_ready() ? Step::over : refuse_tls();
    if (*got == 0) return Step::waits;
    if (rests()) since_ns_ = now_ns();
    received_ += *got;
  }
}

uint64_t IncomingConnection::brings_for() const {
  if (is_stranger()) return 0;
  // Between two messages the key is still that of the one before: the next is of the same communicator.
  const bool asks = hello_->kind == HelloKind::question || hello_->kind == HelloKind::report;
  return asks || hello_->key.purpose == Listener::kLastWill ? 0 : hello_->key.scope;
}

size_t IncomingConnection::expected() const {
  switch (stage_) {
    case Stage::hello: return Hello::kBytes;
    case Stage::header: return MessageHeader::kBytes;
    case Stage::body: break;
  }
  return hello_->body;
}

void IncomingConnection::rest() {
  stage_ = Stage::header;
  in_ = Bytes();
  received_ = 0;
}

/// Reads the hello or header that has arrived; false ends the connection.
bool IncomingConnection::understand(const AdmittedJobs& jobs, const MayRead& may_read) {
  if (stage_ == Stage::header) return understand_header();
  hello_ = Hello::decode(in_);
  if (!hello_) {
    rejection_ = "its first bytes are not a handshake of this version of weir";
    return false;
  }
  return judge(jobs, may_read);
}

/// The secret that the hello has proven says nothing about other jobs.
bool IncomingConnection::understand_header() {
  const auto header = MessageHeader::decode(in_);
  if (!header || listener_wire::job_key_of(header->key) != hello_->job_key()) {
    rejection_ = "what follows its message is not a message of the same job";
    return false;
  }
  hello_->key = header->key;
  hello_->body = header->body;
  return true;
}

void IncomingConnection::make_room() {
  if (received_ < in_.size()) return;
  in_.resize(std::min(expected(), received_ + std::max(received_, kChunk)));
}

/// Sends the verdict; returns whether it is that the asker is admitted.
bool IncomingConnection::judge(const AdmittedJobs& jobs, const MayRead& may_read) {
  const bool reports = hello_->kind == HelloKind::report;
  const auto prover = jobs.prover(*hello_, challenge_, listener_);
  const bool admitted =
      reports ? may_read && may_read(socket(), prover.has_value()) : !is_local() && prover.has_value();
  if (!admitted) {
    rejection_ = reports      ? "it may not read the reports of this process (WEIR_REPORTS)"
                 : is_local() ? "it asks for more than reports at the local socket"
                              : "it does not know the secret of any job of this process";
    say(Verdict{reports ? Decision::forbidden : Decision::refused}.encode());
    return false;
  }
  trusted_ = prover || (is_local() && is_own_reader(socket()));
  if (reports) hello_->key = {};  // a reader of reports speaks for no communicator
  const Verdict verdict = prover ? Verdict::admitted(prover->secret, *hello_) : Verdict{Decision::admitted};
  return say(verdict.encode()) && (!prover || secure(*prover));
}

bool IncomingConnection::secure(const Credentials& credentials) {
  if (credentials.tls == nullptr) return true;
  return socket_.secure(credentials.tls, TlsRole::accepts, hello_->proof).ok();
}

IncomingConnection::Step IncomingConnection::refuse_tls() {
  rejection_ = "it does not agree on TLS with this process";
  return Step::over;
}

IncomingConnection::Step IncomingConnection::write() {
  while (sent_ < out_.size()) {
    const auto sent = socket_.try_send(BytesView(out_).subspan(sent_));
    if (!sent.ok()) return Step::over;
    if (*sent == 0) return Step::waits;
    sent_ += *sent;
  }
  const auto flushed = socket_.flush();
  return flushed.ok() && !*flushed ? Step::waits : Step::over;
}

}  // namespace weir
