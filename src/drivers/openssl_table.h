// SPDX-License-Identifier: Apache-2.0
/// The functions and numbers of OpenSSL 3 (libssl.so.3 and the libcrypto.so.3 that it brings) that are used,
/// declared here because its headers are not needed to build; tests/drivers compares them with the headers
/// where these are installed.
/// Tests: tests/drivers/openssl_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

// OpenSSL's objects, of which only addresses are known here.
struct Ssl;
struct SslBio;
struct SslBioMethod;
struct SslCipher;
struct SslContext;
struct SslDigest;
struct SslMethod;
struct SslSession;
struct SslStore;

/// OpenSSL's numbers, under its names without SSL_.
namespace openssl {
inline constexpr uint64_t kInitNoAtexit = 0x00080000;  ///< OPENSSL_INIT_NO_ATEXIT
inline constexpr uint64_t kInitLoadCryptoStrings = 0x00000002;
inline constexpr uint64_t kInitLoadSslStrings = 0x00200000;
inline constexpr int kTls13 = 0x0304;  ///< TLS1_3_VERSION
// Commands of SSL_CTX_ctrl.
inline constexpr int kCtrlMode = 33;
inline constexpr int kCtrlSetReadAhead = 41;
inline constexpr int kCtrlSetSessCacheMode = 44;
inline constexpr int kCtrlSetGroupsList = 92;
inline constexpr int kCtrlSetMinProtoVersion = 123;
inline constexpr int kCtrlSetMaxProtoVersion = 124;
// Values of those commands.
inline constexpr long kModeEnablePartialWrite = 0x1;
inline constexpr long kModeAcceptMovingWriteBuffer = 0x2;
inline constexpr long kModeReleaseBuffers = 0x10;
inline constexpr long kSessCacheOff = 0;
inline constexpr uint64_t kOpNoTicket = 1U << 14;
inline constexpr uint64_t kOpNoRenegotiation = 1U << 30;
inline constexpr int kVerifyPeer = 0x01;
inline constexpr int kVerifyFailIfNoPeerCert = 0x02;
inline constexpr int kFiletypePem = 1;
// Results of SSL_get_error.
inline constexpr int kErrorSsl = 1;
inline constexpr int kErrorWantRead = 2;
inline constexpr int kErrorSyscall = 5;
inline constexpr int kErrorZeroReturn = 6;
// Entries of the error queue: a library and a reason, or a number of errno.
inline constexpr unsigned long kErrSystemFlag = 0x80000000UL;
inline constexpr int kErrLibShift = 23;
inline constexpr unsigned long kErrLibMask = 0xFF;
inline constexpr unsigned long kErrReasonMask = 0x7FFFFF;
inline constexpr int kErrLibSsl = 20;
// Reasons of the library SSL. That of an alert from the peer is 1000 more than the alert's number.
inline constexpr int kReasonNoSuitableSignatureAlgorithm = 118;
inline constexpr int kReasonCertificateVerifyFailed = 134;
inline constexpr int kReasonHttpsProxyRequest = 155;
inline constexpr int kReasonHttpRequest = 156;
inline constexpr int kReasonNoSharedCipher = 193;
inline constexpr int kReasonPacketLengthTooLong = 198;
inline constexpr int kReasonPeerDidNotReturnACertificate = 199;
inline constexpr int kReasonUnexpectedMessage = 244;
inline constexpr int kReasonBinderDoesNotVerify = 253;
inline constexpr int kReasonUnsupportedProtocol = 258;
inline constexpr int kReasonWrongSslVersion = 266;
inline constexpr int kReasonWrongVersionNumber = 267;
inline constexpr int kReasonUnexpectedEof = 294;
inline constexpr int kReasonVersionTooLow = 396;
inline constexpr int kReasonBadRecordType = 443;
inline constexpr int kReasonAlert = 1000;  ///< SSL_AD_REASON_OFFSET
// Methods and flags of a BIO.
inline constexpr int kBioTypeSourceSink = 0x0400;
inline constexpr int kBioCtrlEof = 2;
inline constexpr int kBioCtrlFlush = 11;
inline constexpr int kBioFlagsRead = 0x01;
inline constexpr int kBioFlagsShouldRetry = 0x08;
}  // namespace openssl

struct OpenSslTable {
  // The library, its errors, digests.
  int (*init_ssl)(uint64_t, const void*) = nullptr;
  unsigned long (*get_error)() = nullptr;
  void (*clear_errors)() = nullptr;
  const char* (*reason_text)(unsigned long) = nullptr;
  const char* (*verify_text)(long) = nullptr;
  const SslDigest* (*sha256)() = nullptr;
  unsigned char* (*hmac)(const SslDigest*, const void*, int, const unsigned char*, size_t, unsigned char*,
                         unsigned*) = nullptr;
  // Contexts.
  const SslMethod* (*tls_method)() = nullptr;
  SslContext* (*context_new)(const SslMethod*) = nullptr;
  void (*context_free)(SslContext*) = nullptr;
  long (*context_ctrl)(SslContext*, int, long, void*) = nullptr;
  uint64_t (*context_set_options)(SslContext*, uint64_t) = nullptr;
  int (*context_set_suites)(SslContext*, const char*) = nullptr;
  int (*context_set_tickets)(SslContext*, size_t) = nullptr;
  void (*context_set_verify)(SslContext*, int, int (*)(int, SslStore*)) = nullptr;
  void (*context_set_password)(SslContext*, int (*)(char*, int, int, void*)) = nullptr;
  void (*context_set_read_buffer)(SslContext*, size_t) = nullptr;
  int (*context_load_authority)(SslContext*, const char*) = nullptr;
  int (*context_use_certificates)(SslContext*, const char*) = nullptr;
  int (*context_use_key)(SslContext*, const char*, int) = nullptr;
  void (*context_set_psk_use)(SslContext*, int (*)(Ssl*, const SslDigest*, const unsigned char**, size_t*,
                                                   SslSession**)) = nullptr;
  void (*context_set_psk_find)(SslContext*,
                               int (*)(Ssl*, const unsigned char*, size_t, SslSession**)) = nullptr;
  // Connections.
  Ssl* (*ssl_new)(SslContext*) = nullptr;
  void (*ssl_free)(Ssl*) = nullptr;
  void (*ssl_set_bio)(Ssl*, SslBio*, SslBio*) = nullptr;
  int (*ssl_set_data)(Ssl*, int, void*) = nullptr;
  void* (*ssl_get_data)(const Ssl*, int) = nullptr;
  int (*ssl_set_id)(Ssl*, const unsigned char*, unsigned) = nullptr;
  int (*ssl_connect)(Ssl*) = nullptr;
  int (*ssl_accept)(Ssl*) = nullptr;
  int (*ssl_read)(Ssl*, void*, size_t, size_t*) = nullptr;
  int (*ssl_write)(Ssl*, const void*, size_t, size_t*) = nullptr;
  int (*ssl_shutdown)(Ssl*) = nullptr;
  int (*ssl_get_error)(const Ssl*, int) = nullptr;
  int (*ssl_has_pending)(const Ssl*) = nullptr;
  int (*ssl_session_reused)(const Ssl*) = nullptr;
  long (*ssl_get_verify_result)(const Ssl*) = nullptr;
  // The session that carries a pre-shared key.
  const SslCipher* (*cipher_find)(Ssl*, const unsigned char*) = nullptr;
  SslSession* (*session_new)() = nullptr;
  void (*session_free)(SslSession*) = nullptr;
  int (*session_set_key)(SslSession*, const unsigned char*, size_t) = nullptr;
  int (*session_set_cipher)(SslSession*, const SslCipher*) = nullptr;
  int (*session_set_version)(SslSession*, int) = nullptr;
  // BIOs: what OpenSSL reads and writes through.
  int (*bio_new_index)() = nullptr;
  SslBioMethod* (*bio_method_new)(int, const char*) = nullptr;
  int (*bio_method_set_write)(SslBioMethod*, int (*)(SslBio*, const char*, size_t, size_t*)) = nullptr;
  int (*bio_method_set_read)(SslBioMethod*, int (*)(SslBio*, char*, size_t, size_t*)) = nullptr;
  int (*bio_method_set_ctrl)(SslBioMethod*, long (*)(SslBio*, int, long, void*)) = nullptr;
  SslBio* (*bio_new)(const SslBioMethod*) = nullptr;
  void (*bio_set_data)(SslBio*, void*) = nullptr;
  void* (*bio_get_data)(SslBio*) = nullptr;
  void (*bio_set_init)(SslBio*, int) = nullptr;
  void (*bio_set_flags)(SslBio*, int) = nullptr;
  void (*bio_clear_flags)(SslBio*, int) = nullptr;

  /// Calls visit(name, function, true) for each function; all are required.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit("OPENSSL_init_ssl", init_ssl, true);
    visit("ERR_get_error", get_error, true);
    visit("ERR_clear_error", clear_errors, true);
    visit("ERR_reason_error_string", reason_text, true);
    visit("X509_verify_cert_error_string", verify_text, true);
    visit("EVP_sha256", sha256, true);
    visit("HMAC", hmac, true);
    each_of_contexts(visit);
    each_of_connections(visit);
    each_of_sessions(visit);
    each_of_bios(visit);
  }

  /// The name of a function that `library` lacks, or null.
  const char* find_in(const Library& library) {
    const char* missing = nullptr;
    each([&](const char* name, auto*& function, bool) {
      if (!library.find(name, function) && missing == nullptr) missing = name;
    });
    return missing;
  }

 private:
  template <typename Visitor>
  void each_of_contexts(Visitor&& visit) {
    visit("TLS_method", tls_method, true);
    visit("SSL_CTX_new", context_new, true);
    visit("SSL_CTX_free", context_free, true);
    visit("SSL_CTX_ctrl", context_ctrl, true);
    visit("SSL_CTX_set_options", context_set_options, true);
    visit("SSL_CTX_set_ciphersuites", context_set_suites, true);
    visit("SSL_CTX_set_num_tickets", context_set_tickets, true);
    visit("SSL_CTX_set_verify", context_set_verify, true);
    visit("SSL_CTX_set_default_passwd_cb", context_set_password, true);
    visit("SSL_CTX_set_default_read_buffer_len", context_set_read_buffer, true);
    visit("SSL_CTX_load_verify_file", context_load_authority, true);
    visit("SSL_CTX_use_certificate_chain_file", context_use_certificates, true);
    visit("SSL_CTX_use_PrivateKey_file", context_use_key, true);
    visit("SSL_CTX_set_psk_use_session_callback", context_set_psk_use, true);
    visit("SSL_CTX_set_psk_find_session_callback", context_set_psk_find, true);
  }
  template <typename Visitor>
  void each_of_connections(Visitor&& visit) {
    visit("SSL_new", ssl_new, true);
    visit("SSL_free", ssl_free, true);
    visit("SSL_set_bio", ssl_set_bio, true);
    visit("SSL_set_ex_data", ssl_set_data, true);
    visit("SSL_get_ex_data", ssl_get_data, true);
    visit("SSL_set_session_id_context", ssl_set_id, true);
    visit("SSL_connect", ssl_connect, true);
    visit("SSL_accept", ssl_accept, true);
    visit("SSL_read_ex", ssl_read, true);
    visit("SSL_write_ex", ssl_write, true);
    visit("SSL_shutdown", ssl_shutdown, true);
    visit("SSL_get_error", ssl_get_error, true);
    visit("SSL_has_pending", ssl_has_pending, true);
    visit("SSL_session_reused", ssl_session_reused, true);
    visit("SSL_get_verify_result", ssl_get_verify_result, true);
  }
  template <typename Visitor>
  void each_of_sessions(Visitor&& visit) {
    visit("SSL_CIPHER_find", cipher_find, true);
    visit("SSL_SESSION_new", session_new, true);
    visit("SSL_SESSION_free", session_free, true);
    visit("SSL_SESSION_set1_master_key", session_set_key, true);
    visit("SSL_SESSION_set_cipher", session_set_cipher, true);
    visit("SSL_SESSION_set_protocol_version", session_set_version, true);
  }
  template <typename Visitor>
  void each_of_bios(Visitor&& visit) {
    visit("BIO_get_new_index", bio_new_index, true);
    visit("BIO_meth_new", bio_method_new, true);
    visit("BIO_meth_set_write_ex", bio_method_set_write, true);
    visit("BIO_meth_set_read_ex", bio_method_set_read, true);
    visit("BIO_meth_set_ctrl", bio_method_set_ctrl, true);
    visit("BIO_new", bio_new, true);
    visit("BIO_set_data", bio_set_data, true);
    visit("BIO_get_data", bio_get_data, true);
    visit("BIO_set_init", bio_set_init, true);
    visit("BIO_set_flags", bio_set_flags, true);
    visit("BIO_clear_flags", bio_clear_flags, true);
  }
};

}  // namespace weir::drivers
