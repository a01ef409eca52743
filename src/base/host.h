/// Facts about this host and process. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// The host name up to its first dot, with '%' and '/' replaced by '-'.
std::string short_hostname();

/// Equal in processes that run on the same kernel: a hash of the host name and the kernel's boot id, or of
/// `override_text` (NCCL_HOSTID) where that is not empty.
uint64_t host_identity(std::string_view override_text);

/// FNV-1a with a final mix, 64 bits: for identities and checksums, not against malice.
uint64_t hash_text(std::string_view text);

/// How many cores this process can keep busy: its affinity mask, and the CPU quota of its control group (rounded up).
/// At least 1.
int usable_cores();

/// Random bits from the kernel.
uint64_t random_bits();

}  // namespace weir
