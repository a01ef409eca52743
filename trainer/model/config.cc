// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir::trainer {
namespace {

const std::vector<Config>& presets() {
  static const std::vector<Config> all{
      {.name = "tiny", .layers = 4, .width = 128, .heads = 4, .length = 64},
      {.name = "small", .layers = 4, .width = 256, .heads = 4, .length = 128},
      {.name = "medium", .layers = 6, .width = 384, .heads = 6, .length = 256},
      {.name = "124M", .layers = 12, .width = 768, .heads = 12, .length = 1024},
      {.name = "llama-tiny",
       .layers = 4,
       .width = 128,
       .heads = 4,
       .length = 64,
       .form = Form::llama,
       .key_value_heads = 2,
       .hidden = 352},
      {.name = "llama-small",
       .layers = 4,
       .width = 256,
       .heads = 4,
       .length = 128,
       .form = Form::llama,
       .key_value_heads = 2,
       .hidden = 704},
      {.name = "llama-medium",
       .layers = 6,
       .width = 384,
       .heads = 6,
       .length = 256,
       .form = Form::llama,
       .key_value_heads = 2,
       .hidden = 1024},
      {.name = "llama-110M",
       .layers = 12,
       .width = 768,
       .heads = 12,
       .length = 1024,
       .form = Form::llama,
       .key_value_heads = 4,
       .hidden = 2048},
  };
  return all;
}

}  // namespace

double Config::operations_per_token() const {
  const auto l = static_cast<double>(layers);
  const auto w = static_cast<double>(width);
  double block = 12.0 * w * w;
  if (form == Form::llama) {
    const double shared = w * static_cast<double>(key_value_heads) / static_cast<double>(heads);
    block = 2.0 * w * (w + shared) + 3.0 * w * static_cast<double>(hidden);
  }
  return 6.0 * (l * block + w * static_cast<double>(vocabulary)) + 12.0 * l * static_cast<double>(length) * w;
}

Result<Config> preset(std::string_view name) {
  for (const Config& config : presets())
    if (config.name == name) return config;
  return Status(Code::invalid_argument,
                fmt::format("unknown preset '{}'; expected {}", name, fmt::join(preset_names(), ", ")));
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Config& config : presets()) names.push_back(config.name);
  return names;
}

}  // namespace weir::trainer
