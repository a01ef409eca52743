// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_failure.h"

#include <fmt/format.h>

#include <system_error>

namespace weir {
namespace {

using drivers::OpenSslTable;
using Mode = TlsSettings::Mode;
namespace numbers = drivers::openssl;

constexpr const char* kIsTlsOn = "expected the same WEIR_TLS in all processes of the job";

/// Numbers of alerts (RFC 8446).
enum Alert : int {
  kHandshakeFailure = 40,
  kBadCertificate = 42,
  kUnsupportedCertificate = 43,
  kCertificateRevoked = 44,
  kCertificateExpired = 45,
  kCertificateUnknown = 46,
  kIllegalParameter = 47,
  kUnknownCa = 48,
  kDecryptError = 51,
  kProtocolVersion = 70,
  kCertificateRequired = 116,
};

std::string words_of(const OpenSslTable& openssl, unsigned long code) {
  if ((code & numbers::kErrSystemFlag) != 0)
    return std::generic_category().message(static_cast<int>(code & ~numbers::kErrSystemFlag));
  const char* const text = openssl.reason_text(code);
  return text != nullptr ? text : fmt::format("error {:#x} of OpenSSL", code);
}

/// The reason of an error of the library SSL; 0 for all others.
int reason_of(unsigned long code) {
  const bool is_ssl = (code & numbers::kErrSystemFlag) == 0 &&
                      (code >> numbers::kErrLibShift & numbers::kErrLibMask) == numbers::kErrLibSsl;
  return is_ssl ? static_cast<int>(code & numbers::kErrReasonMask) : 0;
}

std::string refused_by_peer(const OpenSslTable& openssl, Mode mode, unsigned long code) {
  const int alert = reason_of(code) - numbers::kReasonAlert;
  switch (alert) {
    case kCertificateExpired:
      return "it refuses this process, whose certificate has expired or is not yet valid";
    case kUnknownCa: return "it refuses this process: it does not trust the authority of its certificate";
    case kCertificateRequired: return "it refuses this process, which has shown no certificate";
    case kBadCertificate:
    case kUnsupportedCertificate:
    case kCertificateRevoked:
    case kCertificateUnknown:
      return fmt::format("it refuses the certificate of this process ({})", words_of(openssl, code));
    case kProtocolVersion: return "it refuses this process: it does not speak TLS 1.3";
    case kIllegalParameter:
    case kDecryptError:
      if (mode == Mode::psk) return "it refuses this process, whose secret is not its own";
      break;
    case kHandshakeFailure:
      return fmt::format("it refuses this process: they have no kind of proof in common; {}", kIsTlsOn);
    default: break;
  }
  return fmt::format("it refuses this process ({})", words_of(openssl, code));
}

std::string refused_certificate(const OpenSslTable& openssl, const TlsFailure& failure) {
  if (failure.mode == Mode::psk)
    return fmt::format("this process refuses it: it shows a certificate and not that it knows the secret; {}",
                       kIsTlsOn);
  return fmt::format("this process refuses its certificate: {}; expected one that WEIR_TLS_CA has signed",
                     openssl.verify_text(failure.certificate));
}

/// What this process found wrong; empty if `code` is no error of the handshake that has a sentence.
std::string refused_here(const OpenSslTable& openssl, const TlsFailure& failure) {
  switch (reason_of(failure.code)) {
    case numbers::kReasonCertificateVerifyFailed: return refused_certificate(openssl, failure);
    case numbers::kReasonBinderDoesNotVerify:
      return "this process refuses it: its secret is not the one of this process";
    case numbers::kReasonPeerDidNotReturnACertificate:
      return "this process refuses it: it has shown no certificate; expected one that WEIR_TLS_CA has signed";
    case numbers::kReasonNoSharedCipher:
    case numbers::kReasonNoSuitableSignatureAlgorithm:
      return fmt::format("this process refuses it: it does not offer to prove that it knows the secret; {}",
                         kIsTlsOn);
    case numbers::kReasonUnsupportedProtocol:
    case numbers::kReasonVersionTooLow:
    case numbers::kReasonWrongSslVersion: return "this process refuses it: it does not speak TLS 1.3";
    case numbers::kReasonWrongVersionNumber:
    case numbers::kReasonHttpRequest:
    case numbers::kReasonHttpsProxyRequest:
    case numbers::kReasonPacketLengthTooLong:
    case numbers::kReasonUnexpectedMessage:
    case numbers::kReasonBadRecordType: return fmt::format("what it sends is not TLS; {}", kIsTlsOn);
    default: return {};
  }
}

std::string lost_text(const TlsFailure& failure) {
  const std::string error = std::generic_category().message(failure.error);
  if (failure.error != 0) return failure.greeting ? fmt::format("{} during the handshake", error) : error;
  if (failure.greeting)
    return "it closed the connection during the handshake: it has ended, or refuses this process";
  return "the connection was cut: it ended without the message that closes it";
}

}  // namespace

unsigned long take_tls_error(const OpenSslTable& openssl) {
  const unsigned long first = openssl.get_error();
  openssl.clear_errors();
  return first;
}

std::string first_tls_reason(const OpenSslTable& openssl) {
  const unsigned long code = take_tls_error(openssl);
  return code != 0 ? words_of(openssl, code) : "no reason given";
}

std::string tls_failure_text(const OpenSslTable& openssl, const TlsFailure& failure) {
  const int reason = reason_of(failure.code);
  const bool is_lost = failure.error != 0 || failure.ended;
  if (is_lost && (failure.code == 0 || reason == numbers::kReasonUnexpectedEof)) return lost_text(failure);
  if (reason >= numbers::kReasonAlert) return refused_by_peer(openssl, failure.mode, failure.code);
  if (failure.greeting) {
    std::string text = refused_here(openssl, failure);
    if (!text.empty()) return text;
  }
  return fmt::format("this process refuses what it sent ({})", words_of(openssl, failure.code));
}

}  // namespace weir
