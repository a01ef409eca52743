// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/model_source.h"

#include <utility>

#include "trainer/checkpoint/loader.h"
#include "trainer/exchange/imported_model.h"
#include "trainer/run/checkpoint_words.h"

namespace weir::trainer {

Status choose_model(const ModelSource& source, Settings& settings) {
  if (!source.imported.empty()) {
    auto imported = ImportedModel::open(source.imported, source.tied);
    WEIR_TRY(imported.status());
    settings.config = imported->config();
    settings.imported = std::make_shared<const ImportedModel>(std::move(*imported));
    return {};
  }
  if (!source.sample_from.empty()) {
    const auto found = checkpoint::newest(source.sample_from);
    WEIR_TRY(found.status());
    settings.optimizer = optimizer_in(found->contents.words);
    if (const auto config = config_in(found->contents.words)) {
      settings.config = *config;
      return {};
    }
  }
  Result<Config> config = preset(source.preset);
  WEIR_TRY(config.status());
  settings.config = std::move(*config);
  if (source.blocks > 0) settings.config.layers = source.blocks;
  settings.config.tied = source.tied.value_or(false);
  return {};
}

}  // namespace weir::trainer
