// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/write_model.h"

#include <optional>
#include <utility>

#include "trainer/checkpoint/agree.h"
#include "trainer/exchange/exported_model.h"

namespace weir::trainer {

Status try_export(const World& world, const std::string& folder, const Config& config) {
  const bool writes = world.rank() == 0;
  return checkpoint::agree(world.comm(), writes ? ExportedModel::create(folder, config).status() : Status());
}

Status export_model(const World& world, Sharded& engine, const std::string& folder) {
  const Config& config = engine.model().config();
  const auto& files = engine.settings().tokenizer_files;
  const Model whole(config, Recompute::none);
  std::optional<ExportedModel> file;
  Status status;
  if (world.rank() == 0) {
    auto created = ExportedModel::create(folder, config, files == nullptr ? TokenizerFiles() : *files);
    status = created.status();
    if (created.ok()) file.emplace(std::move(*created));
  }
  for (size_t at = 0; at < whole.units().size(); ++at) {
    const auto values = engine.whole_unit(at);
    WEIR_TRY(values.status());
    if (file && status.ok()) status = file->add(whole.units()[at]->parameters(), *values);
  }
  if (file && status.ok()) status = file->finish();
  return checkpoint::agree(world.comm(), status);
}

}  // namespace weir::trainer
