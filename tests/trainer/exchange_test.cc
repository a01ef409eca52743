// SPDX-License-Identifier: Apache-2.0
// Models in the folders of Hugging Face's GPT-2 and Llama. What its own code makes of them is in
// hugging_face_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/exchange/byte_tokenizer.h"
#include "trainer/exchange/exported_model.h"
#include "trainer/exchange/foreign_config.h"
#include "trainer/exchange/foreign_tensor.h"
#include "trainer/exchange/imported_model.h"
#include "trainer/tokenizer/byte_letters.h"

namespace weir::trainer {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Config& exchanged_config(Form form = Form::gpt2) {
  static const Config gpt2{
      .name = "imported", .layers = 2, .width = 24, .heads = 4, .length = 10, .vocabulary = 300};
  static const Config llama{.name = "imported",
                            .layers = 2,
                            .width = 32,
                            .heads = 8,
                            .length = 10,
                            .vocabulary = 300,
                            .form = Form::llama,
                            .key_value_heads = 4,
                            .hidden = 40,
                            .epsilon = 1e-6f,
                            .rotary_base = 500000.0f,
                            .rotary_scaling = {8, 32.0f, 0.5f, 3.25f}};
  return form == Form::llama ? llama : gpt2;
}

/// A unit's array: initial values, also where these are equal for all elements.
std::vector<float> values_of(const ParameterTable& table, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(table.size()));
  initialise(table, seed, 0, table.size(), values.data());
  for (const Tensor& tensor : table.tensors())
    for (Index at = 0; at < tensor.size(); ++at)
      values[static_cast<size_t>(tensor.offset + at)] += 1e-3f * static_cast<float>(tensor.in_whole(at));
  return values;
}

class Exchange : public ::testing::Test {
 protected:
  void export_model(uint64_t seed, Form form = Form::gpt2) const {
    auto file = ExportedModel::create(path(), exchanged_config(form));
    ASSERT_TRUE(file.ok()) << file.status().message();
    const Model model(exchanged_config(form), Recompute::none);
    for (const auto& unit : model.units())
      ASSERT_TRUE(file->add(unit->parameters(), values_of(unit->parameters(), seed)).ok());
    const Status finished = file->finish();
    ASSERT_TRUE(finished.ok()) << finished.message();
  }
  const std::string& path() const { return folder_.path(); }
  /// Replaces a field of the exported config.json.
  void set(const char* field, const json& value, Form form = Form::gpt2) const {
    auto all = json::parse(foreign_config_text(exchanged_config(form)));
    if (value == "missing")
      all.erase(field);
    else
      all[field] = value;
    std::ofstream(path() + "/config.json") << all.dump();
  }
  std::string refusal() const {
    const auto opened = ImportedModel::open(path());
    return opened.ok() ? "accepted" : opened.status().message();
  }
  /// Writes a file of zeros with these tensors instead of the exported ones.
  void put_tensors(const std::function<void(std::vector<TensorEntry>&)>& change) const {
    std::vector<TensorEntry> tensors = SafetensorsReader::open(path() + "/model.safetensors")->tensors();
    change(tensors);
    auto writer = SafetensorsWriter::create(path() + "/model.safetensors", tensors);
    for (const TensorEntry& tensor : tensors)
      ASSERT_TRUE(writer->write(std::vector<float>(tensor.elements())).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  /// Divides the tensors among two files with an index, as save_pretrained does with large models.
  void split() const {
    const std::string whole = path() + "/model.safetensors";
    const auto reader = SafetensorsReader::open(whole);
    json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", json::object()}};
    for (size_t part = 0; part < 2; ++part) {
      std::vector<TensorEntry> tensors;
      for (size_t at = part; at < reader->tensors().size(); at += 2) tensors.push_back(reader->tensors()[at]);
      const std::string name =
          part == 0 ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
      auto writer = SafetensorsWriter::create(path() + "/" + name, tensors);
      for (const TensorEntry& tensor : tensors) {
        ASSERT_TRUE(writer->write(*reader->read(tensor.name, tensor.shape)).ok());
        index["weight_map"][tensor.name] = name;
      }
      ASSERT_TRUE(writer->finish().ok());
    }
    std::ofstream(whole + ".index.json") << index.dump();
    std::filesystem::remove(whole);
  }
  /// Replaces the index, and says how it is refused, without its path.
  std::string refusal_of_index(const std::string& text) const {
    const std::string index = path() + "/model.safetensors.index.json";
    std::ofstream(index) << text;
    const std::string said = refusal();
    return said.starts_with(index + ": ") ? said.substr(index.size() + 2) : said;
  }

 private:
  checkpoint::TemporaryFolder folder_;
};

class ExchangeOf : public Exchange, public ::testing::WithParamInterface<Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, ExchangeOf, ::testing::Values(Form::gpt2, Form::llama));

TEST_P(ExchangeOf, WhatIsExportedIsImported) {
  const Config& config = exchanged_config(GetParam());
  export_model(3, GetParam());
  const auto imported = ImportedModel::open(path());
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported->config().form, config.form);
  EXPECT_EQ(imported->config().vocabulary, config.vocabulary);
  EXPECT_EQ(imported->config().layers, config.layers);
  EXPECT_EQ(imported->config().width, config.width);
  EXPECT_EQ(imported->config().heads, config.heads);
  EXPECT_EQ(imported->config().length, config.length);
  EXPECT_EQ(imported->config().key_value_heads, config.key_value_heads);
  EXPECT_EQ(imported->config().hidden, config.hidden);
  EXPECT_EQ(imported->config().epsilon, config.epsilon);
  EXPECT_EQ(imported->config().rotary_base, config.rotary_base);
  EXPECT_EQ(imported->config().rotary_scaling, config.rotary_scaling);
  EXPECT_FALSE(imported->copies_embedding());
  // Whole, in slices, and in pieces.
  for (const int count : {1, 2, 4})
    for (int index = 0; index < count; ++index) {
      const Model model(config, Recompute::none, {index, count});
      for (const auto& unit : model.units()) {
        const ParameterTable& table = unit->parameters();
        const std::vector<float> expected = values_of(table, 3);
        std::vector<float> values(expected.size());
        for (Index begin = 0; begin < table.size(); begin += 1000) {
          const Index end = std::min<Index>(begin + 1000, table.size());
          ASSERT_TRUE(imported->fill(table, begin, end, values.data() + begin).ok());
        }
        EXPECT_EQ(values, expected) << table.tensors()[0].name << ", slice " << index << " of " << count;
      }
    }
}

TEST_F(Exchange, ChecksumsTellModelsApart) {
  export_model(3);
  const uint64_t first = *ImportedModel::open(path())->checksum();
  EXPECT_EQ(*ImportedModel::open(path())->checksum(), first);
  export_model(4);
  EXPECT_NE(*ImportedModel::open(path())->checksum(), first);
}

TEST_P(ExchangeOf, AModelMayBeInSeveralFiles) {
  export_model(3, GetParam());
  const uint64_t whole = *ImportedModel::open(path())->checksum();
  split();
  const auto imported = ImportedModel::open(path());
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(*imported->checksum(), whole);
  std::filesystem::remove(path() + "/model-00002-of-00002.safetensors");
  EXPECT_THAT(refusal(), HasSubstr("/model-00002-of-00002.safetensors: the model cannot be opened: "));
}

TEST_F(Exchange, IndexesThatDoNotFitAreNamed) {
  export_model(3);
  split();
  EXPECT_THAT(refusal_of_index("{"), HasSubstr("is not JSON: "));
  for (const char* none : {"[]", "{}", "{\"weight_map\": {}}", "{\"weight_map\": [1]}"})
    EXPECT_EQ(refusal_of_index(none), "has no weight_map; expected an object with the file of each tensor");
  EXPECT_EQ(refusal_of_index("{\"weight_map\": {\"a\": 1}}"), "the file of tensor 'a' is no string");
  for (const char* name : {"../x.safetensors", "", "x.bin"})
    EXPECT_EQ(
        refusal_of_index(json{{"weight_map", {{"a", name}}}}.dump()),
        std::string("tensor 'a' is in '") + name + "'; expected a file *.safetensors in the same folder");
  EXPECT_EQ(refusal_of_index("{\"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\"}}"),
            "has no tensor 'transformer.wte.weight'; expected one of shape [300, 24]");
  EXPECT_THAT(refusal_of_index("{\"weight_map\": {\"transformer.wte.weight\": "
                               "\"model-00002-of-00002.safetensors\"}}"),
              HasSubstr("model-00002-of-00002.safetensors: has no tensor 'transformer.wte.weight'"));
}

TEST_P(ExchangeOf, NamesMayBeWithoutTheirFirstPart) {
  export_model(3, GetParam());
  const std::string first = GetParam() == Form::llama ? "model." : "transformer.";
  put_tensors([&](std::vector<TensorEntry>& tensors) {
    for (TensorEntry& tensor : tensors)
      if (tensor.name.starts_with(first)) tensor.name.erase(0, first.size());
  });
  EXPECT_EQ(refusal(), "accepted");
}

TEST_P(ExchangeOf, TiedWeightsAreOneTensor) {
  Config config = exchanged_config(GetParam());
  config.tied = true;
  const Model model(config, Recompute::none);
  auto file = ExportedModel::create(path(), config);
  ASSERT_TRUE(file.ok()) << file.status().message();
  for (const auto& unit : model.units())
    ASSERT_TRUE(file->add(unit->parameters(), values_of(unit->parameters(), 3)).ok());
  ASSERT_TRUE(file->finish().ok());
  const auto exported = SafetensorsReader::open(path() + "/model.safetensors");
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  for (const TensorEntry& tensor : exported->tensors()) EXPECT_NE(tensor.name, "lm_head.weight");
  const auto imported = ImportedModel::open(path());
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_TRUE(imported->config().tied);
  EXPECT_FALSE(imported->copies_embedding());
  for (const auto& unit : model.units()) {
    const ParameterTable& table = unit->parameters();
    std::vector<float> values(static_cast<size_t>(table.size()));
    ASSERT_TRUE(imported->fill(table, 0, table.size(), values.data()).ok());
    EXPECT_EQ(values, values_of(table, 3));
  }
}

TEST_P(ExchangeOf, OnlyTiedModelsCanBeTied) {
  export_model(3, GetParam());
  EXPECT_TRUE(ImportedModel::open(path(), false).ok());
  EXPECT_EQ(ImportedModel::open(path(), true).status().message(),
            path() +
                "/config.json: tie_word_embeddings is false; with --tied expected true, as the model has "
                "an output layer of its own");
}

TEST_P(ExchangeOf, UntiedWeightsBecomeTwoTensors) {
  export_model(3, GetParam());
  set("tie_word_embeddings", true, GetParam());
  EXPECT_TRUE(ImportedModel::open(path(), true)->config().tied);
  const auto imported = ImportedModel::open(path(), false);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_TRUE(imported->copies_embedding());
  EXPECT_FALSE(imported->config().tied);
  const Model model(exchanged_config(GetParam()), Recompute::none);
  const auto embedding = *imported->read(model.units().front()->parameters().tensors()[0]);
  const auto head = *imported->read(model.units().back()->parameters().tensors().back());
  EXPECT_EQ(head, transposed(300, static_cast<uint64_t>(model.config().width), embedding));
}

TEST_F(Exchange, TensorsThatDoNotFitAreNamed) {
  export_model(3);
  put_tensors([](std::vector<TensorEntry>& tensors) { tensors.pop_back(); });
  EXPECT_EQ(refusal(),
            path() + "/model.safetensors: has no tensor 'lm_head.weight'; expected one of shape [300, 24]");
  export_model(3);
  put_tensors([](std::vector<TensorEntry>& tensors) { std::ranges::reverse(tensors[4].shape); });
  EXPECT_EQ(refusal(), path() +
                           "/model.safetensors: tensor 'transformer.h.0.attn.c_attn.weight' has shape [72, "
                           "24]; expected [24, 72]");
  std::filesystem::remove(path() + "/config.json");
  EXPECT_THAT(refusal(), HasSubstr("/config.json: No such file"));
}

TEST_F(Exchange, ModelsOfAnotherFormAreRefused) {
  export_model(3);
  const auto said = [&](const char* field, const json& value) {
    set(field, value);
    return refusal().substr(path().size() + std::string("/config.json: ").size());
  };
  EXPECT_EQ(said("model_type", "bert"), "model_type is \"bert\"; expected \"gpt2\" or \"llama\"");
  EXPECT_EQ(said("model_type", "missing"), "model_type is null; expected \"gpt2\" or \"llama\"");
  EXPECT_EQ(said("vocab_size", 0), "vocab_size is 0; expected a number from 1 to 1048576");
  set("vocab_size", 300);
  EXPECT_EQ(said("layer_norm_epsilon", 1e-6), "layer_norm_epsilon is 1e-06; expected 1e-05");
  EXPECT_EQ(said("n_inner", 50), "n_inner is 50; expected null or 96, four times n_embd");
  EXPECT_EQ(said("activation_function", "relu"),
            "activation_function is \"relu\"; expected \"gelu_new\", GELU's tanh form");
  EXPECT_EQ(said("scale_attn_weights", false), "scale_attn_weights is false; expected true");
  EXPECT_EQ(said("scale_attn_by_inverse_layer_idx", true),
            "scale_attn_by_inverse_layer_idx is true; expected false");
  EXPECT_EQ(said("n_head", 5), "n_embd is 24; expected a multiple of n_head, 5");
  EXPECT_EQ(said("n_layer", 0), "n_layer is 0; expected a number from 1 to 1000");
  EXPECT_EQ(said("n_layer", 1e9), "n_layer is 1000000000.0; expected a number from 1 to 1000");
  EXPECT_EQ(said("n_embd", "wide"), "n_embd is \"wide\"; expected a number from 1 to 1048576");
  EXPECT_EQ(said("tie_word_embeddings", 1), "tie_word_embeddings is 1; expected true or false");
  set("n_inner", 96);
  EXPECT_EQ(refusal(), "accepted");
  std::ofstream(path() + "/config.json") << "{";
  EXPECT_THAT(refusal(), HasSubstr("/config.json: is not JSON: "));
}

TEST_F(Exchange, LlamasOfAnotherFormAreRefused) {
  export_model(3, Form::llama);
  const auto said = [&](const char* field, const json& value) {
    set(field, value, Form::llama);
    return refusal().substr(path().size() + std::string("/config.json: ").size());
  };
  EXPECT_EQ(said("vocab_size", 0), "vocab_size is 0; expected a number from 1 to 1048576");
  EXPECT_EQ(said("hidden_act", "gelu"), "hidden_act is \"gelu\"; expected \"silu\"");
  EXPECT_EQ(said("attention_bias", true), "attention_bias is true; expected false");
  EXPECT_EQ(said("mlp_bias", true), "mlp_bias is true; expected false");
  EXPECT_EQ(said("rope_scaling", {{"type", "linear"}}),
            "rope_type is \"linear\"; expected \"default\" or \"llama3\"");
  EXPECT_EQ(said("rope_scaling", 2), "rope_scaling is 2; expected null");
  EXPECT_EQ(said("rope_parameters", {{"rope_type", "llama3"}}),
            "original_max_position_embeddings is null; expected a number from 1 to 1048576");
  json scaling = {{"rope_type", "llama3"},
                  {"original_max_position_embeddings", 8},
                  {"factor", 8.0},
                  {"low_freq_factor", 4.0},
                  {"high_freq_factor", 4.0}};
  EXPECT_EQ(said("rope_scaling", scaling), "high_freq_factor is 4; expected more than low_freq_factor, 4");
  scaling["factor"] = 0;
  EXPECT_EQ(said("rope_scaling", scaling), "factor is 0; expected a number above 0");
  EXPECT_EQ(said("rope_theta", 0), "rope_theta is 0; expected a number above 0");
  EXPECT_EQ(said("rms_norm_eps", "small"), "rms_norm_eps is \"small\"; expected a number above 0");
  EXPECT_EQ(said("head_dim", 16), "head_dim is 16; expected null or 4, hidden_size / num_attention_heads");
  EXPECT_EQ(said("num_attention_heads", 5),
            "hidden_size is 32; expected a multiple of num_attention_heads, 5");
  EXPECT_EQ(said("num_key_value_heads", 3),
            "num_attention_heads is 8; expected a multiple of num_key_value_heads, 3");
  EXPECT_EQ(said("num_attention_heads", 32),
            "hidden_size / num_attention_heads is 1; expected an even number");
  set("head_dim", 4, Form::llama);
  EXPECT_EQ(refusal(), "accepted");
  set("rope_parameters", {{"rope_theta", 123.0}, {"rope_type", "default"}}, Form::llama);
  EXPECT_EQ(ImportedModel::open(path())->config().rotary_base, 123.0f) << "as newer releases write it";
  export_model(3, Form::llama);
  put_tensors([](std::vector<TensorEntry>& tensors) { tensors[3].shape[0] = 32; });
  EXPECT_EQ(refusal(), path() +
                           "/model.safetensors: tensor 'model.layers.0.self_attn.k_proj.weight' has shape "
                           "[32, 32]; expected [16, 32]");
}

class ForeignConfigText : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, ForeignConfigText, ::testing::Values(Form::gpt2, Form::llama));

TEST_P(ForeignConfigText, ChangedOnesAreReadOrRefused) {
  const std::string sound = foreign_config_text(exchanged_config(GetParam()));
  std::mt19937 random(1);
  int refusals = 0;
  const int rounds = weir::testing::enough(5000);
  for (int round = 0; round < rounds; ++round) {
    std::string text = sound;
    const size_t at = random() % text.size();
    if (random() % 2 == 0)
      text[at] = static_cast<char>(random());
    else
      text.replace(at, random() % 4, sound.substr(random() % sound.size(), random() % 6));
    const auto read = parse_foreign_config(text);
    refusals += read.ok() ? 0 : 1;
    EXPECT_NE(read.ok(), !read.status().message().empty());
  }
  EXPECT_GT(refusals, rounds / 3);
  EXPECT_LT(refusals, rounds);
  const std::string deep(100'000, '['), end(100'000, ']');
  EXPECT_EQ(parse_foreign_config("{\"model_type\": \"gpt2\", \"vocab_size\": " + deep + end + "}")
                .status()
                .message(),
            "vocab_size is \"array\"; expected a number from 1 to 1048576");
}

TEST_F(Exchange, FoldersAreMadeOrNamed) {
  const std::string deep = path() + "/a/b";
  EXPECT_TRUE(ExportedModel::create(deep, exchanged_config()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(deep)) << "nothing before it is complete";
  EXPECT_THAT(ExportedModel::create("/dev/null/a", exchanged_config()).status().message(),
              HasSubstr("/dev/null/a: the folder of the model cannot be made: "));
}

TEST(Gpt2Tensors, HaveTheNamesAndShapesOfTheirs) {
  const Model model(exchanged_config(), Recompute::none);
  std::vector<std::string> said;
  for (const auto& unit : model.units())
    for (const Tensor& tensor : unit->parameters().tensors()) {
      const ForeignTensor theirs = foreign_tensor(Form::gpt2, tensor);
      said.push_back(theirs.name + " " + shape_words(theirs.shape) +
                     (theirs.transposed ? " transposed" : ""));
    }
  ASSERT_EQ(said.size(), 2u + 2 * 12 + 3);
  EXPECT_EQ(said[0], "transformer.wte.weight [300, 24]");
  EXPECT_EQ(said[1], "transformer.wpe.weight [10, 24]");
  EXPECT_THAT(
      std::vector<std::string>(said.begin() + 14, said.begin() + 26),
      ElementsAre("transformer.h.1.ln_1.weight [24]", "transformer.h.1.ln_1.bias [24]",
                  "transformer.h.1.attn.c_attn.weight [24, 72] transposed",
                  "transformer.h.1.attn.c_attn.bias [72]", "transformer.h.1.attn.c_proj.weight [24, 24]",
                  "transformer.h.1.attn.c_proj.bias [24]", "transformer.h.1.ln_2.weight [24]",
                  "transformer.h.1.ln_2.bias [24]", "transformer.h.1.mlp.c_fc.weight [24, 96] transposed",
                  "transformer.h.1.mlp.c_fc.bias [96]", "transformer.h.1.mlp.c_proj.weight [96, 24]",
                  "transformer.h.1.mlp.c_proj.bias [24]"));
  EXPECT_EQ(said.back(), "lm_head.weight [300, 24] transposed");
}

TEST(LlamaTensors, HaveTheNamesAndShapesOfTheirs) {
  const Model model(exchanged_config(Form::llama), Recompute::none);
  std::vector<std::string> said;
  for (const auto& unit : model.units())
    for (const Tensor& tensor : unit->parameters().tensors()) {
      const ForeignTensor theirs = foreign_tensor(Form::llama, tensor);
      said.push_back(theirs.name + " " + shape_words(theirs.shape) +
                     (theirs.transposed ? " transposed" : ""));
    }
  ASSERT_EQ(said.size(), 1u + 2 * 9 + 2);
  EXPECT_EQ(said[0], "model.embed_tokens.weight [300, 32]");
  EXPECT_THAT(std::vector<std::string>(said.begin() + 10, said.begin() + 19),
              ElementsAre("model.layers.1.input_layernorm.weight [32]",
                          "model.layers.1.self_attn.q_proj.weight [32, 32]",
                          "model.layers.1.self_attn.k_proj.weight [16, 32]",
                          "model.layers.1.self_attn.v_proj.weight [16, 32]",
                          "model.layers.1.self_attn.o_proj.weight [32, 32] transposed",
                          "model.layers.1.post_attention_layernorm.weight [32]",
                          "model.layers.1.mlp.gate_proj.weight [40, 32]",
                          "model.layers.1.mlp.up_proj.weight [40, 32]",
                          "model.layers.1.mlp.down_proj.weight [32, 40] transposed"));
  EXPECT_EQ(said[19], "model.norm.weight [32]");
  EXPECT_EQ(said.back(), "lm_head.weight [300, 32] transposed");
}

TEST(ByteTokenizer, EachByteHasALetterOfItsOwn) {
  std::set<std::string> letters;
  for (int byte = 0; byte < 256; ++byte) letters.insert(letter_of_byte(static_cast<uint8_t>(byte)));
  EXPECT_EQ(letters.size(), 256u);
  EXPECT_EQ(letter_of_byte('A'), "A");
  EXPECT_EQ(letter_of_byte(' '), "\u0120") << "as in GPT-2's vocabulary";
  EXPECT_EQ(letter_of_byte('\n'), "\u010a");
  EXPECT_EQ(letter_of_byte(0xad), "\u0143") << "the last one that is not printable";
  EXPECT_EQ(letter_of_byte(0xff), "\u00ff");
  EXPECT_EQ(json::parse(tokenizer_text())["model"]["vocab"]["\u0120"], 32);
  EXPECT_EQ(json::parse(tokenizer_config_text(77))["model_max_length"], 77);
}

}  // namespace
}  // namespace weir::trainer
