// SPDX-License-Identifier: Apache-2.0
/// OpenSSL 3, loaded when encryption is asked for.
/// Tests: tests/drivers/openssl_table_test.cc
#pragma once

#include "src/base/status.h"
#include "src/drivers/openssl_table.h"

namespace weir::drivers {

/// The functions of libssl.so.3, loaded and initialized on the first call and never unloaded. If the program
/// uses the same library, both share it: its queue of errors belongs to the calling thread, and whoever calls
/// a function here clears it first and leaves it empty. system_error if the library is missing or lacks a
/// function. Thread-safe.
Result<const OpenSslTable*> load_openssl();

}  // namespace weir::drivers
