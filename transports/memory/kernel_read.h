// SPDX-License-Identifier: Apache-2.0
/// Whether reads of another process's memory through the kernel (memory_owner.h) take less time than copies.
///
/// Thread-safe.
/// Tests: tests/transports/kernel_read_test.cc
#pragma once

namespace weir {

/// Whether one read through the kernel takes less time on this machine than two copies through memory that
/// both processes map, for data in the caches. Measured at the first call, in about 0.1 ms, on this process's
/// own memory. False if the kernel forbids such reads.
bool kernel_reads_pay();

}  // namespace weir
