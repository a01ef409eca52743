// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/safetensors_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/checkpoint/files.h"
#include "trainer/exchange/config_fields.h"

namespace weir::trainer {
namespace {

using nlohmann::json;

/// The name of the file of each tensor. Pure.
Result<std::map<std::string, std::string>> parse_weight_map(const std::string& text) {
  const auto wrong = [](std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); };
  json all;
  WEIR_TRY(parse_json(text, all));
  const auto weights = all.is_object() ? all.find("weight_map") : all.end();
  if (weights == all.end() || !weights->is_object() || weights->empty())
    return wrong("has no weight_map; expected an object with the file of each tensor");
  std::map<std::string, std::string> names;
  for (const auto& [tensor, file] : weights->items()) {
    if (!file.is_string()) return wrong(fmt::format("the file of tensor '{}' is no string", tensor));
    const auto& name = file.get_ref<const std::string&>();
    if (!name.ends_with(".safetensors") || name.find_first_of(std::string("/\0", 2)) != std::string::npos)
      return wrong(fmt::format("tensor '{}' is in '{}'; expected a file *.safetensors in the same folder",
                               tensor, name));
    names.emplace(tensor, name);
  }
  return names;
}

}  // namespace

Result<SafetensorsFiles> SafetensorsFiles::open(const std::string& folder) {
  const std::string single = folder + "/model.safetensors", index = single + ".index.json";
  SafetensorsFiles files;
  std::error_code error;
  if (!std::filesystem::exists(single, error) && std::filesystem::exists(index, error)) {
    WEIR_TRY(files.open_index(folder, index));
    return files;
  }
  auto reader = SafetensorsReader::open(single);
  WEIR_TRY(reader.status());
  files.files_.push_back(std::move(*reader));
  return files;
}

Status SafetensorsFiles::open_index(const std::string& folder, const std::string& path) {
  const auto text = checkpoint::read_file(path);
  WEIR_TRY(text.status());
  const auto names = parse_weight_map(*text);
  if (!names.ok()) return Status(names.status().code(), path + ": " + names.status().message());
  index_ = path;
  std::map<std::string, size_t> opened;
  for (const auto& [tensor, name] : *names) {
    const auto [known, is_new] = opened.try_emplace(name, files_.size());
    if (is_new) {
      auto reader = SafetensorsReader::open(folder + "/" + name);
      WEIR_TRY(reader.status());
      files_.push_back(std::move(*reader));
    }
    homes_.emplace(tensor, known->second);
  }
  return {};
}

bool SafetensorsFiles::has(const std::string& name) const {
  return index_.empty() ? files_.front().has(name) : homes_.contains(name);
}

Status SafetensorsFiles::check(const std::string& name, const std::vector<uint64_t>& shape) const {
  if (index_.empty()) return files_.front().check(name, shape);
  const auto home = homes_.find(name);
  if (home == homes_.end())
    return Status(Code::invalid_argument, fmt::format("{}: has no tensor '{}'; expected one of shape {}",
                                                      index_, name, shape_words(shape)));
  return files_[home->second].check(name, shape);
}

Result<std::vector<float>> SafetensorsFiles::read(const std::string& name,
                                                  const std::vector<uint64_t>& shape) const {
  WEIR_TRY(check(name, shape));
  return files_[index_.empty() ? 0 : homes_.at(name)].read(name, shape);
}

}  // namespace weir::trainer
