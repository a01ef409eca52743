// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/exported_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "trainer/exchange/byte_tokenizer.h"
#include "trainer/exchange/foreign_config.h"
#include "trainer/exchange/foreign_tensor.h"
#include "trainer/report/trace.h"

namespace weir::trainer {

Result<ExportedModel> ExportedModel::create(const std::string& folder, const Config& config,
                                            TokenizerFiles tokenizer_files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Status(Code::system_error,
                  fmt::format("{}: the folder of the model cannot be made: {}", folder, error.message()));
  std::vector<TensorEntry> tensors;
  const Model model(config, Recompute::none);
  for (const auto& unit : model.units())
    for (const Tensor& tensor : unit->parameters().tensors()) {
      ForeignTensor theirs = foreign_tensor(config.form, tensor);
      tensors.push_back({.name = std::move(theirs.name), .type = "F32", .shape = std::move(theirs.shape)});
    }
  auto writer = SafetensorsWriter::create(folder + "/model.safetensors", std::move(tensors));
  WEIR_TRY(writer.status());
  return ExportedModel(folder, config, std::move(tokenizer_files), std::move(*writer));
}

Status ExportedModel::add(const ParameterTable& table, std::span<const float> values) {
  for (const Tensor& tensor : table.tensors()) {
    const auto own = values.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.size()));
    const ForeignTensor theirs = foreign_tensor(config_.form, tensor);
    WEIR_TRY(theirs.transposed ? writer_.write(transposed(theirs.shape[1], theirs.shape[0], own))
                               : writer_.write(own));
  }
  return {};
}

Status ExportedModel::finish() {
  WEIR_TRY(writer_.finish());
  WEIR_TRY(write_file(folder_ + "/config.json", foreign_config_text(config_), "model"));
  if (tokenizer_files_.empty() && config_.vocabulary != kBytes) return {};
  for (const TokenizerFile& file : tokenizer_files_)
    WEIR_TRY(write_file(folder_ + "/" + file.name, file.content, "tokenizer"));
  if (tokenizer_files_.empty())
    WEIR_TRY(write_file(folder_ + "/tokenizer.json", tokenizer_text(), "tokenizer"));
  return write_file(folder_ + "/tokenizer_config.json", tokenizer_config_text(config_.length), "tokenizer");
}

}  // namespace weir::trainer
