// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/imported_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "trainer/checkpoint/checksum.h"
#include "trainer/checkpoint/files.h"
#include "trainer/exchange/foreign_tensor.h"
#include "trainer/model/model.h"

namespace weir::trainer {
namespace {

/// A tensor of the whole model, given one of a slice.
Tensor whole_of(Tensor tensor) {
  const Index count = tensor.slice.count;
  // A slice has some rows of a matrix and some elements of a vector.
  (tensor.deviation > 0 ? tensor.rows : tensor.columns) *= count;
  tensor.slice = {};
  return tensor;
}

}  // namespace

Result<ImportedModel> ImportedModel::open(const std::string& folder, std::optional<bool> tied) {
  const std::string path = folder + "/config.json";
  const Result<std::string> text = checkpoint::read_file(path);
  WEIR_TRY(text.status());
  Result<Config> config = parse_foreign_config(*text);
  if (!config.ok()) return Status(config.status().code(), path + ": " + config.status().message());
  if (tied == true && !config->tied)
    return Status(Code::invalid_argument,
                  path +
                      ": tie_word_embeddings is false; with --tied expected true, as the model has an "
                      "output layer of its own");
  const bool copies_embedding = config->tied && tied == false;
  if (copies_embedding) config->tied = false;
  Result<SafetensorsFiles> files = SafetensorsFiles::open(folder);
  WEIR_TRY(files.status());
  ImportedModel model(folder, std::move(*config), copies_embedding, std::move(*files));
  WEIR_TRY(model.check());
  return model;
}

/// Whether all tensors are there, before any is read.
Status ImportedModel::check() const {
  const Model model(config(), Recompute::none);
  for (const auto& unit : model.units())
    for (const Tensor& tensor : unit->parameters().tensors()) {
      const ForeignTensor theirs = foreign_tensor(config().form, tensor);
      WEIR_TRY(files_.check(name_in_file(theirs.name), theirs.shape));
    }
  return {};
}

std::string ImportedModel::name_in_file(const std::string& name) const {
  const std::string_view before = foreign_prefix(config().form);
  const std::string wanted =
      name == kForeignHead && copies_embedding() ? foreign_embedding(config().form) : name;
  if (!files_.has(wanted) && wanted.starts_with(before) && files_.has(wanted.substr(before.size())))
    return wanted.substr(before.size());
  return wanted;
}

Result<std::vector<float>> ImportedModel::read(const Tensor& tensor) const {
  const ForeignTensor theirs = foreign_tensor(config().form, tensor);
  Result<std::vector<float>> values = files_.read(name_in_file(theirs.name), theirs.shape);
  if (!values.ok() || !theirs.transposed) return values;
  return transposed(theirs.shape[0], theirs.shape[1], *values);
}

Result<uint64_t> ImportedModel::checksum() const {
  const Model model(config(), Recompute::none);
  std::vector<uint64_t> sums;
  for (const auto& unit : model.units())
    for (const Tensor& tensor : unit->parameters().tensors()) {
      const auto values = read(tensor);
      WEIR_TRY(values.status());
      sums.push_back(checkpoint::checksum(values->data(), values->size() * sizeof(float)));
    }
  return checkpoint::checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

Status ImportedModel::fill(const ParameterTable& table, Index begin, Index end, float* values) const {
  std::fill(values, values + (end - begin), 0.0f);
  for (const Tensor& tensor : table.tensors()) {
    const Index first = std::max(begin, tensor.offset);
    const Index last = std::min(end, tensor.offset + tensor.size());
    if (first >= last) continue;
    const auto whole = read(whole_of(tensor));
    WEIR_TRY(whole.status());
    for (Index at = first; at < last; ++at)
      values[at - begin] = (*whole)[static_cast<size_t>(tensor.in_whole(at - tensor.offset))];
  }
  return {};
}

}  // namespace weir::trainer
