// SPDX-License-Identifier: Apache-2.0
/// Facts about this host and process. All functions are thread-safe.
/// Tests: tests/base/host_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// The host name up to its first dot, with '%' and '/' replaced by '-'.
std::string short_hostname();

/// A number that is equal in processes of the same host: a hash of the host name and the kernel's boot id, or
/// of `override_text` (NCCL_HOSTID) where that is not empty.
uint64_t host_identity(std::string_view override_text);

/// A number that is equal in processes on the same kernel, even in containers with different host names: a
/// hash of the kernel's boot id.
uint64_t kernel_identity();

/// FNV-1a with a final mix, 64 bits: for identities and checksums; not secure against attackers.
uint64_t hash_text(std::string_view text);

/// A set of cores with numbers below 1024. Trivially copyable.
struct CoreSet {
  std::array<uint64_t, 16> bits{};

  int count() const;
  CoreSet& operator|=(const CoreSet& other);
};

/// The cores on which this process may run (its affinity mask).
CoreSet allowed_cores();

/// How many of `cores` this process can keep busy: their number, or its control group's CPU quota (rounded
/// up) if that is smaller. At least 1.
int usable_cores(const CoreSet& cores);

/// The number of online cores of the machine.
int machine_cores();

/// The path, as the loader knows it, of the library or program that contains this code; empty: unknown.
std::string own_file();

/// Random bits from the kernel.
uint64_t random_bits();

}  // namespace weir
