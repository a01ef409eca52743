// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/openssl.h"

#include <fmt/format.h>

namespace weir::drivers {
namespace {

Result<const OpenSslTable*> open_openssl() {
  const Result<Library> library = Library::open_for_good("libssl.so.3");
  if (!library.ok()) {
    return Status(Code::system_error, fmt::format("encryption needs OpenSSL 3, which cannot be loaded: {}",
                                                  library.status().message()));
  }
  static OpenSslTable table;
  if (const char* missing = table.find_in(library.value()))
    return Status(Code::system_error,
                  fmt::format("libssl.so.3 lacks {}; expected OpenSSL 3.0 or newer", missing));
  // Threads of weir may outlive main(): they must not find the library dismantled.
  constexpr uint64_t kOptions =
      openssl::kInitNoAtexit | openssl::kInitLoadCryptoStrings | openssl::kInitLoadSslStrings;
  if (table.init_ssl(kOptions, nullptr) != 1)
    return Status(Code::system_error,
                  "libssl.so.3 cannot be initialized; expected a working configuration "
                  "of OpenSSL (openssl.cnf)");
  return &table;
}

}  // namespace

Result<const OpenSslTable*> load_openssl() {
  static const Result<const OpenSslTable*> loaded = open_openssl();
  return loaded;
}

}  // namespace weir::drivers
