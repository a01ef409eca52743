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

/// Success on all ranks if each of them can write to the folder in which rank 0 writes; otherwise, on all, an
/// error that names the lowest rank for which that is not so, and its host. Collective. `folder` exists on
/// rank 0. Leaves nothing there; what a killed process leaves is among leftovers().
Status check_shared(ncclComm_t world, const std::string& folder, Files& files);

/// An error if the file system of a folder has less than `bytes` free. Those that do not tell their size are
/// taken to have enough.
Status check_space(const std::string& folder, uint64_t bytes);

}  // namespace weir::checkpoint
