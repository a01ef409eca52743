// SPDX-License-Identifier: Apache-2.0
// A whole model: its gradients against central differences of the model in fp64, and what must not change its
// bits.
#include "trainer/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "tests/trainer/reference.h"
#include "trainer/math/buffer.h"

namespace weir::trainer {
namespace {

using reference::Values;

const Config kGpt2{.name = "test", .layers = 2, .width = 24, .heads = 3, .length = 7};
const Config kLlama{.name = "test",
                    .layers = 2,
                    .width = 24,
                    .heads = 3,
                    .length = 7,
                    .form = Form::llama,
                    .key_value_heads = 1,
                    .hidden = 40,
                    .epsilon = 1e-6f,
                    .rotary_base = 100.0f};

enum class Kind { gpt2, llama, tied_gpt2, tied_llama };
constexpr auto kKinds = {Kind::gpt2, Kind::llama, Kind::tied_gpt2, Kind::tied_llama};
Config config_of(Kind kind) {
  Config config = kind == Kind::llama || kind == Kind::tied_llama ? kLlama : kGpt2;
  config.tied = kind == Kind::tied_gpt2 || kind == Kind::tied_llama;
  return config;
}

std::vector<Token> bytes(Index count, uint32_t stream) {
  std::vector<Token> drawn;
  for (Index at = 0; at < count; ++at)
    drawn.push_back(
        static_cast<uint8_t>(random_block(9, Purpose::samples, stream, static_cast<uint64_t>(at))[0]));
  return drawn;
}

/// The gradients of each sequence, added up in their order.
class Collected final : public Gradients {
 public:
  explicit Collected(Index size) : size_(static_cast<size_t>(size)) {}
  float* open() override {
    open_.assign(size_, 0);
    return open_.data();
  }
  void close(Index first) override { EXPECT_TRUE(by_first_.emplace(first, open_).second) << first; }
  std::vector<float> sum() const {
    std::vector<float> sum(size_);
    for (const auto& [first, gradients] : by_first_)
      std::ranges::transform(sum, gradients, sum.begin(), std::plus<>());
    return sum;
  }

 private:
  size_t size_;
  std::vector<float> open_;
  std::map<Index, std::vector<float>> by_first_;
};

/// A model with parameters, which computes the gradients of a global batch.
class Learner {
 public:
  Learner(Kind kind, Recompute recompute, Precision precision, bool canonical)
      : config_(config_of(kind)), model_(config_, recompute), ops_(precision), canonical_(canonical) {
    for (const auto& unit : model_.units()) {
      Buffer values(unit->parameters().size());
      initialise(unit->parameters(), 5, 0, values.size(), values.data());
      // Ten times GPT-2's deviation, so that no gradient is small.
      for (const Tensor& tensor : unit->parameters().tensors())
        for (Index at = 0; at < tensor.size(); ++at) {
          float& value = values.data()[tensor.offset + at];
          const auto normals =
              to_normals(random_block(6, Purpose::generate, tensor.stream, static_cast<uint64_t>(at)));
          value = tensor.decays() ? 10 * value : value + 0.1f * normals[0];
        }
      parameters_.push_back(std::move(values));
    }
  }

  const Model& model() const { return model_; }
  Products& products() { return ops_.products(); }
  std::vector<Buffer>& parameters() { return parameters_; }
  const std::vector<float>& losses() const { return losses_; }

  /// The gradients of the mean loss of `sequences`, `at_once` of them together.
  std::vector<std::vector<float>> gradients(Index sequences, Index at_once) {
    std::vector<std::vector<float>> sums;
    std::vector<Collected> pieces;
    for (const Buffer& values : parameters_) {
      sums.emplace_back(static_cast<size_t>(values.size()));
      pieces.emplace_back(values.size());
    }
    losses_.assign(static_cast<size_t>(sequences * config_.length), 0);
    for (Index first = 0; first < sequences; first += at_once)
      micro_batch(sequences, first, std::min(at_once, sequences - first), sums, pieces);
    if (canonical_)
      for (size_t unit = 0; unit < sums.size(); ++unit) sums[unit] = pieces[unit].sum();
    EXPECT_TRUE(ops_.status().ok()) << ops_.status().message();
    return sums;
  }

 private:
  void micro_batch(Index all, Index first, Index sequences, std::vector<std::vector<float>>& sums,
                   std::vector<Collected>& pieces) {
    const std::vector<Token> tokens = bytes(all * config_.length, 1);
    const std::vector<Token> targets = bytes(all * config_.length, 2);
    const Index before = first * config_.length;
    Batch batch{.sequences = sequences,
                .length = config_.length,
                .first = first,
                .tokens = tokens.data() + before,
                .targets = targets.data() + before,
                .losses = losses_.data() + before,
                .loss_scale = 1.0f / static_cast<float>(all * config_.length),
                .by_sequence = canonical_};
    Buffer scratch(model_.scratch_floats(batch)), tied(model_.tied_floats(batch));
    batch.tied = model_.tied_in(tied.data(), batch);
    std::copy_n(parameters_[0].data(), config_.tied ? model_.table_floats() : 0, tied.data());
    const Compute compute{ops_, scratch.data()};
    const size_t units = parameters_.size();
    std::vector<Buffer> activations;
    std::vector<Buffer> saved;
    for (size_t at = 0; at < units; ++at) {
      activations.emplace_back(batch.rows() * config_.width);
      saved.emplace_back(model_.units()[at]->saved_floats(batch));
      model_.units()[at]->forward(compute, batch, parameters_[at].data(),
                                  at > 0 ? activations[at - 1].data() : nullptr,
                                  at + 1 < units ? activations[at].data() : nullptr, saved[at].data());
    }
    Buffer gradient(batch.rows() * config_.width);
    for (size_t at = units; at-- > 0;) {
      PlainGradients plain(sums[at].data());
      model_.units()[at]->backward(compute, batch, parameters_[at].data(),
                                   at > 0 ? activations[at - 1].data() : nullptr, saved[at].data(),
                                   gradient.data(), canonical_ ? static_cast<Gradients&>(pieces[at]) : plain);
    }
  }

  const Config config_;
  Model model_;
  CpuOps ops_;
  bool canonical_;
  std::vector<Buffer> parameters_;
  std::vector<float> losses_;
};

double largest_difference(const std::vector<std::vector<float>>& a,
                          const std::vector<std::vector<float>>& b) {
  double largest = 0;
  for (size_t unit = 0; unit < a.size(); ++unit)
    for (size_t at = 0; at < a[unit].size(); ++at)
      largest =
          std::max(largest, std::abs(static_cast<double>(a[unit][at]) - static_cast<double>(b[unit][at])));
  return largest;
}

class ModelGradients : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ModelGradients, testing::ValuesIn(kKinds));

TEST_P(ModelGradients, AreThoseOfTheModelInFp64) {
  const Config config = config_of(GetParam());
  constexpr Index kSequences = 2;
  Learner run(GetParam(), Recompute::none, Precision::fp32, false);
  const auto gradients = run.gradients(kSequences, kSequences);
  const std::vector<Token> tokens = bytes(kSequences * config.length, 1);
  const std::vector<Token> targets = bytes(kSequences * config.length, 2);
  std::vector<Values> parameters;
  for (const Buffer& values : run.parameters())
    parameters.emplace_back(values.values().begin(), values.values().end());
  const auto mean_loss = [&] {
    return reference::model_loss(config, run.model(), parameters, tokens, targets) /
           static_cast<double>(kSequences * config.length);
  };

  double loss = 0;
  for (const float token : run.losses()) loss += static_cast<double>(token);
  EXPECT_NEAR(loss / static_cast<double>(kSequences * config.length), mean_loss(), 1e-5);
  // Six elements of every tensor; of the embedding, rows that occur.
  for (size_t unit = 0; unit < parameters.size(); ++unit) {
    for (const Tensor& tensor : run.model().units()[unit]->parameters().tensors()) {
      const bool is_token_table = tensor.name == "embedding.tokens";
      for (Index nth = 0; nth < 6; ++nth) {
        const Index in_tensor = is_token_table ? tokens[static_cast<size_t>(nth)] * tensor.columns + nth
                                               : nth * (tensor.size() - 1) / 5;
        const auto at = static_cast<size_t>(tensor.offset + in_tensor);
        const double expected = reference::slope(mean_loss, parameters[unit][at]);
        ASSERT_NEAR(static_cast<double>(gradients[unit][at]), expected,
                    2e-5 * std::max(0.05, std::abs(expected)))
            << tensor.name << "[" << in_tensor << "]";
      }
    }
  }
}

TEST_P(ModelGradients, OfBf16AreClose) {
  Learner exact(GetParam(), Recompute::none, Precision::fp32, false);
  Learner rounded(GetParam(), Recompute::none, Precision::bf16, false);
  const auto gradients = exact.gradients(2, 2);
  double largest = 0;
  for (const auto& unit : gradients)
    for (const float value : unit) largest = std::max(largest, std::abs(static_cast<double>(value)));
  const double difference = largest_difference(gradients, rounded.gradients(2, 2));
  EXPECT_GT(difference, 0);  // it did round
  EXPECT_LT(difference, 0.03 * largest);
}

class Recomputed : public testing::TestWithParam<std::tuple<Kind, Recompute>> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Recomputed,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::Values(Recompute::selective, Recompute::full)));

TEST_P(Recomputed, GradientsHaveTheSameBitsAndLessIsSaved) {
  const auto [kind, recompute] = GetParam();
  Learner all(kind, Recompute::none, Precision::fp32, false);
  Learner again(kind, recompute, Precision::fp32, false);
  EXPECT_EQ(all.gradients(3, 3), again.gradients(3, 3));
  const Batch batch{.sequences = 3, .length = config_of(kind).length};
  EXPECT_LT(again.model().units()[1]->saved_floats(batch), all.model().units()[1]->saved_floats(batch));
  if (recompute == Recompute::full) {
    for (const auto& unit : again.model().units())
      if (!config_of(kind).tied || unit.get() != &again.model().head()) {
        EXPECT_EQ(unit->saved_floats(batch), 0);
      }
  }
}

class Canonical : public testing::TestWithParam<std::tuple<Kind, Precision>> {};
INSTANTIATE_TEST_SUITE_P(Precisions, Canonical,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::Values(Precision::fp32, Precision::bf16)));

TEST_P(Canonical, MicroBatchesDoNotChangeABit) {
  const auto [kind, precision] = GetParam();
  Learner one(kind, Recompute::none, precision, true);
  const auto gradients = one.gradients(11, 11);
  const std::vector<float> losses = one.losses();
  for (const Index at_once : {1, 2, 3, 4, 8}) {
    Learner other(kind, Recompute::none, precision, true);
    EXPECT_EQ(other.gradients(11, at_once), gradients) << at_once;
    EXPECT_EQ(other.losses(), losses) << at_once;
    EXPECT_EQ(other.products().shapes(), one.products().shapes()) << "a product of another shape has run";
  }
  Learner plain(kind, Recompute::none, Precision::fp32, false);
  EXPECT_LT(largest_difference(plain.gradients(11, 4), gradients),
            precision == Precision::fp32 ? 1e-6 : 1e-2);
}

TEST(Tied, ModelsHaveOneTableLess) {
  for (const auto& [own, tied] : {std::pair{Kind::gpt2, Kind::tied_gpt2}, {Kind::llama, Kind::tied_llama}}) {
    const Model two(config_of(own), Recompute::none), one(config_of(tied), Recompute::none);
    EXPECT_EQ(two.parameter_floats() - one.parameter_floats(), 24 * kBytes);
    EXPECT_EQ(one.unit_costs().back(), two.unit_costs().back()) << "the product is the same";
    EXPECT_EQ(two.tied_floats({.sequences = 2, .length = 7}), 0);
  }
}

TEST(Micro, BatchesOfUnequalSizeWeighTokensAlike) {
  Learner whole(Kind::gpt2, Recompute::none, Precision::fp32, false);
  Learner parts(Kind::gpt2, Recompute::none, Precision::fp32, false);
  EXPECT_LT(largest_difference(whole.gradients(11, 11), parts.gradients(11, 4)), 1e-6);
}

TEST(Initialise, DoesNotDependOnHowAnArrayIsCut) {
  const Model gpt2(kGpt2, Recompute::none), llama(kLlama, Recompute::none);
  std::vector<const Unit*> units;
  for (const Model* model : {&gpt2, &llama})
    for (const auto& unit : model->units()) units.push_back(unit.get());
  for (const Unit* unit : units) {
    const Index size = unit->parameters().size();
    std::vector<float> whole(static_cast<size_t>(size));
    std::vector<float> parts(static_cast<size_t>(size));
    initialise(unit->parameters(), 4, 0, size, whole.data());
    for (Index begin = 0; begin < size;) {
      const Index end = std::min(size, begin + 37);
      initialise(unit->parameters(), 4, begin, end, parts.data() + begin);
      begin = end;
    }
    EXPECT_EQ(whole, parts);
  }
}

TEST(Initialise, TensorsAndSeedsDiffer) {
  const Model model(kGpt2, Recompute::none);
  const auto first_four = [&](size_t unit, uint64_t seed) {
    std::vector<float> values(static_cast<size_t>(model.units()[unit]->parameters().size()));
    initialise(model.units()[unit]->parameters(), seed, 0, static_cast<Index>(values.size()), values.data());
    const Tensor& weights = model.units()[unit]->parameters().tensors()[2];
    return std::vector<float>(values.begin() + weights.offset, values.begin() + weights.offset + 4);
  };
  EXPECT_NE(first_four(1, 1), first_four(2, 1));
  EXPECT_NE(first_four(1, 1), first_four(1, 2));
  EXPECT_EQ(first_four(1, 1), first_four(1, 1));
}

TEST(Optimise, PartsGiveTheSameBitsAndVectorsDoNotDecay) {
  const Model model(kGpt2, Recompute::none);
  const ParameterTable& table = model.units()[1]->parameters();
  const Index size = table.size();
  const std::vector<float> gradients =
      reference::to_floats(reference::random_values(static_cast<size_t>(size), 1));
  AdamW settings{.learning_rate = 0.1f,
                 .beta1 = 0.9f,
                 .beta2 = 0.95f,
                 .epsilon = 1e-8f,
                 .weight_decay = 0.5f,
                 .gradient_scale = 1.0f,
                 .step = 1};
  CpuOps ops(Precision::fp32);
  const auto update = [&](Index part) {
    std::vector<float> values(static_cast<size_t>(size), 1.0f);
    std::vector<float> mean(values.size());
    std::vector<float> variance(values.size());
    for (Index begin = 0; begin < size; begin += part)
      optimise(ops, table, settings, begin, std::min(size, begin + part), values.data() + begin,
               gradients.data() + begin, mean.data() + begin, variance.data() + begin);
    return values;
  };
  const std::vector<float> whole = update(size);
  EXPECT_EQ(update(1000), whole);
  settings.weight_decay = 0;
  const std::vector<float> without = update(size);
  for (const Tensor& tensor : table.tensors()) {
    const auto at = static_cast<size_t>(tensor.offset);
    if (tensor.decays())
      EXPECT_NEAR(without[at] - whole[at], 0.1f * 0.5f, 1e-6) << tensor.name;
    else
      EXPECT_EQ(without[at], whole[at]) << tensor.name;
  }
}

TEST(Config, PresetsAreFoundByName) {
  for (const std::string& name : preset_names()) {
    const Result<Config> config = preset(name);
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->width % config->heads, 0);
    const Model model(*config, Recompute::full);
    if (config->form == Form::llama) {
      EXPECT_EQ(config->heads % config->key_value_heads, 0);
      EXPECT_EQ(config->width / config->heads % 2, 0);
    }
    // Six operations for each parameter of a product; norms, biases and the embedding's tables take part in
    // none.
    const double products = 6 * static_cast<double>(model.parameter_floats() - config->width * kBytes);
    const double squares = 12.0 * static_cast<double>(config->layers * config->length * config->width);
    EXPECT_NEAR(config->operations_per_token() - squares, products, 0.08 * products) << name;
  }
  EXPECT_THAT(preset("huge").status().message(), testing::HasSubstr("tiny, small, medium, 124M"));
  // 12 blocks of width 768 with 1024 positions, bytes instead of 50257 tokens: 85 M in blocks, 1.2 M around
  // them.
  EXPECT_NEAR(static_cast<double>(Model(*preset("124M"), Recompute::full).parameter_floats()), 86.2e6, 0.1e6);
}

}  // namespace
}  // namespace weir::trainer
