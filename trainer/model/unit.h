// SPDX-License-Identifier: Apache-2.0
/// A unit of the model: what is gathered, computed and freed together when parameters are sharded. A model is
/// a list of units (model.h): embedding, blocks, head.
///
/// A unit owns no arrays. The caller gives its parameters as one flat array (parameters()), keeps what
/// forward saves for backward, and provides scratch memory. So where any of it lives, and for how long, is
/// the caller's business.
#pragma once

#include <memory>

#include "trainer/math/ops.h"
#include "trainer/model/gradients.h"
#include "trainer/model/parameters.h"

namespace weir::trainer {

/// How much of its work a unit does again in backward, to keep less memory until then. The bits of the
/// gradients are the same for all three.
enum class Recompute {
  none,       ///< everything that backward reads is saved
  selective,  ///< attention's probabilities, GELU and layer norms are computed again, no weight product
  full,       ///< nothing is saved but the unit's input
};

/// Sequences that go through the model together, a piece of the global batch.
struct Batch {
  Index sequences = 0;
  Index length = 0;                  ///< tokens of each
  Index first = 0;                   ///< number of the first one in the global batch
  const uint8_t* tokens = nullptr;   ///< [sequences, length]
  const uint8_t* targets = nullptr;  ///< [sequences, length]: the token that follows
  float* losses = nullptr;           ///< [sequences, length]: written by the head, in nats
  float loss_scale = 0;              ///< gradients are those of loss_scale * (sum of the losses)
  /// The canonical way: every product covers one sequence, so that no shape depends on `sequences`. Else
  /// products cover all of them, which is faster.
  bool by_sequence = false;

  Index rows() const { return sequences * length; }
};

/// The ranks that have the other slices of the same units.
class OtherSlices {
 public:
  virtual ~OtherSlices() = default;
  /// array[0 .. count) becomes the sum over all slices, with the same bits on all ranks. In order with what
  /// the rank's Ops are given before and after. After an error nothing is done any more.
  virtual void sum(Index count, float* array) = 0;
};

/// What a pass computes with, of one rank; not thread-safe.
struct Compute {
  Ops& ops;
  /// Scratch of at least Unit::scratch_floats() floats, on a cache line; its contents mean nothing between
  /// calls.
  float* scratch = nullptr;
  OtherSlices* slices = nullptr;  ///< null: units are whole
};

class Unit {
 public:
  Unit(ParameterTable table, Index width, Recompute recompute)
      : table_(std::move(table)), width_(width), recompute_(recompute) {}
  virtual ~Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const ParameterTable& parameters() const { return table_; }

  /// Floats that forward saves for backward, and scratch that both need, for such a batch.
  Index saved_floats(const Batch& batch) const;
  Index scratch_floats(const Batch& batch) const;

  /// Input and output are [rows, width]: the first unit reads tokens instead, the last one writes losses
  /// instead, and these take null pointers.
  void forward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
               float* output, float* saved) const;

  /// After forward with the same batch, parameters, input and saved, which it uses up. `gradient` is that of
  /// the output before, and of the input after (the last unit reads none, the first writes none); those of
  /// the parameters are added to `gradients`.
  void backward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                float* saved, float* gradient, Gradients& gradients) const;

 protected:
  /// The sizes that one piece takes.
  struct Sizes {
    Index saved = 0;
    Index scratch = 0;
  };

  Index width() const { return width_; }
  Recompute recompute() const { return recompute_; }

  /// A layer of weights, the rows of which belong to its inputs, [in, out], or to its outputs, [out, in]:
  /// slices are of rows.
  struct Layer {
    Index in = 0;
    Index out = 0;
    bool rows_are_outputs = false;
  };

  // For the pieces, of which the arrays are dense matrices [rows, ...]: what a layer computes.
  /// result = x weights
  static void project(const Compute& compute, Index rows, const Layer& layer, const float* x,
                      const float* weights, float* result);
  /// weight_gradient_sum += x^T result_gradient, and x_gradient = result_gradient weights^T; of weights
  /// [in, out].
  static void project_backward(const Compute& compute, Index rows, const Layer& layer, const float* x,
                               const float* weights, const float* result_gradient, float* x_gradient,
                               float* weight_gradient_sum);

 private:
  virtual Sizes sizes(const Batch& piece) const = 0;
  virtual void forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                             const float* input, float* output, float* saved) const = 0;
  virtual void backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, float* saved, float* gradient,
                              float* parameter_gradients) const = 0;

  ParameterTable table_;
  Index width_;
  Recompute recompute_;
};

}  // namespace weir::trainer
