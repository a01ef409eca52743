// SPDX-License-Identifier: Apache-2.0
// NCCL 2.32's switch for the encryption of sockets.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>

#include "src/api/process.h"
#include "src/net/tls/tls_settings.h"

namespace weir::api {
namespace {

constexpr unsigned kEncryptionMagic = NCCL_API_MAGIC;

Status wrong_encryption(std::string what) {
  return {Code::invalid_argument, "ncclSetEncryption : " + std::move(what)};
}

/// Whether the structure was made with the initializer. NCCL accepts any size; a smaller one is refused here,
/// because what is missing would be read from behind it.
Status check_layout(const ncclEncryptionConfig_t& config) {
  constexpr const char* kMade = "it was not made with NCCL_ENCRYPTION_CONFIG_INITIALIZER";
  if (config.size < sizeof(config)) {
    return wrong_encryption(
        fmt::format("config has size {}; expected at least {}: {}", config.size, sizeof(config), kMade));
  }
  if (config.magic != kEncryptionMagic) {
    return wrong_encryption(
        fmt::format("config has magic {:#x}; expected {:#x}: {}", config.magic, kEncryptionMagic, kMade));
  }
  return {};
}

Result<std::optional<TlsSettings>> read_encryption(const ncclEncryptionConfig_t* config) {
  if (config == nullptr) return std::optional<TlsSettings>();
  WEIR_TRY(check_layout(*config));
  if (config->mode == NCCL_ENCRYPTION_MODE_NONE) return std::optional<TlsSettings>();
  if (config->mode != NCCL_ENCRYPTION_MODE_PSK) {
    return wrong_encryption(fmt::format(
        "invalid mode {}; expected NCCL_ENCRYPTION_MODE_NONE or NCCL_ENCRYPTION_MODE_PSK", config->mode));
  }
  if (config->psk == nullptr)
    return wrong_encryption("psk is NULL; NCCL_ENCRYPTION_MODE_PSK needs a secret of at least 32 bytes");
  const auto settings =
      TlsSettings::with_secret(std::as_bytes(std::span(config->psk, std::strlen(config->psk))));
  if (!settings.ok()) return wrong_encryption(settings.status().message());
  return std::optional<TlsSettings>(settings.value());
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclSetEncryption(const ncclEncryptionConfig_t* config) {
  say_version();
  auto settings = read_encryption(config);
  if (!settings.ok()) return report(settings.status());
  set_encryption(std::move(*settings));
  return ncclSuccess;
}
WEIR_WEAK_ALIAS(ncclSetEncryption);
