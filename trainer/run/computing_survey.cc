// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/computing_survey.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/plan/row_speed.h"
#include "trainer/plan/unit_cost.h"
#include "trainer/run/budget.h"
#include "trainer/run/survey.h"
#include "trainer/run/turns.h"
#include "trainer/shard/norm.h"

namespace weir::trainer {
namespace {

constexpr Index kMostSequences = 4;  ///< of a block, or more if these have fewer rows than
constexpr Index kMostRows = 512;
constexpr Index kMostLogits = Index{1} << 22;  ///< of the loss, at least those of one row

/// The loss of some rows with its own arrays.
class LossRun {
 public:
  static Result<LossRun> make(Index rows, Index vocabulary, gpu::GpuOps* gpu) {
    LossRun loss(std::clamp(kMostLogits / vocabulary, Index{1}, rows), vocabulary);
    for (auto [array, size] : {std::pair{&loss.logits_, loss.rows_ * vocabulary},
                               {&loss.gradient_, loss.rows_ * vocabulary},
                               {&loss.targets_, loss.rows_},
                               {&loss.losses_, loss.rows_}}) {
      auto made = Array::make(size, gpu);
      WEIR_TRY(made.status());
      *array = std::move(*made);
    }
    return loss;
  }

  /// Forward and backward; complete on return.
  void compute(Ops& ops) {
    static_assert(sizeof(Token) == sizeof(float));
    const auto* const targets = reinterpret_cast<const Token*>(targets_.data());
    ops.run(CrossEntropyForward{rows_, vocabulary_, logits_.data(), targets, losses_.data()});
    ops.run(CrossEntropyBackward{rows_, vocabulary_, 1, logits_.data(), targets, gradient_.data()});
    ops.finish();
  }
  double bytes() const {
    const plan::MovedElements moved = plan::loss_elements(static_cast<double>(vocabulary_));
    return static_cast<double>(rows_) * sizeof(float) * (moved.forward + moved.backward);
  }

 private:
  LossRun(Index rows, Index vocabulary) : rows_(rows), vocabulary_(vocabulary) {}

  Index rows_, vocabulary_;
  Array logits_, gradient_, targets_, losses_;  ///< zeros are logits and tokens
};

/// Whether a job may cut its model into so many slices.
bool can_slice(const Settings& settings, const plan::Cluster& cluster, int slices) {
  Settings cut = settings;
  cut.parts = {1, slices};
  return cluster.gpus % slices == 0 && check(cut).ok();
}

/// 0 if there can be no slices.
Result<double> surveyed_half_width(ncclComm_t comm, const Settings& settings, const plan::Cluster& cluster,
                                   int ranks, double whole_seconds, Ops& ops) {
  const int slices = std::max(2, settings.parts.slices);
  if (!can_slice(settings, cluster, slices)) return 0.0;
  const Model sliced(settings.config, Recompute::none, Slice{0, slices});
  auto block = BlockRun::make(settings, sliced, ranks);
  WEIR_TRY(block.status());
  const auto seconds = usual_seconds(comm, [&] { block->compute(ops, block->sequences()); });
  WEIR_TRY(seconds.status());
  return plan::half_width_of({whole_seconds, *seconds, slices}, static_cast<double>(settings.config.width));
}

/// Bytes per second of the loss.
Result<double> loss_rate(ncclComm_t comm, const Settings& settings, Index rows, Ops& ops) {
  auto loss = LossRun::make(rows, settings.config.vocabulary, settings.sharding.gpu);
  WEIR_TRY(loss.status());
  const auto seconds = usual_seconds(comm, [&] { loss->compute(ops); });
  WEIR_TRY(seconds.status());
  return loss->bytes() / *seconds;
}

}  // namespace

BlockRun::BlockRun(const Unit& unit, Index width, Batch batch, gpu::GpuOps* gpu)
    : unit_(unit), width_(width), batch_(batch), where_(gpu) {
  const Index most = std::max(kMostSequences, kMostRows / batch_.length);
  batch_.sequences = std::clamp(batch_.sequences, kFewSequences + 1, most);
  batch_.loss_scale = 1;
}

Result<BlockRun> BlockRun::make(const Settings& settings, const Model& model, int ranks) {
  BlockRun block(*model.units()[1], settings.config.width, shape_of_batch(settings, ranks),
                 settings.sharding.gpu);
  const Index between = block.batch_.rows() * block.width_;
  const Index count = block.unit_.parameters().size();
  for (auto [array, size] : {std::pair{&block.parameters_, count},
                             {&block.gradients_, count},
                             {&block.mean_, count},
                             {&block.variance_, count},
                             {&block.input_, between},
                             {&block.output_, between},
                             {&block.gradient_, between},
                             {&block.saved_, block.unit_.saved_floats(block.batch_)},
                             {&block.scratch_, block.unit_.scratch_floats(block.batch_)}}) {
    auto made = Array::make(size, settings.sharding.gpu);
    WEIR_TRY(made.status());
    *array = std::move(*made);
    block.where_.clear(array->data(), static_cast<size_t>(size));
  }
  block.squares_.resize(static_cast<size_t>(count) / shard::kNormBlock + 1);
  Buffer values(count);
  initialise(block.unit_.parameters(), settings.seed, 0, count, values.data());
  block.where_.copy(values.data(), static_cast<size_t>(count) * sizeof(float), block.parameters_.data());
  for (Index at = 0; at < between; at += count)
    block.where_.copy(values.data(), static_cast<size_t>(std::min(count, between - at)) * sizeof(float),
                      block.input_.data() + at);
  WEIR_TRY(block.where_.status());
  return block;
}

void BlockRun::compute(Ops& ops, Index sequences) {
  const Compute with{ops, scratch_.data()};
  Batch batch = batch_;
  batch.sequences = sequences;
  const Index between = batch.rows() * width_;
  unit_.forward(with, batch, parameters_.data(), input_.data(), output_.data(), saved_.data());
  // Any gradient of the magnitude of the input's values will do.
  ops.clear(between, gradient_.data());
  ops.run(Add{between, input_.data(), gradient_.data()});
  PlainGradients sum(gradients_.data());
  unit_.backward(with, batch, parameters_.data(), input_.data(), saved_.data(), gradient_.data(), sum);
  ops.finish();
}

void BlockRun::update(Ops& ops) {
  const AdamW adamw{.learning_rate = 0,
                    .beta1 = 0.9f,
                    .beta2 = 0.95f,
                    .epsilon = 1e-8f,
                    .weight_decay = 0,
                    .gradient_scale = 1,
                    .step = 1};
  where_.scale(1, parameters(), gradients_.data());
  where_.square_blocks({gradients_.data(), parameters()}, squares_.data());
  optimise(ops, unit_.parameters(), adamw, 0, parameters_.size(), parameters_.data(), gradients_.data(),
           mean_.data(), variance_.data(), Tensors::all);
  ops.finish();
}

Status measure_computing(ncclComm_t comm, const Settings& settings, const Model& model, bool is_first,
                         BlockRun& block, Ops& ops, plan::Cluster& cluster) {
  const auto few = usual_seconds(comm, [&] { block.compute(ops, BlockRun::kFewSequences); });
  WEIR_TRY(few.status());
  const std::function<void()> work = [&] { block.compute(ops, block.sequences()); };
  const auto all = usual_seconds(comm, work);
  WEIR_TRY(all.status());
  const auto alone = usual_seconds(comm, work, is_first);
  WEIR_TRY(alone.status());
  cluster.alone = std::max(1.0, *all / *alone);

  const plan::Model seen = plan_model(model);
  const plan::RowSpeed speed =
      plan::row_speed({block.rows(BlockRun::kFewSequences), *few}, {block.rows(block.sequences()), *all},
                      3 * plan::forward_flops(seen, seen.units[1]));
  cluster.half_rows = speed.half_rows;
  const auto half_width = surveyed_half_width(comm, settings, cluster, cluster.ranks(), *all, ops);
  WEIR_TRY(half_width.status());
  cluster.half_width = *half_width;
  cluster.peak = speed.compute;  // at the model's width
  cluster.compute = speed.compute * (seen.width + *half_width) / seen.width;

  const auto rate = loss_rate(comm, settings, static_cast<Index>(block.rows(block.sequences())), ops);
  WEIR_TRY(rate.status());
  cluster.memory_rate = *rate;
  const auto update = usual_seconds(comm, [&] { block.update(ops); });
  WEIR_TRY(update.status());
  cluster.update = *update / static_cast<double>(block.parameters());
  return ops.status();
}

}  // namespace weir::trainer
