// SPDX-License-Identifier: Apache-2.0
/// Writes the model of an engine into a folder, for other programs.
/// Tests: tests/trainer/model_source_test.cc, tests/trainer/hugging_face_test.py
#pragma once

#include <string>

#include "src/base/status.h"
#include "trainer/run/sharded.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// Whether export_model() could write the folder, which is made; what is in it stays. On rank 0 alone;
/// success on the others. Collective: all get rank 0's error.
Status try_export(const World& world, const std::string& folder, const Config& config);

/// The parameters as they are now, and the files of its tokenizer, as ExportedModel writes them. Collective;
/// rank 0 writes, one unit at a time, and all get its error.
Status export_model(const World& world, Sharded& engine, const std::string& folder);

}  // namespace weir::trainer
