// SPDX-License-Identifier: Apache-2.0
/// Which ranks see the same checkpoint folder, found out by what they write there.
/// Tests: tests/trainer/checkpoint_test.cc
#pragma once

#include <nccl.h>

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "trainer/checkpoint/files.h"

namespace weir::checkpoint {

/// The lowest rank that sees what this rank writes to its folder. An error, on all ranks, if a rank cannot
/// write there; it names the rank and its host. Collective. Leaves nothing there; what a killed process
/// leaves is among leftovers().
Result<int> first_in_folder(ncclComm_t world, const std::string& folder, Files& files);

/// Success on all ranks if `first` is 0 on all; otherwise, on all, an error that names the lowest rank for
/// which that is not so, and its host. Collective.
Status check_shared(ncclComm_t world, const std::string& folder, int first);

/// An error if the file system of a folder has less than `bytes` free. Those that do not tell their size are
/// taken to have enough.
Status check_space(const std::string& folder, uint64_t bytes);

}  // namespace weir::checkpoint
