// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_wire.h"

#include <sys/socket.h>

#include <cerrno>

#include "src/drivers/openssl.h"
#include "src/net/socket.h"

namespace weir {
namespace {

using drivers::OpenSslTable;
using drivers::SslBio;
using drivers::SslBioMethod;
namespace numbers = drivers::openssl;

}  // namespace

const SslBioMethod* TlsWire::method(const OpenSslTable& openssl) {
  static const SslBioMethod* const made = [&]() -> const SslBioMethod* {
    SslBioMethod* const fresh =
        openssl.bio_method_new(openssl.bio_new_index() | numbers::kBioTypeSourceSink, "weir socket");
    if (fresh == nullptr) return nullptr;
    openssl.bio_method_set_write(fresh, write);
    openssl.bio_method_set_read(fresh, read);
    openssl.bio_method_set_ctrl(fresh, control);
    return fresh;
  }();
  return made;
}

TlsWire* TlsWire::of(SslBio* bio) {
  return static_cast<TlsWire*>(drivers::load_openssl().value()->bio_get_data(bio));
}

int TlsWire::write(SslBio* bio, const char* bytes, size_t size, size_t* written) {
  TlsWire& wire = *of(bio);
  const size_t sent = wire.kept() == 0 ? wire.send(bytes, size) : 0;
  if (wire.error_ != 0) return 0;
  wire.keep(bytes + sent, size - sent);
  if (wire.error_ != 0) return 0;
  *written = size;
  return 1;
}

int TlsWire::read(SslBio* bio, char* into, size_t size, size_t* got) {
  TlsWire& wire = *of(bio);
  constexpr int kTryAgain = numbers::kBioFlagsRead | numbers::kBioFlagsShouldRetry;
  wire.openssl_.bio_clear_flags(bio, kTryAgain);
  const ssize_t received = recv(wire.fd_, into, size, 0);
  if (received > 0) {
    *got = static_cast<size_t>(received);
    return 1;
  }
  if (received == 0) wire.ended_ = true;
  if (received < 0 && would_block(errno))
    wire.openssl_.bio_set_flags(bio, kTryAgain);
  else if (received < 0)
    wire.error_ = errno;
  return 0;
}

long TlsWire::control(SslBio* bio, int command, long, void*) {
  if (command == numbers::kBioCtrlEof) return of(bio)->ended_ ? 1 : 0;
  return command == numbers::kBioCtrlFlush ? 1 : 0;
}

void TlsWire::flush() {
  if (kept() == 0 || error_ != 0) return;
  sent_ += send(reinterpret_cast<const char*>(out_.data()) + sent_, kept());
  if (kept() > 0) return;
  out_.clear();
  sent_ = 0;
}

/// Returns how many bytes the kernel took.
size_t TlsWire::send(const char* bytes, size_t size) {
  const ssize_t sent = ::send(fd_, bytes, size, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (!would_block(errno)) error_ = errno;
  return 0;
}

void TlsWire::keep(const char* bytes, size_t size) {
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
  try {
    out_.insert(out_.end(), begin, begin + size);
  } catch (const std::bad_alloc&) {  // must not pass through OpenSSL, which calls this
    error_ = ENOMEM;
  }
}

}  // namespace weir
