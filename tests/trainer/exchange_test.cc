// SPDX-License-Identifier: Apache-2.0
// Models in the folders of Hugging Face's GPT-2. What its own code makes of them is in hugging_face_test.py.
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
#include "trainer/exchange/gpt2_config.h"
#include "trainer/exchange/gpt2_tensors.h"
#include "trainer/exchange/imported_model.h"

namespace weir::trainer {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Config& exchanged_config() {
  static const Config config{.name = "imported", .layers = 2, .width = 24, .heads = 4, .length = 10};
  return config;
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
  void export_model(uint64_t seed) const {
    auto file = ExportedModel::create(path(), exchanged_config());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const Model model(exchanged_config(), Recompute::none);
    for (const auto& unit : model.units())
      ASSERT_TRUE(file->add(unit->parameters(), values_of(unit->parameters(), seed)).ok());
    const Status finished = file->finish();
    ASSERT_TRUE(finished.ok()) << finished.message();
  }
  const std::string& path() const { return folder_.path(); }
  /// Replaces a field of the exported config.json.
  void set(const char* field, const json& value) const {
    auto all = json::parse(gpt2_config_text(exchanged_config()));
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

 private:
  checkpoint::TemporaryFolder folder_;
};

TEST_F(Exchange, WhatIsExportedIsImported) {
  export_model(3);
  const auto imported = ImportedModel::open(path());
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported->config().layers, 2);
  EXPECT_EQ(imported->config().width, 24);
  EXPECT_EQ(imported->config().heads, 4);
  EXPECT_EQ(imported->config().length, 10);
  EXPECT_FALSE(imported->copies_embedding());
  // Whole, in slices, and in pieces.
  for (const int count : {1, 2, 4})
    for (int index = 0; index < count; ++index) {
      const Model model(exchanged_config(), Recompute::none, {index, count});
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

TEST_F(Exchange, NamesMayBeWithoutTheirFirstPart) {
  export_model(3);
  put_tensors([](std::vector<TensorEntry>& tensors) {
    for (TensorEntry& tensor : tensors)
      if (tensor.name.starts_with("transformer.")) tensor.name.erase(0, std::string("transformer.").size());
  });
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(Exchange, TiedWeightsBecomeTwoTensors) {
  export_model(3);
  set("tie_word_embeddings", true);
  const auto imported = ImportedModel::open(path());
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_TRUE(imported->copies_embedding());
  const Model model(exchanged_config(), Recompute::none);
  const auto embedding = *imported->read(model.units().front()->parameters().tensors()[0]);
  const auto head = *imported->read(model.units().back()->parameters().tensors()[2]);
  EXPECT_EQ(head, transposed(256, 24, embedding));
}

TEST_F(Exchange, TensorsThatDoNotFitAreNamed) {
  export_model(3);
  put_tensors([](std::vector<TensorEntry>& tensors) { tensors.pop_back(); });
  EXPECT_EQ(refusal(),
            path() + "/model.safetensors: has no tensor 'lm_head.weight'; expected one of shape [256, 24]");
  export_model(3);
  put_tensors([](std::vector<TensorEntry>& tensors) { std::ranges::reverse(tensors[4].shape); });
  EXPECT_EQ(refusal(), path() +
                           "/model.safetensors: tensor 'transformer.h.0.attn.c_attn.weight' has shape [72, "
                           "24]; expected [24, 72]");
  std::filesystem::rename(path() + "/model.safetensors", path() + "/model.safetensors.index.json");
  EXPECT_THAT(refusal(), HasSubstr("has a model in several files; expected one, model.safetensors"));
  std::filesystem::remove(path() + "/config.json");
  EXPECT_THAT(refusal(), HasSubstr("/config.json: No such file"));
}

TEST_F(Exchange, ModelsOfAnotherFormAreRefused) {
  export_model(3);
  const auto said = [&](const char* field, const json& value) {
    set(field, value);
    return refusal().substr(path().size() + std::string("/config.json: ").size());
  };
  EXPECT_EQ(said("model_type", "llama"), "model_type is \"llama\"; expected \"gpt2\"");
  EXPECT_EQ(said("model_type", "missing"), "model_type is null; expected \"gpt2\"");
  EXPECT_EQ(said("vocab_size", 50257), "vocab_size is 50257; expected 256");
  EXPECT_EQ(said("vocab_size", "missing"), "vocab_size is 50257; expected 256");
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

TEST(Gpt2ConfigText, ChangedOnesAreReadOrRefused) {
  const std::string sound = gpt2_config_text(exchanged_config());
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
    const auto read = parse_gpt2_config(text);
    refusals += read.ok() ? 0 : 1;
    EXPECT_NE(read.ok(), !read.status().message().empty());
  }
  EXPECT_GT(refusals, rounds / 3);
  EXPECT_LT(refusals, rounds);
  const std::string deep(100'000, '['), end(100'000, ']');
  EXPECT_EQ(
      parse_gpt2_config("{\"model_type\": \"gpt2\", \"vocab_size\": " + deep + end + "}").status().message(),
      "vocab_size is \"array\"; expected 256");
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
      const Gpt2Tensor theirs = gpt2_tensor(tensor);
      said.push_back(theirs.name + " " + shape_words(theirs.shape) +
                     (theirs.transposed ? " transposed" : ""));
    }
  ASSERT_EQ(said.size(), 2u + 2 * 12 + 3);
  EXPECT_EQ(said[0], "transformer.wte.weight [256, 24]");
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
  EXPECT_EQ(said.back(), "lm_head.weight [256, 24] transposed");
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
