/// The engine of one rank: all parameters, gradients and moments in its memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/data/text.h"
#include "trainer/math/buffer.h"
#include "trainer/math/products.h"
#include "trainer/model/model.h"
#include "trainer/run/engine.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

/// Not thread-safe. Keeps references to what it is made of.
class SingleRank final : public Engine {
 public:
  SingleRank(const Settings& settings, const Model& model, const Text& text, Products& products);

  Result<StepResult> step(Index step) override;
  Result<double> evaluate() override;
  Result<std::string> generate(const std::string& prompt, Index count, float temperature) override;

  /// Bytes of all its arrays.
  Index memory() const;
  /// The parameters of a unit, and the sum of gradients of the last step.
  std::span<const float> parameters(size_t unit) const { return units_[unit].parameters.values(); }
  std::span<const float> gradients(size_t unit) const { return units_[unit].gradients.values(); }

 private:
  // What the engine keeps for one unit.
  struct UnitArrays {
    Buffer parameters;
    Buffer gradients;
    Buffer mean;  ///< AdamW's moments
    Buffer variance;
    Buffer saved;   ///< by forward for backward
    Buffer output;  ///< the activations that leave the unit
  };

  // A micro-batch and the memory of its tokens.
  struct Tokens {
    std::vector<uint8_t> inputs;
    std::vector<uint8_t> targets;
    std::vector<float> losses;
  };

  Batch make_batch(Index first, Index sequences, float loss_scale);
  void draw(Index step, const Batch& batch);
  void forward(const Batch& batch);
  void backward(const Batch& batch, std::vector<TreeSum>& trees);
  void append_losses(const Batch& batch, std::vector<double>& sums) const;
  double gradient_norm() const;
  void update(Index step, double norm);
  uint8_t draw_byte(const float* logits, float temperature, Index place) const;
  Compute compute() { return {products_, scratch_.data()}; }

  const Settings settings_;
  const Model& model_;
  const Text& text_;
  Products& products_;
  std::vector<UnitArrays> units_;
  Tokens tokens_;
  Buffer gradient_;  ///< of the activations between units, on its way back
  Buffer scratch_;
};

}  // namespace weir::trainer
