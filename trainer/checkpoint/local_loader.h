// SPDX-License-Identifier: Apache-2.0
/// Reads checkpoints of which each host has only the files of its own ranks.
/// Tests: tests/trainer/checkpoint_test.cc, tests/trainer/model_source_test.cc
#pragma once

#include <nccl.h>

#include <optional>
#include <span>
#include <string>

#include "src/base/status.h"
#include "trainer/checkpoint/loader.h"

namespace weir::checkpoint {

/// As load_latest(), from the files that ranks find under `path`, each on its host. For each file one rank
/// that has it sends each of its records to the ranks that need elements of it; a rank keeps no more than a
/// record. A checkpoint of which some files are nowhere is skipped,
/// with a sentence that names them. Collective.
Result<std::optional<Loaded>> load_latest_local(ncclComm_t world, const std::string& path,
                                                const Contents& expected,
                                                std::span<const ArrayRequest> requests);

}  // namespace weir::checkpoint
