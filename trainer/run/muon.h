// SPDX-License-Identifier: Apache-2.0
/// Muon: momentum, orthogonalised, for the matrices of blocks; embedding, head, gains and biases have AdamW.
///
/// Matrices are cut into the shards of flat units anywhere. A step brings each one together on one rank,
/// which orthogonalises it and sends every rank its part: rounds of as many matrices as there are ranks, the
/// largest first, in groups of sends and receives.
///
/// Momentum M <- 0.95 M + 0.05 G and the matrix 0.05 G + 0.95 M (Nesterov's) are those of K. Jordan et al.,
/// "Muon: An optimizer for hidden layers in neural networks", 2024. The factor 0.2 sqrt(max(rows, columns))
/// of the step and weight decay like AdamW's are those of J. Liu et al., "Muon is Scalable for LLM Training",
/// 2025, section 2.2: elements change as much as AdamW's, so that both take one learning rate. Q, K and V of
/// one array are matrices of their own.
/// Tests: tests/trainer/muon_test.cc
#pragma once

#include <nccl.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trainer/math/buffer.h"
#include "trainer/math/products.h"
#include "trainer/model/model.h"
#include "trainer/parallel/grid.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

/// A matrix in the array of a unit.
struct UnitMatrix {
  int unit = 0;
  Index first = 0;  ///< first element in the unit's array
  Index rows = 0;
  Index columns = 0;

  Index size() const { return rows * columns; }
};

/// Whether a unit of the model has matrices for Muon.
bool is_block(const Model& model, size_t unit);
/// The matrices of the blocks among these units, which are numbered from the first of them on.
std::vector<UnitMatrix> matrices_of(const Model& model, const parallel::UnitRange& units);

/// What a step does to the elements of matrices.
struct MuonStep {
  float learning_rate = 0;
  float weight_decay = 0;
  float gradient_scale = 1;
};

/// Used by one thread at a time. Host memory only.
class Muon {
 public:
  /// `matrices`: of the engine's units, in any order. `world` has the engine's ranks; both outlive this.
  Muon(ncclComm_t world, shard::ShardEngine& engine, std::vector<UnitMatrix> matrices);

  /// One step of the parameters of `matrices`; `momentum` has an array per unit, as long as the engine's
  /// shard. Replaces the gradients. Collective. Errors: those of the library.
  Status step(const MuonStep& step, std::span<const std::span<float>> momentum);

  /// Bytes that this rank has received from others and sent to them since the last call.
  uint64_t take_bytes() { return std::exchange(bytes_, 0); }
  /// Floats of its own arrays for these matrices.
  static Index floats(std::span<const UnitMatrix> matrices);

 private:
  shard::Range common(const shard::Range& range, const UnitMatrix& matrix) const;
  void add_momentum(const MuonStep& step, const UnitMatrix& matrix, std::span<float> momentum);
  void apply(const MuonStep& step, const UnitMatrix& matrix);
  float* gradients_of(const UnitMatrix& matrix, const shard::Range& range);
  template <typename Message>
  Status exchange(std::span<const UnitMatrix> round, const Message& message);
  Status collect(std::span<const UnitMatrix> round);
  Status distribute(std::span<const UnitMatrix> round);

  ncclComm_t world_;
  shard::ShardEngine& engine_;
  std::vector<UnitMatrix> matrices_;  ///< largest first
  std::vector<shard::Cut> cuts_;      ///< index: unit
  Products products_;
  Buffer whole_;  ///< the matrix that this rank orthogonalises
  Buffer scratch_;
  uint64_t bytes_ = 0;
};

}  // namespace weir::trainer
