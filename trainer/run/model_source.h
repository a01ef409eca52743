// SPDX-License-Identifier: Apache-2.0
/// Where the model of a run comes from: a preset, a folder of Hugging Face's GPT-2 or Llama, or a checkpoint.
/// Tests: tests/trainer/model_source_test.cc
#pragma once

#include <optional>
#include <string>

#include "src/base/status.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

struct ModelSource {
  std::string preset = "small";
  int blocks = 0;            ///< number of blocks; 0: as in the preset
  std::optional<bool> tied;  ///< whether the output layer is tied to the embedding; nullopt: as in the model
  std::string imported;      ///< path of a folder whose model is trained on; empty: none
  std::string sample_from;   ///< path of a checkpoint, or of a folder with some; empty: the run trains
};

/// Fills in the shape of the model, what its parameters are imported from, and the optimizer whose state a
/// checkpoint has. The shape of a checkpoint of an earlier version is that of the preset. Errors: those of
/// ImportedModel::open() and checkpoint::newest().
Status choose_model(const ModelSource& source, Settings& settings);

}  // namespace weir::trainer
