// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "src/net/listener/inquiry.h"
#include "src/net/listener/listener_wire.h"
#include "src/net/listener/message_connection.h"
#include "src/net/listener/outgoing_connection.h"
#include "src/net/socket.h"

namespace weir {
namespace {

using listener_wire::HelloKind;
using listener_wire::kChunk;

/// Time for all listeners to accept connections before the first one is asked.
constexpr int64_t kMeetMs = 400;

/// A question for reports; `access`: by what they may be read.
OutgoingConnection::Request report_request(const ReportAccess& access, BytesView question) {
  OutgoingConnection::Request request{HelloKind::report, {}, access.secret, 0};
  request.key.scope = uint64_t{access.job_key} << 32;
  request.body = static_cast<uint32_t>(question.size());
  return request;
}

}  // namespace

Inquiry::Inquiry(const SocketAddress& listener, uint64_t scope, const Credentials& credentials,
                 BytesView question)
    : listener_(listener),
      question_(question.begin(), question.end()),
      outgoing_(
          OutgoingConnection::to(listener),
          {HelloKind::question, {.scope = scope}, credentials, static_cast<uint32_t>(question.size())}) {}

Inquiry::Inquiry(const SocketAddress& listener, const ReportAccess& access, BytesView question)
    : listener_(listener),
      question_(question.begin(), question.end()),
      outgoing_(OutgoingConnection::to(listener), report_request(access, question)) {}

Inquiry::Inquiry(const SocketAddress& listener, OutgoingConnection::Connect connect, BytesView question)
    : listener_(listener),
      question_(question.begin(), question.end()),
      local_(true),
      outgoing_(std::move(connect), report_request({}, question)) {}

pollfd Inquiry::waits_for() const {
  if (!outgoing_.admitted()) return outgoing_.waits_for();
  return {socket_.socket().fd(), socket_.events(sent_ < question_.size() ? POLLOUT : POLLIN), 0};
}

bool Inquiry::advance() {
  if (!done_) proceed();
  return done_ || (held_ && outgoing_.admitted());
}

void Inquiry::proceed() {
  if (!outgoing_.admitted()) {
    const auto admitted = outgoing_.advance();
    if (!admitted.ok()) return fail(admitted.status());
    if (!*admitted) return;
    socket_ = outgoing_.take();
  }
  if (held_) return;
  if (sent_ < question_.size()) {
    auto sent = socket_.try_send(BytesView(question_).subspan(sent_));
    if (!sent.ok()) return fail(sent.status());
    sent_ += *sent;
  }
  if (sent_ == question_.size()) receive();
}

Answer Inquiry::take() {
  if (!done_) answer_.why = fmt::format("{} does not answer", listener_.text());
  return std::move(answer_);
}

/// The room for the answer grows with what has arrived.
void Inquiry::receive() {
  while (!size_ || received_ < *size_) {
    if (size_ && received_ == answer_.bytes.size())
      answer_.bytes.resize(std::min<size_t>(*size_, received_ + std::max(received_, kChunk)));
    const std::span<std::byte> into = size_ ? std::span(answer_.bytes) : std::span(size_bytes_);
    auto received = socket_.try_receive(into.subspan(received_));
    if (!received.ok()) return fail(received.status());
    if (*received == 0) return;
    received_ += *received;
    if (!size_ && received_ == size_bytes_.size()) understand_size();
    if (done_) return;
  }
  understand();
}

void Inquiry::understand() {
  if (local_) {
    auto local = listener_wire::LocalAnswer::decode(answer_.bytes);
    if (!local) return fail(not_weir());
    answer_.bytes = std::move(local->bytes);
    answer_.access = std::move(local->access);
  }
  answer_.kind = Answer::Kind::given;
  finish();
}

Status Inquiry::not_weir() const {
  return Status(Code::remote_error,
                fmt::format("{} is not the address of a process that uses weir", listener_.text()));
}

void Inquiry::understand_size() {
  uint32_t size = 0;
  std::memcpy(&size, size_bytes_.data(), sizeof size);
  received_ = 0;
  if (size <= most_) {
    size_ = size;
  } else {
    fail(not_weir());
  }
}

/// A refused or broken connection means that the process has ended; an unreachable route does not, and what
/// this process lacks says nothing about it.
void Inquiry::fail(const Status& status) {
  answer_.bytes.clear();
  answer_.why = status.message();
  answer_.kind = outgoing_.forbidden()                 ? Answer::Kind::forbidden
                 : status.is_shortage()                ? Answer::Kind::unasked
                 : status.code() == Code::remote_error ? Answer::Kind::refused
                                                       : Answer::Kind::silent;
  finish();
}

void Inquiry::finish() {
  done_ = true;
  socket_.close();
}

Result<PeerSocket> deliver(const SocketAddress& listener, const DeliveryKey& key,
                           const Credentials& credentials, const Deadline& deadline) {
  OutgoingConnection connection(listener, key, credentials);
  return await_admission(connection, listener, deadline, {});
}

Status post(const SocketAddress& listener, const DeliveryKey& key, const Credentials& credentials,
            BytesView message, const Deadline& deadline, const std::function<Status()>& meanwhile) {
  return MessageConnection(listener, credentials).send(key, message, deadline, meanwhile);
}

namespace {

/// Waits until some of the inquiries can continue, and advances those.
void advance_some(std::vector<Inquiry*>& open, std::vector<pollfd>& polls, const Deadline& deadline) {
  polls.clear();
  for (const Inquiry* inquiry : open) polls.push_back(inquiry->waits_for());
  const bool pauses = std::ranges::any_of(polls, [](const pollfd& entry) { return entry.fd < 0; });
  poll(polls.data(), polls.size(), deadline.slice_ms(pauses ? 2 : kPollSliceMs));
  size_t next = 0;
  std::erase_if(open, [&](Inquiry* inquiry) {
    const pollfd& entry = polls[next++];
    return (entry.fd < 0 || entry.revents != 0) && inquiry->advance();
  });
}

}  // namespace

std::vector<Answer> answers_of(std::vector<std::unique_ptr<Inquiry>> inquiries, const Deadline& deadline) {
  std::vector<pollfd> polls;
  std::vector<Inquiry*> open;
  for (const auto& inquiry : inquiries) {
    if (!inquiry->advance()) open.push_back(inquiry.get());
  }
  while (!open.empty() && !deadline.over()) advance_some(open, polls, deadline);
  std::vector<Answer> answers;
  for (const auto& inquiry : inquiries) answers.push_back(inquiry->take());
  return answers;
}

std::vector<Answer> ask_all(std::span<const SocketAddress> listeners, uint64_t scope,
                            const Credentials& credentials, BytesView question, const Deadline& deadline) {
  std::vector<std::unique_ptr<Inquiry>> inquiries;
  std::vector<Inquiry*> open;
  for (const SocketAddress& listener : listeners) {
    inquiries.push_back(std::make_unique<Inquiry>(listener, scope, credentials, question));
    inquiries.back()->hold();
    if (!inquiries.back()->advance()) open.push_back(inquiries.back().get());
  }
  std::vector<pollfd> polls;
  for (const Deadline meeting = deadline.within_ms(kMeetMs); !open.empty() && !meeting.over();)
    advance_some(open, polls, meeting);
  for (const auto& inquiry : inquiries) inquiry->release();
  return answers_of(std::move(inquiries), deadline);
}

std::vector<Answer> ask_for_reports(std::span<const ReportSource> sources, BytesView question,
                                    const Deadline& deadline) {
  std::vector<std::unique_ptr<Inquiry>> inquiries;
  for (const ReportSource& source : sources) {
    inquiries.push_back(std::make_unique<Inquiry>(source.listener, source.access, question));
    inquiries.back()->limit(source.most);
  }
  return answers_of(std::move(inquiries), deadline);
}

Answer ask(const SocketAddress& listener, uint64_t scope, const Credentials& credentials, BytesView question,
           const Deadline& deadline) {
  return std::move(ask_all({&listener, 1}, scope, credentials, question, deadline).front());
}

}  // namespace weir
