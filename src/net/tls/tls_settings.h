// SPDX-License-Identifier: Apache-2.0
/// Whether and how the sockets of a job are encrypted, as a value.
/// Tests: tests/net/tls/tls_settings_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/bytes.h"
#include "src/base/status.h"

namespace weir {

/// Length of the shortest secret that encryption accepts, in bytes.
inline constexpr size_t kLeastTlsSecret = 32;

struct TlsSettings {
  enum class Mode : uint8_t {
    off,
    psk,   ///< a secret that all processes of the job know: pre-shared key
    cert,  ///< certificates that one authority has signed
  };

  Mode mode = Mode::off;
  /// psk: the secret, any bytes, at least kLeastTlsSecret. Empty: the job's own secret is meant, which
  /// whoever knows it fills in before a context is made.
  Bytes secret;
  // cert: files in PEM format.
  std::string certificate_file;  ///< certificate of this process, with those of authorities in between
  std::string key_file;          ///< private key of that certificate, without a password
  std::string authority_file;  ///< certificates of the authorities whose signature makes a member of the job

  bool on() const { return mode != Mode::off; }

  /// Reads the values of WEIR_TLS, WEIR_TLS_CERT, WEIR_TLS_KEY and WEIR_TLS_CA; empty means unset. No file is
  /// opened. invalid_argument names the variable, its value and what was expected; files that are set
  /// although certificates are not used are an error, because somebody expects encryption.
  static Result<TlsSettings> parse(const std::string& mode, const std::string& certificate,
                                   const std::string& key, const std::string& authority);
  /// The settings for a secret. invalid_argument if it is too short.
  static Result<TlsSettings> with_secret(BytesView secret);
};

/// The word for a mode in WEIR_TLS.
std::string_view name_of(TlsSettings::Mode mode);

}  // namespace weir
