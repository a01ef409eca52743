// SPDX-License-Identifier: Apache-2.0
// Compares the table's names, types and numbers with those of OpenSSL's headers.
#include "src/drivers/openssl_table.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "src/drivers/openssl.h"
#include "tests/drivers/same_call.h"

namespace weir::drivers {
namespace {

using Compare = Comparison<OpenSslTable>;
using Table = OpenSslTable;

void compare_library(Compare& compare) {
  EXPECT_EQ(compare.differ<decltype(OPENSSL_init_ssl)>("OPENSSL_init_ssl", &Table::init_ssl), "");
  EXPECT_EQ(compare.differ<decltype(ERR_get_error)>("ERR_get_error", &Table::get_error), "");
  EXPECT_EQ(compare.differ<decltype(ERR_clear_error)>("ERR_clear_error", &Table::clear_errors), "");
  EXPECT_EQ(compare.differ<decltype(ERR_reason_error_string)>("ERR_reason_error_string", &Table::reason_text),
            "");
  EXPECT_EQ(compare.differ<decltype(X509_verify_cert_error_string)>("X509_verify_cert_error_string",
                                                                    &Table::verify_text),
            "");
  EXPECT_EQ(compare.differ<decltype(EVP_sha256)>("EVP_sha256", &Table::sha256), "");
  EXPECT_EQ(compare.differ<decltype(HMAC)>("HMAC", &Table::hmac), "");
}

void compare_contexts(Compare& compare) {
  EXPECT_EQ(compare.differ<decltype(TLS_method)>("TLS_method", &Table::tls_method), "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_new)>("SSL_CTX_new", &Table::context_new), "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_free)>("SSL_CTX_free", &Table::context_free), "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_ctrl)>("SSL_CTX_ctrl", &Table::context_ctrl), "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_options)>("SSL_CTX_set_options", &Table::context_set_options),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_ciphersuites)>("SSL_CTX_set_ciphersuites",
                                                               &Table::context_set_suites),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_num_tickets)>("SSL_CTX_set_num_tickets",
                                                              &Table::context_set_tickets),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_verify)>("SSL_CTX_set_verify", &Table::context_set_verify),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_default_passwd_cb)>("SSL_CTX_set_default_passwd_cb",
                                                                    &Table::context_set_password),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_default_read_buffer_len)>(
                "SSL_CTX_set_default_read_buffer_len", &Table::context_set_read_buffer),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_load_verify_file)>("SSL_CTX_load_verify_file",
                                                               &Table::context_load_authority),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_use_certificate_chain_file)>("SSL_CTX_use_certificate_chain_file",
                                                                         &Table::context_use_certificates),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_use_PrivateKey_file)>("SSL_CTX_use_PrivateKey_file",
                                                                  &Table::context_use_key),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_psk_use_session_callback)>(
                "SSL_CTX_set_psk_use_session_callback", &Table::context_set_psk_use),
            "");
  EXPECT_EQ(compare.differ<decltype(SSL_CTX_set_psk_find_session_callback)>(
                "SSL_CTX_set_psk_find_session_callback", &Table::context_set_psk_find),
            "");
}

void compare_connections(Compare& compare) {
  EXPECT_EQ(compare.differ<decltype(SSL_new)>("SSL_new", &Table::ssl_new), "");
  EXPECT_EQ(compare.differ<decltype(SSL_free)>("SSL_free", &Table::ssl_free), "");
  EXPECT_EQ(compare.differ<decltype(SSL_set_bio)>("SSL_set_bio", &Table::ssl_set_bio), "");
  EXPECT_EQ(compare.differ<decltype(SSL_set_ex_data)>("SSL_set_ex_data", &Table::ssl_set_data), "");
  EXPECT_EQ(compare.differ<decltype(SSL_get_ex_data)>("SSL_get_ex_data", &Table::ssl_get_data), "");
  EXPECT_EQ(
      compare.differ<decltype(SSL_set_session_id_context)>("SSL_set_session_id_context", &Table::ssl_set_id),
      "");
  EXPECT_EQ(compare.differ<decltype(SSL_connect)>("SSL_connect", &Table::ssl_connect), "");
  EXPECT_EQ(compare.differ<decltype(SSL_accept)>("SSL_accept", &Table::ssl_accept), "");
  EXPECT_EQ(compare.differ<decltype(SSL_read_ex)>("SSL_read_ex", &Table::ssl_read), "");
  EXPECT_EQ(compare.differ<decltype(SSL_write_ex)>("SSL_write_ex", &Table::ssl_write), "");
  EXPECT_EQ(compare.differ<decltype(SSL_shutdown)>("SSL_shutdown", &Table::ssl_shutdown), "");
  EXPECT_EQ(compare.differ<decltype(SSL_get_error)>("SSL_get_error", &Table::ssl_get_error), "");
  EXPECT_EQ(compare.differ<decltype(SSL_has_pending)>("SSL_has_pending", &Table::ssl_has_pending), "");
  EXPECT_EQ(compare.differ<decltype(SSL_session_reused)>("SSL_session_reused", &Table::ssl_session_reused),
            "");
  EXPECT_EQ(
      compare.differ<decltype(SSL_get_verify_result)>("SSL_get_verify_result", &Table::ssl_get_verify_result),
      "");
}

void compare_sessions_and_bios(Compare& compare) {
  EXPECT_EQ(compare.differ<decltype(SSL_CIPHER_find)>("SSL_CIPHER_find", &Table::cipher_find), "");
  EXPECT_EQ(compare.differ<decltype(SSL_SESSION_new)>("SSL_SESSION_new", &Table::session_new), "");
  EXPECT_EQ(compare.differ<decltype(SSL_SESSION_free)>("SSL_SESSION_free", &Table::session_free), "");
  EXPECT_EQ(compare.differ<decltype(SSL_SESSION_set1_master_key)>("SSL_SESSION_set1_master_key",
                                                                  &Table::session_set_key),
            "");
  EXPECT_EQ(
      compare.differ<decltype(SSL_SESSION_set_cipher)>("SSL_SESSION_set_cipher", &Table::session_set_cipher),
      "");
  EXPECT_EQ(compare.differ<decltype(SSL_SESSION_set_protocol_version)>("SSL_SESSION_set_protocol_version",
                                                                       &Table::session_set_version),
            "");
  EXPECT_EQ(compare.differ<decltype(BIO_get_new_index)>("BIO_get_new_index", &Table::bio_new_index), "");
  EXPECT_EQ(compare.differ<decltype(BIO_meth_new)>("BIO_meth_new", &Table::bio_method_new), "");
  EXPECT_EQ(
      compare.differ<decltype(BIO_meth_set_write_ex)>("BIO_meth_set_write_ex", &Table::bio_method_set_write),
      "");
  EXPECT_EQ(
      compare.differ<decltype(BIO_meth_set_read_ex)>("BIO_meth_set_read_ex", &Table::bio_method_set_read),
      "");
  EXPECT_EQ(compare.differ<decltype(BIO_meth_set_ctrl)>("BIO_meth_set_ctrl", &Table::bio_method_set_ctrl),
            "");
  EXPECT_EQ(compare.differ<decltype(BIO_new)>("BIO_new", &Table::bio_new), "");
  EXPECT_EQ(compare.differ<decltype(BIO_set_data)>("BIO_set_data", &Table::bio_set_data), "");
  EXPECT_EQ(compare.differ<decltype(BIO_get_data)>("BIO_get_data", &Table::bio_get_data), "");
  EXPECT_EQ(compare.differ<decltype(BIO_set_init)>("BIO_set_init", &Table::bio_set_init), "");
  EXPECT_EQ(compare.differ<decltype(BIO_set_flags)>("BIO_set_flags", &Table::bio_set_flags), "");
  EXPECT_EQ(compare.differ<decltype(BIO_clear_flags)>("BIO_clear_flags", &Table::bio_clear_flags), "");
}

TEST(OpenSslTable, IsAsTheHeadersSay) {
  Compare compare;
  compare_library(compare);
  compare_contexts(compare);
  compare_connections(compare);
  compare_sessions_and_bios(compare);
  EXPECT_EQ(compare.left(), "");
}

TEST(OpenSslTable, HasTheCommandsAndValuesOfTheHeaders) {
  EXPECT_EQ(openssl::kInitNoAtexit, static_cast<uint64_t>(OPENSSL_INIT_NO_ATEXIT));
  EXPECT_EQ(openssl::kInitLoadCryptoStrings, static_cast<uint64_t>(OPENSSL_INIT_LOAD_CRYPTO_STRINGS));
  EXPECT_EQ(openssl::kInitLoadSslStrings, static_cast<uint64_t>(OPENSSL_INIT_LOAD_SSL_STRINGS));
  EXPECT_EQ(openssl::kTls13, TLS1_3_VERSION);
  EXPECT_EQ(openssl::kCtrlMode, SSL_CTRL_MODE);
  EXPECT_EQ(openssl::kCtrlSetReadAhead, SSL_CTRL_SET_READ_AHEAD);
  EXPECT_EQ(openssl::kCtrlSetSessCacheMode, SSL_CTRL_SET_SESS_CACHE_MODE);
  EXPECT_EQ(openssl::kCtrlSetGroupsList, SSL_CTRL_SET_GROUPS_LIST);
  EXPECT_EQ(openssl::kCtrlSetMinProtoVersion, SSL_CTRL_SET_MIN_PROTO_VERSION);
  EXPECT_EQ(openssl::kCtrlSetMaxProtoVersion, SSL_CTRL_SET_MAX_PROTO_VERSION);
  EXPECT_EQ(openssl::kModeEnablePartialWrite, static_cast<long>(SSL_MODE_ENABLE_PARTIAL_WRITE));
  EXPECT_EQ(openssl::kModeAcceptMovingWriteBuffer, static_cast<long>(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER));
  EXPECT_EQ(openssl::kModeReleaseBuffers, static_cast<long>(SSL_MODE_RELEASE_BUFFERS));
  EXPECT_EQ(openssl::kSessCacheOff, SSL_SESS_CACHE_OFF);
  EXPECT_EQ(openssl::kOpNoTicket, static_cast<uint64_t>(SSL_OP_NO_TICKET));
  EXPECT_EQ(openssl::kOpNoRenegotiation, static_cast<uint64_t>(SSL_OP_NO_RENEGOTIATION));
  EXPECT_EQ(openssl::kVerifyPeer, SSL_VERIFY_PEER);
  EXPECT_EQ(openssl::kVerifyFailIfNoPeerCert, SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
  EXPECT_EQ(openssl::kFiletypePem, SSL_FILETYPE_PEM);
  EXPECT_EQ(openssl::kBioTypeSourceSink, BIO_TYPE_SOURCE_SINK);
  EXPECT_EQ(openssl::kBioCtrlEof, BIO_CTRL_EOF);
  EXPECT_EQ(openssl::kBioCtrlFlush, BIO_CTRL_FLUSH);
  EXPECT_EQ(openssl::kBioFlagsRead, BIO_FLAGS_READ);
  EXPECT_EQ(openssl::kBioFlagsShouldRetry, BIO_FLAGS_SHOULD_RETRY);
}

TEST(OpenSslTable, HasTheErrorsOfTheHeaders) {
  EXPECT_EQ(openssl::kErrorSsl, SSL_ERROR_SSL);
  EXPECT_EQ(openssl::kErrorWantRead, SSL_ERROR_WANT_READ);
  EXPECT_EQ(openssl::kErrorSyscall, SSL_ERROR_SYSCALL);
  EXPECT_EQ(openssl::kErrorZeroReturn, SSL_ERROR_ZERO_RETURN);
  EXPECT_EQ(openssl::kErrSystemFlag, static_cast<unsigned long>(ERR_SYSTEM_FLAG));
  EXPECT_EQ(openssl::kErrLibShift, ERR_LIB_OFFSET);
  EXPECT_EQ(openssl::kErrLibMask, static_cast<unsigned long>(ERR_LIB_MASK));
  EXPECT_EQ(openssl::kErrReasonMask, static_cast<unsigned long>(ERR_REASON_MASK));
  EXPECT_EQ(openssl::kErrLibSsl, ERR_LIB_SSL);
  EXPECT_EQ(openssl::kReasonNoSuitableSignatureAlgorithm, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM);
  EXPECT_EQ(openssl::kReasonCertificateVerifyFailed, SSL_R_CERTIFICATE_VERIFY_FAILED);
  EXPECT_EQ(openssl::kReasonHttpsProxyRequest, SSL_R_HTTPS_PROXY_REQUEST);
  EXPECT_EQ(openssl::kReasonHttpRequest, SSL_R_HTTP_REQUEST);
  EXPECT_EQ(openssl::kReasonNoSharedCipher, SSL_R_NO_SHARED_CIPHER);
  EXPECT_EQ(openssl::kReasonPacketLengthTooLong, SSL_R_PACKET_LENGTH_TOO_LONG);
  EXPECT_EQ(openssl::kReasonPeerDidNotReturnACertificate, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE);
  EXPECT_EQ(openssl::kReasonUnexpectedMessage, SSL_R_UNEXPECTED_MESSAGE);
  EXPECT_EQ(openssl::kReasonBinderDoesNotVerify, SSL_R_BINDER_DOES_NOT_VERIFY);
  EXPECT_EQ(openssl::kReasonUnsupportedProtocol, SSL_R_UNSUPPORTED_PROTOCOL);
  EXPECT_EQ(openssl::kReasonWrongSslVersion, SSL_R_WRONG_SSL_VERSION);
  EXPECT_EQ(openssl::kReasonWrongVersionNumber, SSL_R_WRONG_VERSION_NUMBER);
  EXPECT_EQ(openssl::kReasonUnexpectedEof, SSL_R_UNEXPECTED_EOF_WHILE_READING);
  EXPECT_EQ(openssl::kReasonVersionTooLow, SSL_R_VERSION_TOO_LOW);
  EXPECT_EQ(openssl::kReasonBadRecordType, SSL_R_BAD_RECORD_TYPE);
  EXPECT_EQ(openssl::kReasonAlert + SSL_AD_UNKNOWN_CA, SSL_R_TLSV1_ALERT_UNKNOWN_CA);
}

TEST(OpenSslTable, IsWhatTheLibraryExports) {
  const Result<const OpenSslTable*> table = load_openssl();
  if (!table.ok()) GTEST_SKIP() << table.status().message();
  EXPECT_NE(table.value()->reason_text((20UL << openssl::kErrLibShift) | 134), nullptr);
}

}  // namespace
}  // namespace weir::drivers
