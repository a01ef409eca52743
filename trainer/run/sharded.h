// SPDX-License-Identifier: Apache-2.0
/// The engine for any number of ranks: parameters, gradients and moments are sharded (trainer/shard), and the
/// sequences of a global batch are distributed in order. With Settings::parts the model is cut into stages
/// and slices (trainer/parallel), each with ranks of its own, and the sharding above applies to each part.
///
/// The loops over units are in passes.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoint/engine_state.h"
#include "trainer/checkpoint/live_state.h"
#include "trainer/data/text.h"
#include "trainer/math/ops.h"
#include "trainer/model/model.h"
#include "trainer/parallel/team.h"
#include "trainer/run/array.h"
#include "trainer/run/budget.h"
#include "trainer/run/commits.h"
#include "trainer/run/engine.h"
#include "trainer/run/moments.h"
#include "trainer/run/muon.h"
#include "trainer/run/outer_optimizer.h"
#include "trainer/run/passes.h"
#include "trainer/run/recorder.h"
#include "trainer/run/settings.h"
#include "trainer/run/tokens.h"
#include "trainer/run/world.h"
#include "trainer/shard/arrays.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

/// Not thread-safe. Keeps references to the arguments of create().
class Sharded final : public TrainingEngine {
 public:
  /// Collective. With Settings::memory, settings that were left open are fitted into it. Errors: those of the
  /// library; invalid_argument for settings that are impossible.
  static Result<std::unique_ptr<Sharded>> create(const World& world, const Settings& settings,
                                                 const Text& text, Ops& ops);

  Result<StepResult> step(Index step) override;
  Result<Resumed> resume(bool regrouped) override;
  Status save(Index steps) override;
  Status finish_saving() override;
  Result<double> evaluate() override;
  Result<uint64_t> digest() override;
  Result<std::vector<Token>> generate(std::span<const Token> prompt, Index count, float temperature) override;
  Result<Timeline> timeline(std::span<const Span> own) override;

  /// Loads the newest usable checkpoint of checkpoint::choice_of(path), to evaluate and to sample; no
  /// checkpoints are kept. Collective. invalid_argument if there is none.
  Result<Resumed> load(const std::string& path);
  /// Goes on from the state that ranks of the world have: `own`, null on ranks that have none, after
  /// `standing`, the same on all ranks. False: the ranks do not have all of it. To be called before resume(),
  /// which then loads nothing. Collective.
  Result<bool> adopt(const checkpoint::LiveState* own, const Standing& standing);
  /// A copy of this rank's part of the state. Not collective; also after abort().
  Result<checkpoint::LiveState> live_state();
  const Commits& commits() const { return commits_; }
  /// Makes the commit for which this rank is ready. Of an update, `finite` says whether it changes anything.
  /// To be called by others after abort() only, if other ranks have made it.
  Status commit(bool finite);
  /// The parameters of a whole unit of the model, on rank 0 of the world; empty on other ranks. Collective;
  /// to be called between passes.
  Result<std::vector<float>> whole_unit(size_t at);
  /// To be called after an error: ends calls in flight, here and soon on other ranks. Afterwards the object
  /// can only be destroyed.
  void abort();

  /// The settings after fitting.
  const Settings& settings() const { return settings_; }
  const Model& model() const { return model_; }
  const parallel::Team& team() const { return *team_; }
  /// The units of the model that this rank trains.
  const parallel::UnitRange& units() const { return units_; }
  const shard::ShardEngine& shards() const { return *shards_; }
  /// Groups of ranks that train by themselves; 1: all ranks train together.
  int groups() const { return outer_ != nullptr ? outer_->groups() : 1; }
  /// The maximum memory of its arrays.
  RankMemory memory() const;
  /// This rank's shard of a unit of this part of the model, and of its gradients in the last step.
  std::span<const float> parameters(size_t unit) const { return shards_->shard(static_cast<int>(unit)); }
  std::span<const float> gradients(size_t unit) const {
    return shards_->gradient_shard(static_cast<int>(unit));
  }

 private:
  Sharded(const World& world, const Settings& settings, const Text& text, Ops& ops,
          std::unique_ptr<OuterOptimizer> outer, std::unique_ptr<parallel::Team> team);
  Status make_shards();
  Status make_arrays();
  Status set_initial_parameters();
  const Unit& unit(size_t at) const { return *model_.units()[units_.first + at]; }
  Settings group_settings() const;
  Index most_sequences() const;
  shard::GrainPlan deal_out(Index sequences) const;
  Result<std::vector<float>> train_on(const shard::GrainPlan& plan, Index step);
  Result<float> sum_of_losses(const shard::GrainPlan& plan, const std::vector<float>& own);
  Status update(Index step, float norm);
  StepResult result_of(Index step, const GroupSums& sums);
  Status update_matrices(const AdamW& adamw);
  Status meet(Index step);
  void record_collectives();
  Status complete_checkpoint();
  checkpoint::WholeModel whole_model() const;
  std::vector<checkpoint::ShardArray> saved_arrays();

  const World& world_;
  Settings settings_;
  const Text& text_;
  Ops& ops_;
  const shard::Arrays where_;              ///< the memory in which the arrays are
  std::unique_ptr<OuterOptimizer> outer_;  ///< null: no groups train by themselves
  std::unique_ptr<parallel::Team> team_;
  const Model model_;
  parallel::UnitRange units_;
  std::unique_ptr<shard::ShardEngine> shards_;
  std::vector<Moments> moments_;  ///< index: unit of the part
  std::optional<Muon> muon_;      ///< set with Optimizer::muon; momentum is in moments_[].mean
  std::vector<Tokens> tokens_;    ///< index: slot of passes_
  Recorder recorder_;
  std::optional<Passes> passes_;
  Commits commits_;
  std::optional<checkpoint::Saver> saver_;  ///< set if checkpoints are kept; copies from members above
};

}  // namespace weir::trainer
