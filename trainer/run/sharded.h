/// The engine of one of any number of ranks: parameters, gradients and moments are sharded (trainer/shard),
/// the sequences of a global batch are dealt out in order.
///
/// This is where the two loops of training are: forward over the units, backward over them in reverse.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoint/engine_state.h"
#include "trainer/data/text.h"
#include "trainer/math/buffer.h"
#include "trainer/math/products.h"
#include "trainer/model/model.h"
#include "trainer/run/budget.h"
#include "trainer/run/engine.h"
#include "trainer/run/recorder.h"
#include "trainer/run/settings.h"
#include "trainer/run/world.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

/// Not thread-safe. Keeps references to what it is made of.
class Sharded final : public Engine {
 public:
  /// Collective. Errors: those of the library, and of settings that cannot be.
  static Result<std::unique_ptr<Sharded>> create(const World& world, const Settings& settings,
                                                 const Model& model, const Text& text, Products& products);

  Result<StepResult> step(Index step) override;
  Result<Resumed> resume() override;
  Status save(Index steps) override;
  Status finish_saving() override;
  Result<double> evaluate() override;
  Result<uint64_t> digest() override;
  Result<std::string> generate(const std::string& prompt, Index count, float temperature) override;
  Result<Timeline> timeline(std::span<const Span> own) override;

  /// What its arrays take, at most.
  RankMemory memory() const;
  /// The own shard of a unit, and of its gradients in the last step.
  std::span<const float> parameters(size_t unit) const { return shards_->shard(static_cast<int>(unit)); }
  std::span<const float> gradients(size_t unit) const {
    return shards_->gradient_shard(static_cast<int>(unit));
  }
  const shard::Engine& shards() const { return *shards_; }

 private:
  // What the engine keeps for one unit.
  struct UnitArrays {
    Buffer mean;  ///< AdamW's moments of the own shard
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

  Sharded(const World& world, const Settings& settings, const Model& model, const Text& text,
          Products& products, std::unique_ptr<shard::Engine> shards);
  void make_arrays();
  Batch make_batch(shard::GrainRange sequences);
  Index most_sequences() const;
  void draw(Index step, const Batch& batch);
  void draw_held_out(Index count, const Batch& batch);
  Result<std::span<const float>> gathered(int unit);
  Status forward(const Batch& batch);
  Status backward(const Batch& batch);
  /// Appends the losses of the batch's sequences.
  static void append_losses(const Batch& batch, std::vector<float>& sums);
  void update(Index step, float norm);
  void record_collectives();
  size_t used_memory() const;
  Status draw_logits(const Batch& batch, float* logits);
  uint8_t draw_byte(const float* logits, float temperature, Index place) const;
  Compute compute() { return {products_, scratch_.data()}; }
  Status complete_checkpoint();
  std::vector<checkpoint::ShardArray> moments();
  /// What a run has to have in common with the one that it goes on from.
  std::vector<uint64_t> words() const;
  shard::GrainPlan deal_out(Index sequences) const;

  const World& world_;
  const Settings settings_;
  const Model& model_;
  const Text& text_;
  Products& products_;
  std::unique_ptr<shard::Engine> shards_;
  std::vector<UnitArrays> arrays_;  ///< by unit
  Tokens tokens_;
  Recorder recorder_;
  Buffer gradient_;  ///< of the activations between units, on its way back
  Buffer scratch_;
  std::optional<checkpoint::Saver> saver_;  ///< where checkpoints are kept; after what it copies from
};

}  // namespace weir::trainer
