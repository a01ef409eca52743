// SPDX-License-Identifier: Apache-2.0
/// Facts about this host and process. All functions are thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// The host name up to its first dot, with '%' and '/' replaced by '-'.
std::string short_hostname();

/// Equal in processes that run on the same kernel: a hash of the host name and the kernel's boot id, or of
/// `override_text` (NCCL_HOSTID) where that is not empty.
uint64_t host_identity(std::string_view override_text);

/// Equal in processes of one kernel, also where containers call their hosts differently: a hash of its boot
/// id.
uint64_t kernel_identity();

/// FNV-1a with a final mix, 64 bits: for identities and checksums, not against malice.
uint64_t hash_text(std::string_view text);

/// Cores by number, up to 1024. Trivially copyable.
struct CoreSet {
  std::array<uint64_t, 16> bits{};

  int count() const;
  CoreSet& operator|=(const CoreSet& other);
};

/// Where this process may run: its affinity mask.
CoreSet allowed_cores();

/// How many of `cores` its control group lets a process keep busy: their number, or the CPU quota (rounded
/// up). At least 1.
int usable_cores(const CoreSet& cores);

/// Cores of the machine that are switched on.
int machine_cores();

/// The file of the library, or program, that this code is part of, as the loader names it; empty: unknown.
std::string own_file();

/// Random bits from the kernel.
uint64_t random_bits();

}  // namespace weir
