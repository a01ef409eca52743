// SPDX-License-Identifier: Apache-2.0
// A model cut into slices (tensor parallelism): what the slices compute together is what the whole model
// computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/trainer/reference.h"
#include "trainer/math/buffer.h"
#include "trainer/model/model.h"

namespace weir::trainer {
namespace {

const Config kSlicedConfig{.name = "test", .layers = 2, .width = 48, .heads = 4, .length = 7};
const Config kSlicedLlama{.name = "test",
                          .layers = 2,
                          .width = 48,
                          .heads = 8,
                          .length = 7,
                          .form = Form::llama,
                          .key_value_heads = 4,
                          .hidden = 64};
constexpr Index kSequences = 3;

/// Slices on threads, of which one computes at a time (what oneDNN synchronises, thread sanitizer does not
/// see).
class Threads {
 public:
  explicit Threads(int count) : arrays_(static_cast<size_t>(count)) {}

  /// Exists while its thread computes.
  class Member final : public OtherSlices {
   public:
    Member(Threads& threads, int index)
        : threads_(threads), index_(static_cast<size_t>(index)), turn_(threads.mutex_) {}
    void sum(Index count, float* array) override { threads_.sum(index_, count, array, turn_); }

   private:
    Threads& threads_;
    size_t index_;
    std::unique_lock<std::mutex> turn_;
  };

 private:
  /// The last one adds up for all, in the order of the slices.
  void sum(size_t index, Index count, float* array, std::unique_lock<std::mutex>& turn) {
    arrays_[index] = array;
    if (++there_ < arrays_.size()) {
      changed_.wait(turn, [&, sum = sums_] { return sums_ != sum; });
      return;
    }
    std::vector<float> total(static_cast<size_t>(count));
    for (const float* part : arrays_)
      for (size_t at = 0; at < total.size(); ++at) total[at] += part[at];
    for (float* part : arrays_) std::ranges::copy(total, part);
    there_ = 0;
    ++sums_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float*> arrays_;
  size_t there_ = 0;
  int sums_ = 0;
};

struct Learnt {
  std::vector<float> losses;
  std::vector<std::vector<float>> gradients;  ///< by unit, of the slice
};

std::vector<Token> bytes(uint32_t stream) {
  std::vector<Token> drawn;
  for (Index at = 0; at < kSequences * kSlicedConfig.length; ++at)
    drawn.push_back(
        static_cast<uint8_t>(random_block(9, Purpose::samples, stream, static_cast<uint64_t>(at))[0]));
  return drawn;
}

/// Losses and gradients of one batch, as the rank with this slice has them.
Learnt learn(const Model& model, OtherSlices* others) {
  const std::vector<Token> tokens = bytes(1), targets = bytes(2);
  Learnt learnt;
  learnt.losses.resize(tokens.size());
  const Batch batch{.sequences = kSequences,
                    .length = kSlicedConfig.length,
                    .tokens = tokens.data(),
                    .targets = targets.data(),
                    .losses = learnt.losses.data(),
                    .loss_scale = 1};
  CpuOps ops(Precision::fp32);
  Buffer scratch(model.scratch_floats(batch));
  const Compute compute{ops, scratch.data(), others};
  const size_t units = model.units().size();
  std::vector<Buffer> parameters, activations, saved;
  for (size_t at = 0; at < units; ++at) {
    const Unit& unit = *model.units()[at];
    parameters.emplace_back(unit.parameters().size());
    initialise(unit.parameters(), 5, 0, parameters[at].size(), parameters[at].data());
    activations.emplace_back(batch.rows() * kSlicedConfig.width);
    saved.emplace_back(unit.saved_floats(batch));
    unit.forward(compute, batch, parameters[at].data(), at > 0 ? activations[at - 1].data() : nullptr,
                 activations[at].data(), saved[at].data());
  }
  Buffer gradient(batch.rows() * kSlicedConfig.width);
  learnt.gradients.resize(units);
  for (size_t at = units; at-- > 0;) {
    learnt.gradients[at].resize(static_cast<size_t>(parameters[at].size()));
    PlainGradients sums(learnt.gradients[at].data());
    model.units()[at]->backward(compute, batch, parameters[at].data(),
                                at > 0 ? activations[at - 1].data() : nullptr, saved[at].data(),
                                gradient.data(), sums);
  }
  EXPECT_TRUE(ops.status().ok()) << ops.status().message();
  return learnt;
}

class Slices : public testing::TestWithParam<std::tuple<int, Recompute, const Config*>> {};
INSTANTIATE_TEST_SUITE_P(Counts, Slices,
                         testing::Combine(testing::Values(2, 4),
                                          testing::Values(Recompute::none, Recompute::full),
                                          testing::Values(&kSlicedConfig, &kSlicedLlama)));

TEST_P(Slices, ComputeWhatTheWholeComputes) {
  const auto [count, recompute, config] = GetParam();
  const Learnt whole = learn(Model(*config, recompute), nullptr);
  Threads threads(count);
  std::vector<Learnt> learnt(static_cast<size_t>(count));
  std::vector<Model> models;
  for (int index = 0; index < count; ++index) models.emplace_back(*config, recompute, Slice{index, count});
  std::vector<std::jthread> ranks;
  for (int index = 0; index < count; ++index)
    ranks.emplace_back([&, index] {
      Threads::Member others(threads, index);
      learnt[static_cast<size_t>(index)] = learn(models[static_cast<size_t>(index)], &others);
    });
  ranks.clear();
  for (size_t index = 0; index < learnt.size(); ++index) {
    EXPECT_EQ(learnt[index].losses, learnt[0].losses) << "copies of the activations differ";
    for (size_t at = 0; at < whole.losses.size(); ++at)
      ASSERT_NEAR(learnt[index].losses[at], whole.losses[at], 1e-5);
    for (size_t unit = 0; unit < whole.gradients.size(); ++unit)
      for (const ContiguousRange& stretch : models[index].units()[unit]->parameters().stretches())
        for (Index at = 0; at < stretch.count; ++at) {
          const float here = learnt[index].gradients[unit][static_cast<size_t>(stretch.first + at)];
          ASSERT_NEAR(here, whole.gradients[unit][static_cast<size_t>(stretch.whole + at)], 2e-5)
              << "slice " << index << " of unit " << unit << ", element " << stretch.whole + at;
          if (stretch.copied) {
            ASSERT_EQ(here, learnt[0].gradients[unit][static_cast<size_t>(stretch.first + at)]);
          }
        }
  }
}

class SliceTables : public testing::TestWithParam<const Config*> {};
INSTANTIATE_TEST_SUITE_P(Forms, SliceTables, testing::Values(&kSlicedConfig, &kSlicedLlama));

TEST_P(SliceTables, CoverTheWholeOnceAndCopiesOften) {
  constexpr int kCount = 4;
  const Model whole(*GetParam(), Recompute::none);
  for (size_t unit = 0; unit < whole.units().size(); ++unit) {
    const ParameterTable& table = whole.units()[unit]->parameters();
    std::vector<int> covered(static_cast<size_t>(table.size()));
    for (int index = 0; index < kCount; ++index) {
      const Model model(*GetParam(), Recompute::none, {index, kCount});
      const ParameterTable& slice = model.units()[unit]->parameters();
      EXPECT_EQ(slice.whole_size(), table.size());
      for (const ContiguousRange& stretch : slice.stretches())
        for (Index at = 0; at < stretch.count; ++at)
          covered[static_cast<size_t>(stretch.whole + at)] += stretch.copied ? kCount : kCount * kCount;
    }
    for (const Tensor& tensor : table.tensors())
      for (Index at = 0; at < tensor.size(); ++at)
        ASSERT_EQ(covered[static_cast<size_t>(tensor.offset + at)], kCount * kCount) << tensor.name;
  }
}

TEST_P(SliceTables, InitialValuesAreThoseOfTheWhole) {
  const Model whole(*GetParam(), Recompute::none);
  for (const Slice slice : {Slice{0, 2}, Slice{1, 2}, Slice{3, 4}}) {
    const Model model(*GetParam(), Recompute::none, slice);
    for (size_t unit = 0; unit < whole.units().size(); ++unit) {
      const ParameterTable& table = model.units()[unit]->parameters();
      Buffer all(table.whole_size()), own(table.size());
      initialise(whole.units()[unit]->parameters(), 3, 0, all.size(), all.data());
      const Index middle = own.size() / 3;  // in two parts
      initialise(table, 3, 0, middle, own.data());
      initialise(table, 3, middle, own.size(), own.data() + middle);
      for (const ContiguousRange& stretch : table.stretches())
        for (Index at = 0; at < stretch.count; ++at)
          ASSERT_EQ(own.data()[stretch.first + at], all.data()[stretch.whole + at]);
    }
  }
}

TEST_P(SliceTables, OfOneAreTheWhole) {
  const Model whole(*GetParam(), Recompute::none);
  for (const auto& unit : whole.units()) {
    const std::vector<ContiguousRange> stretches = unit->parameters().stretches();
    ASSERT_EQ(stretches.size(), 1u);
    EXPECT_EQ(stretches[0].first, 0);
    EXPECT_EQ(stretches[0].count, unit->parameters().whole_size());
    EXPECT_FALSE(stretches[0].copied);
  }
}

}  // namespace
}  // namespace weir::trainer
