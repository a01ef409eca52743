// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_session.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "src/net/tls/tls_failure.h"

namespace weir {
namespace {

namespace numbers = drivers::openssl;

constexpr size_t kRecord = 16 * 1024;  // the longest plaintext of a record
constexpr std::byte kConfirmation{0x77};

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::begin(std::shared_ptr<const TlsContext> context,
                                                      Socket socket, TlsRole role, BytesView binding) {
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(context), std::move(socket)));
  session->binding_.assign(binding.begin(), binding.end());
  WEIR_TRY(session->attach(role));
  return session;
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, Socket socket)
    : context_(std::move(context)),
      socket_(std::move(socket)),
      peer_(socket_.peer_text()),
      wire_(context_->openssl(), socket_.fd()) {}

TlsSession::~TlsSession() {
  openssl().clear_errors();
  wire_.flush();
  if (greeted_ && error_.ok() && !unsent() && !told_) openssl().ssl_shutdown(ssl_);
  openssl().ssl_free(ssl_);
  openssl().clear_errors();
}

Status TlsSession::attach(TlsRole role) {
  role_ = role;
  openssl().clear_errors();
  ssl_ = context_->new_ssl(role);
  drivers::SslBio* const bio = ssl_ != nullptr ? openssl().bio_new(context_->wire_method()) : nullptr;
  if (bio == nullptr)
    return {Code::system_error, "OpenSSL cannot begin a connection: " + first_tls_reason(openssl())};
  openssl().bio_set_data(bio, &wire_);
  openssl().bio_set_init(bio, 1);
  openssl().ssl_set_bio(ssl_, bio, bio);
  return {};
}

Result<bool> TlsSession::handshake() {
  WEIR_TRY(error_);
  if (ready_) return true;
  openssl().clear_errors();
  wire_.flush();
  const Result<bool> done = take_step();
  ready_ = done.ok() && *done;
  if (ready_) pending_ = openssl().ssl_has_pending(ssl_) == 1;  // what came behind the handshake
  return done;
}

Result<bool> TlsSession::take_step() {
  if (!greeted_) {
    const auto alone = context_->lock_step();
    int why = 0;
    const int result = role_ == TlsRole::connects ? openssl().ssl_connect(ssl_) : openssl().ssl_accept(ssl_);
    if (result != 1) return is_for_later(result, why) ? Result<bool>(false) : fail(why);
    WEIR_TRY(check_proof());
    greeted_ = true;
  }
  const Result<bool> bound = bind();
  if (!bound.ok() || !*bound) return bound;
  return context_->mode() == TlsSettings::Mode::cert ? confirm() : Result<bool>(true);
}

/// OpenSSL accepts a server without the secret if its certificate is trusted. With a secret none is trusted;
/// this holds even if one were.
Status TlsSession::check_proof() {
  if (context_->mode() != TlsSettings::Mode::psk || openssl().ssl_session_reused(ssl_) == 1) return {};
  return error_ =
             Status(Code::remote_error, fmt::format("TLS with {} failed: this process refuses it: it did "
                                                    "not prove that it knows the secret",
                                                    peer_));
}

/// Sends what was said before, or compares it; true once there is nothing left to compare.
Result<bool> TlsSession::bind() {
  if (role_ == TlsRole::connects && !binding_.empty()) {
    const auto sent = send_record(binding_);
    WEIR_TRY(sent.status());
    if (*sent == 0) return false;
    binding_.clear();
  }
  while (!binding_.empty()) {
    Bytes heard(binding_.size());
    const auto got = receive_some(heard);
    WEIR_TRY(got.status());
    if (*got == 0) return false;
    if (!std::equal(heard.begin(), heard.begin() + static_cast<ptrdiff_t>(*got), binding_.begin())) {
      return error_ = Status(Code::remote_error,
                             fmt::format("TLS with {} failed: this process refuses it: it belongs to another "
                                         "connection",
                                         peer_));
    }
    binding_.erase(binding_.begin(), binding_.begin() + static_cast<ptrdiff_t>(*got));
  }
  return true;
}

/// The side that connects is done in TLS 1.3 before the other one has looked at its certificate. It therefore
/// waits for a byte that says that it was accepted; otherwise the refusal would surface later, or never if it
/// only sends.
Result<bool> TlsSession::confirm() {
  std::byte byte = kConfirmation;
  if (role_ == TlsRole::accepts) {
    const auto sent = send_record(BytesView(&byte, 1));
    WEIR_TRY(sent.status());
    return *sent == 1;
  }
  const auto got = receive_some(std::span(&byte, 1));
  WEIR_TRY(got.status());
  if (*got == 0) return false;
  if (byte == kConfirmation) return true;
  return error_ =
             Status(Code::remote_error, fmt::format("TLS with {} failed: it is no process of weir", peer_));
}

Result<size_t> TlsSession::try_send(std::span<const iovec> parts) {
  const Result<bool> ready = handshake();
  WEIR_TRY(ready.status());
  if (!*ready) return size_t{0};
  WEIR_TRY(flush().status());
  size_t total = 0;
  size_t offset = 0;  // of the current part
  for (size_t at = 0; !unsent();) {
    for (; at < parts.size() && offset == parts[at].iov_len; ++at) offset = 0;
    if (at == parts.size()) break;
    const BytesView record = next_record(parts, at, offset);
    const auto sent = send_record(record);
    // What was taken before the failure is lost with the connection, as in a kernel's buffer.
    WEIR_TRY(sent.status());
    if (*sent == 0) break;
    total += *sent;
    for (offset += *sent; at < parts.size() && offset > parts[at].iov_len; ++at) offset -= parts[at].iov_len;
  }
  return total;
}

/// The longest record from byte `offset` of part `at` on: in place if the part fills it, else gathered.
BytesView TlsSession::next_record(std::span<const iovec> parts, size_t at, size_t offset) {
  const auto rest = [&](size_t part, size_t from) {
    return BytesView(static_cast<const std::byte*>(parts[part].iov_base) + from, parts[part].iov_len - from);
  };
  const BytesView first = rest(at, offset);
  if (first.size() >= kRecord || at + 1 == parts.size()) return first.first(std::min(first.size(), kRecord));
  gathered_.assign(first.begin(), first.end());
  for (size_t part = at + 1; part < parts.size() && gathered_.size() < kRecord; ++part) {
    if (parts[part].iov_len == 0) continue;
    const BytesView all = rest(part, 0);
    const BytesView taken = all.first(std::min(all.size(), kRecord - gathered_.size()));
    gathered_.insert(gathered_.end(), taken.begin(), taken.end());
  }
  return gathered_;
}

Result<size_t> TlsSession::send_record(BytesView record) {
  size_t sent = 0;
  int why = 0;
  openssl().clear_errors();
  const int result = openssl().ssl_write(ssl_, record.data(), record.size(), &sent);
  if (result == 1) return sent;
  if (is_for_later(result, why)) return size_t{0};
  return fail(why);
}

Result<size_t> TlsSession::try_receive(std::span<std::byte> into) {
  const Result<bool> ready = handshake();
  WEIR_TRY(ready.status());
  if (!*ready) return size_t{0};
  if (unsent()) WEIR_TRY(flush().status());
  size_t total = 0;
  pending_ = true;
  while (total < into.size() && pending_) {
    const auto got = receive_some(into.subspan(total));
    if (!got.ok() && total == 0) return got.status();
    if (!got.ok() || *got == 0) pending_ = false;
    if (got.ok()) total += *got;
  }
  pending_ = !error_.ok() || (pending_ && openssl().ssl_has_pending(ssl_) == 1);
  return total;
}

Result<size_t> TlsSession::receive_some(std::span<std::byte> into) {
  size_t got = 0;
  int why = 0;
  openssl().clear_errors();
  const int result = openssl().ssl_read(ssl_, into.data(), into.size(), &got);
  if (result == 1) return got;
  if (is_for_later(result, why)) return size_t{0};
  return fail(why);
}

Result<bool> TlsSession::flush() {
  WEIR_TRY(error_);
  wire_.flush();
  if (wire_.error() != 0) return fail(numbers::kErrorSyscall);
  return !unsent();
}

short TlsSession::events() const {
  if (!error_.ok()) return 0;
  const short out = unsent() ? POLLOUT : 0;
  return static_cast<short>(out | (ready_ ? 0 : POLLIN));
}

bool TlsSession::is_for_later(int result, int& why) {
  why = openssl().ssl_get_error(ssl_, result);
  return why == numbers::kErrorWantRead && wire_.error() == 0;
}

/// Makes the final error of the session, and empties OpenSSL's queue. `why` is what SSL_get_error says.
Status TlsSession::fail(int why) {
  const TlsFailure failure = {.mode = context_->mode(),
                              .greeting = !ready_,
                              .code = take_tls_error(openssl()),
                              .certificate = openssl().ssl_get_verify_result(ssl_),
                              .error = wire_.error(),
                              .ended = wire_.ended()};
  wire_.flush();  // the alert that tells the other side why
  if (why == numbers::kErrorZeroReturn) {
    ended_ = true;
    return error_ = Status(Code::remote_error,
                           fmt::format("the connection to {} was closed by the other side", peer_));
  }
  return error_ = Status(Code::remote_error,
                         fmt::format("TLS with {} failed: {}", peer_, tls_failure_text(openssl(), failure)));
}

}  // namespace weir
