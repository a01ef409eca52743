// SPDX-License-Identifier: Apache-2.0
// Prints the first step of a small model as JSON: its parameters, its sequences, its loss and its gradients.
// With the argument "llama", of a model of Llama's form.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "trainer/data/samples.h"
#include "trainer/data/text.h"
#include "trainer/run/sharded.h"

using nlohmann::json;
using namespace weir::trainer;

int main(int argc, char** argv) {
  Settings settings;
  settings.config = {.name = "test", .layers = 2, .width = 48, .heads = 3, .length = 16};
  if (argc > 1 && std::string_view(argv[1]) == "llama") {
    settings.config.form = Form::llama;
    settings.config.heads = 6;
    settings.config.key_value_heads = 2;
    settings.config.hidden = 80;
    settings.config.rotary_base = 300;
  }
  settings.batch = 3;
  const auto text = Text::built_in();
  if (!text.ok()) return 1;
  CpuOps ops(settings.precision);
  const auto world = World::join();
  if (!world.ok()) return 1;
  const auto made = Sharded::create(*world, settings, *text, ops);
  if (!made.ok()) return 1;
  Sharded& engine = **made;
  const Model& model = engine.model();

  json tensors = json::object();
  const auto add = [&](const char* what, auto arrays) {
    for (size_t unit = 0; unit < model.units().size(); ++unit)
      for (const Tensor& tensor : model.units()[unit]->parameters().tensors()) {
        const auto part =
            arrays(unit).subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.size()));
        tensors[tensor.name]["shape"] = {tensor.rows, tensor.columns};
        tensors[tensor.name][what] = std::vector<float>(part.begin(), part.end());
      }
  };
  add("values", [&](size_t unit) { return engine.parameters(unit); });
  const auto result = engine.step(0);
  if (!result.ok()) return 1;
  add("gradients", [&](size_t unit) { return engine.gradients(unit); });

  json sequences = json::array();
  for (Index number = 0; number < settings.batch; ++number) {
    std::vector<Token> part(static_cast<size_t>(settings.config.length) + 1);
    text->copy(sample_begin(settings.seed, 0, number, text->training_size(), settings.config.length),
               settings.config.length + 1, part.data());
    sequences.push_back(part);
  }
  const json all{{"layers", settings.config.layers},
                 {"is_llama", settings.config.form == Form::llama},
                 {"key_value_heads", settings.config.key_value_heads},
                 {"epsilon", settings.config.epsilon},
                 {"rotary_base", settings.config.rotary_base},
                 {"heads", settings.config.heads},
                 {"tensors", tensors},
                 {"sequences", sequences},
                 {"loss", result->loss}};
  std::puts(all.dump().c_str());
  return 0;
}
