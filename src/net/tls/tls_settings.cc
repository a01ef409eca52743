// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_settings.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace weir {
namespace {

struct FileVariable {
  const char* name;
  const char* contents;
  std::string TlsSettings::*file;
};
constexpr std::array kFileVariables = {
    FileVariable{"WEIR_TLS_CERT", "the certificate of this process", &TlsSettings::certificate_file},
    FileVariable{"WEIR_TLS_KEY", "the private key of the certificate", &TlsSettings::key_file},
    FileVariable{"WEIR_TLS_CA", "the certificate of the job's authority", &TlsSettings::authority_file},
};

std::optional<TlsSettings::Mode> mode_of(const std::string& word) {
  if (word.empty() || word == "off") return TlsSettings::Mode::off;
  if (word == "psk") return TlsSettings::Mode::psk;
  if (word == "cert") return TlsSettings::Mode::cert;
  return std::nullopt;
}

Status wrong(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

Status check_file(const TlsSettings& settings, const FileVariable& variable) {
  const std::string& file = settings.*variable.file;
  if (settings.mode == TlsSettings::Mode::cert && file.empty()) {
    return wrong(fmt::format("WEIR_TLS is cert, but {} is not set; expected a PEM file with {}",
                             variable.name, variable.contents));
  }
  if (settings.mode != TlsSettings::Mode::cert && !file.empty()) {
    return wrong(fmt::format("{} is \"{}\", but WEIR_TLS is {}; expected WEIR_TLS=cert, or no {}",
                             variable.name, file, name_of(settings.mode), variable.name));
  }
  return {};
}

}  // namespace

Result<TlsSettings> TlsSettings::parse(const std::string& mode, const std::string& certificate,
                                       const std::string& key, const std::string& authority) {
  const std::optional<Mode> known = mode_of(mode);
  if (!known) return wrong(fmt::format("WEIR_TLS is \"{}\"; expected off, psk or cert", mode));
  TlsSettings settings;
  settings.mode = *known;
  settings.certificate_file = certificate;
  settings.key_file = key;
  settings.authority_file = authority;
  for (const FileVariable& variable : kFileVariables) WEIR_TRY(check_file(settings, variable));
  return settings;
}

Result<TlsSettings> TlsSettings::with_secret(BytesView secret) {
  if (secret.size() < kLeastTlsSecret) {
    return wrong(fmt::format("the secret for encryption has {} bytes; expected at least {}", secret.size(),
                             kLeastTlsSecret));
  }
  TlsSettings settings;
  settings.mode = Mode::psk;
  settings.secret.assign(secret.begin(), secret.end());
  return settings;
}

std::string_view name_of(TlsSettings::Mode mode) {
  switch (mode) {
    case TlsSettings::Mode::off: return "off";
    case TlsSettings::Mode::psk: return "psk";
    case TlsSettings::Mode::cert: return "cert";
  }
  return "unknown";
}

}  // namespace weir
