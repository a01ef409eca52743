// SPDX-License-Identifier: Apache-2.0
// The arithmetic of training on a GPU, with the stand-ins of its driver and of cuBLAS: what a GPU's memory,
// streams and handles are asked for is right, and results are the CPU's within rounding.
#include "trainer/math/gpu/gpu_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/trainer/reference.h"
#include "trainer/model/model.h"

namespace weir::trainer {
namespace {

using gpu::Gpu;
using gpu::GpuOps;
using reference::random_values;
using reference::to_floats;
using testing::HasSubstr;

using Floats = std::vector<float>;

// A copy of an array in the GPU's memory.
class OnGpu {
 public:
  OnGpu(Gpu& gpu, size_t bytes) : gpu_(gpu), bytes_(bytes) {
    auto memory = gpu.allocate(bytes);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    memory_ = memory.ok() ? *memory : nullptr;
  }
  template <typename T>
  OnGpu(GpuOps& ops, const std::vector<T>& values) : OnGpu(ops.gpu(), values.size() * sizeof(T)) {
    EXPECT_TRUE(gpu_.copy(memory_, values.data(), bytes_, ops.stream()).ok());
    ops.finish();
  }
  OnGpu(OnGpu&&) = delete;
  ~OnGpu() { gpu_.free(memory_); }

  float* floats() const { return static_cast<float*>(memory_); }
  Token* tokens() const { return static_cast<Token*>(memory_); }
  Floats values(GpuOps& ops) const {
    Floats values(bytes_ / sizeof(float));
    EXPECT_TRUE(gpu_.copy(values.data(), memory_, bytes_, ops.stream()).ok());
    ops.finish();
    return values;
  }

 private:
  Gpu& gpu_;
  size_t bytes_;
  void* memory_ = nullptr;
};

void expect_near(const Floats& got, const Floats& expected, float tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t at = 0; at < got.size(); ++at)
    ASSERT_NEAR(got[at], expected[at], tolerance * (1 + std::abs(expected[at]))) << "at " << at;
}

class GpuArithmetic : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    setenv("WEIR_TRAIN_KERNELS", WEIR_TEST_TRAIN_IMAGE, 1);
    auto gpu = Gpu::open(1);
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    gpu_ = std::move(*gpu);
    auto ops = GpuOps::open(*gpu_, GetParam());
    ASSERT_TRUE(ops.ok()) << ops.status().message();
    ops_ = std::move(*ops);
  }
  void TearDown() override {
    if (ops_ != nullptr) {
      EXPECT_TRUE(ops_->status().ok()) << ops_->status().message();
    }
  }

  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<GpuOps> ops_;
};
INSTANTIATE_TEST_SUITE_P(Precisions, GpuArithmetic, testing::Values(Precision::fp32, Precision::bf16));

TEST_P(GpuArithmetic, ProductsOfAllLayouts) {
  CpuOps cpu(GetParam());
  for (const Index count : {1, 3})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const bool accumulate : {false, true}) {
          const ProductShape shape{count, 5, 7, 9, transpose_a, transpose_b, accumulate};
          const Floats a = to_floats(random_values(static_cast<size_t>(count * 5 * 7), 1));
          const Floats b = to_floats(random_values(static_cast<size_t>(count * 7 * 9), 2));
          Floats expected = to_floats(random_values(static_cast<size_t>(count * 5 * 9), 3));
          const OnGpu a_there(*ops_, a), b_there(*ops_, b), c_there(*ops_, expected);
          cpu.run(shape, a.data(), b.data(), expected.data());
          ops_->run(shape, a_there.floats(), b_there.floats(), c_there.floats());
          expect_near(c_there.values(*ops_), expected, 1e-6f);
        }
}

// One pass over a model: losses and the gradients of each unit.
struct Pass {
  Floats losses;
  std::vector<Floats> gradients;
};

constexpr Index kSequences = 2;

Pass pass_on_cpu(const Model& model, const std::vector<Floats>& parameters, const std::vector<Token>& tokens,
                 Precision precision) {
  CpuOps ops(precision);
  Pass pass;
  pass.losses.resize(tokens.size());
  const Index length = model.config().length;
  const Batch batch{.sequences = kSequences,
                    .length = length,
                    .tokens = tokens.data(),
                    .targets = tokens.data(),
                    .losses = pass.losses.data(),
                    .loss_scale = 1};
  Floats scratch(static_cast<size_t>(model.scratch_floats(batch)));
  const Compute compute{ops, scratch.data()};
  const size_t activations = tokens.size() * static_cast<size_t>(model.config().width);
  std::vector<Floats> saved, outputs;
  for (size_t at = 0; at < model.units().size(); ++at) {
    saved.emplace_back(static_cast<size_t>(model.units()[at]->saved_floats(batch)));
    outputs.emplace_back(activations);
    model.units()[at]->forward(compute, batch, parameters[at].data(),
                               at > 0 ? outputs[at - 1].data() : nullptr, outputs[at].data(),
                               saved[at].data());
    pass.gradients.emplace_back(parameters[at].size());
  }
  Floats gradient(activations);
  for (size_t at = model.units().size(); at-- > 0;) {
    PlainGradients sums(pass.gradients[at].data());
    model.units()[at]->backward(compute, batch, parameters[at].data(),
                                at > 0 ? outputs[at - 1].data() : nullptr, saved[at].data(), gradient.data(),
                                sums);
  }
  return pass;
}

Pass pass_on_gpu(GpuOps& ops, const Model& model, const std::vector<Floats>& parameters,
                 const std::vector<Token>& tokens) {
  const OnGpu tokens_there(ops, tokens), losses(ops, Floats(tokens.size()));
  const Batch batch{.sequences = kSequences,
                    .length = model.config().length,
                    .tokens = tokens_there.tokens(),
                    .targets = tokens_there.tokens(),
                    .losses = losses.floats(),
                    .loss_scale = 1};
  const auto room = [&](Index floats) {
    return std::make_unique<OnGpu>(ops.gpu(), static_cast<size_t>(floats) * sizeof(float));
  };
  const auto scratch = room(model.scratch_floats(batch));
  const Compute compute{ops, scratch->floats()};
  const Index activations = batch.rows() * model.config().width;
  std::vector<std::unique_ptr<OnGpu>> weights, saved, outputs, gradients;
  const auto input = [&](size_t at) { return at > 0 ? outputs[at - 1]->floats() : nullptr; };
  for (size_t at = 0; at < model.units().size(); ++at) {
    weights.push_back(std::make_unique<OnGpu>(ops, parameters[at]));
    saved.push_back(room(model.units()[at]->saved_floats(batch)));
    outputs.push_back(room(activations));
    model.units()[at]->forward(compute, batch, weights[at]->floats(), input(at), outputs[at]->floats(),
                               saved[at]->floats());
    gradients.push_back(room(static_cast<Index>(parameters[at].size())));
  }
  const auto gradient = room(activations);
  for (size_t at = model.units().size(); at-- > 0;) {
    PlainGradients sums(gradients[at]->floats());
    model.units()[at]->backward(compute, batch, weights[at]->floats(), input(at), saved[at]->floats(),
                                gradient->floats(), sums);
  }
  Pass pass{losses.values(ops), {}};
  for (const auto& of_unit : gradients) pass.gradients.push_back(of_unit->values(ops));
  return pass;
}

TEST_P(GpuArithmetic, AModelsLossesAndGradients) {
  const Config config{.name = "least", .layers = 1, .width = 24, .heads = 3, .length = 10};
  const Model model(config, Recompute::full);
  std::vector<Floats> parameters;
  for (const auto& unit : model.units()) {
    parameters.emplace_back(static_cast<size_t>(unit->parameters().size()));
    initialise(unit->parameters(), 5, 0, unit->parameters().size(), parameters.back().data());
  }
  std::vector<Token> tokens;
  for (Index at = 0; at < kSequences * config.length; ++at)
    tokens.push_back(static_cast<Token>(at * 37 % 101));
  const Pass expected = pass_on_cpu(model, parameters, tokens, GetParam());
  const Pass got = pass_on_gpu(*ops_, model, parameters, tokens);
  // In bf16 a last place of fp32 may decide how an operand is rounded.
  const float tolerance = GetParam() == Precision::fp32 ? 1e-5f : 2e-2f;
  expect_near(got.losses, expected.losses, tolerance);
  for (size_t at = 0; at < got.gradients.size(); ++at)
    expect_near(got.gradients[at], expected.gradients[at], tolerance);
  // Same calls, same bits.
  EXPECT_EQ(pass_on_gpu(*ops_, model, parameters, tokens).gradients, got.gradients);
}

TEST_P(GpuArithmetic, ErrorsNameTheCallAndStay) {
  const OnGpu here(*ops_, Floats(4));
  const Floats not_there(4);
  ops_->run(ProductShape{1, 2, 2, 2, false, false, false}, here.floats(), here.floats(),
            const_cast<float*>(not_there.data()));
  EXPECT_THAT(ops_->status().message(), HasSubstr("1 products of 2 x 2 by 2 x 2 on GPU 1"));
  ops_.reset();  // whose status is not to be good
}

TEST(GpuOfTrainer, ThatIsNotThereIsNamed) {
  setenv("WEIR_TRAIN_KERNELS", WEIR_TEST_TRAIN_IMAGE, 1);
  EXPECT_THAT(Gpu::open(7).status().message(), HasSubstr("using GPU 7: CUDA_ERROR_INVALID_DEVICE"));
  setenv("WEIR_TRAIN_KERNELS", "/nowhere/kernels.so", 1);
  EXPECT_THAT(Gpu::open(0).status().message(), HasSubstr("no kernels for GPU 0 (Stand-in): /nowhere"));
}

}  // namespace
}  // namespace weir::trainer
