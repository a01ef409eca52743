// SPDX-License-Identifier: Apache-2.0
/// A unit of the model: what is gathered, computed and freed as a whole when parameters are sharded. A model
/// is a list of units (model.h): embedding, blocks, head.
///
/// A unit owns no arrays. The caller passes its parameters as one flat array (parameters()), keeps what
/// forward saves for backward, and provides scratch memory. The caller therefore decides where each array is
/// and how long it lives.
#pragma once

#include <memory>

#include "trainer/math/ops.h"
#include "trainer/model/gradients.h"
#include "trainer/model/parameters.h"

namespace weir::trainer {

/// How much a unit recomputes in backward so that less memory is kept until then. The gradients have the same
/// bits in all three cases.
enum class Recompute {
  none,       ///< everything that backward reads is saved, except attention's probabilities (attention.h)
  selective,  ///< activations and norms are recomputed, but no weight product
  full,       ///< only the unit's input is saved
};

/// Arrays beside those of the units, where the output layer is tied to the embedding. The table's gradient is
/// the sum of those of its two uses; it is computed with the embedding's, from what the head leaves here, so
/// that the table is gathered and reduced as part of one unit.
struct Tied {
  Index width = 0;
  Index vocabulary = 0;
  const float* table = nullptr;  ///< [vocabulary, width]: the embedding's
  float* normal = nullptr;       ///< [rows, width]: input of the output layer
  float* logits = nullptr;       ///< [rows, vocabulary]: its result, after backward the gradient of this
};

/// Sequences that pass through the model together, a piece of the global batch.
struct Batch {
  Index sequences = 0;
  Index length = 0;                ///< tokens per sequence
  Index first = 0;                 ///< number of the first sequence in the global batch
  const Token* tokens = nullptr;   ///< [sequences, length]
  const Token* targets = nullptr;  ///< [sequences, length]: the next token at each position
  /// [sequences, length]: the position in the sequence of the first token that each token sees, which is that
  /// of its document; null: all see the first one.
  const Token* starts = nullptr;
  float* losses = nullptr;  ///< [sequences, length]: written by the head, in nats
  float loss_scale = 0;     ///< gradients are of loss_scale * (sum of the losses)
  /// Canonical sums: every product covers one sequence, so that no shape depends on `sequences`. Otherwise a
  /// product covers all of them, which is faster.
  bool by_sequence = false;
  Tied tied{};  ///< set where Config::tied; the head's logits() needs only the table

  Index rows() const { return sequences * length; }
};

/// The ranks that have the other slices of the same units.
class OtherSlices {
 public:
  virtual ~OtherSlices() = default;
  /// array[0 .. count) becomes the sum over all slices, with the same bits on all ranks. Ordered with the
  /// calls of the rank's Ops before and after it. After an error it does nothing.
  virtual void sum(Index count, float* array) = 0;
};

/// The resources of a pass on one rank; not thread-safe.
struct Compute {
  Ops& ops;
  /// At least Unit::scratch_floats() floats, aligned to a cache line; the contents are undefined between
  /// calls.
  float* scratch = nullptr;
  OtherSlices* slices = nullptr;  ///< null: units are not sliced
};

class Unit {
 public:
  Unit(ParameterTable table, Index width, Recompute recompute)
      : table_(std::move(table)), width_(width), recompute_(recompute) {}
  virtual ~Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const ParameterTable& parameters() const { return table_; }

  /// Floats that forward saves for backward, and scratch floats that both need, for this batch.
  Index saved_floats(const Batch& batch) const;
  Index scratch_floats(const Batch& batch) const;

  /// Input and output are [rows, width]. The first unit reads tokens instead of an input and the last one
  /// writes losses instead of an output; these pointers are null.
  void forward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
               float* output, float* saved) const;

  /// To be called after forward with the same batch, parameters, input and saved array, whose contents it
  /// destroys. `gradient` is that of the output on entry and that of the input on return (the last unit reads
  /// none, the first writes none); gradients of the parameters are added to `gradients`.
  void backward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                float* saved, float* gradient, Gradients& gradients) const;

 protected:
  /// Sizes for one piece.
  struct Sizes {
    Index saved = 0;
    Index scratch = 0;
  };

  Index width() const { return width_; }
  Recompute recompute() const { return recompute_; }

  /// A layer of weights whose rows belong to its inputs, [in, out], or to its outputs, [out, in]; slices
  /// consist of rows.
  struct Layer {
    Index in = 0;
    Index out = 0;
    bool rows_are_outputs = false;
  };

  // Layer operations on the pieces, whose arrays are dense matrices [rows, ...].
  /// result = x weights
  static void project(const Compute& compute, Index rows, const Layer& layer, const float* x,
                      const float* weights, float* result);
  /// weight_gradient_sum += x^T result_gradient, for weights [in, out]
  static void project_weights_backward(const Compute& compute, Index rows, const Layer& layer, const float* x,
                                       const float* result_gradient, float* weight_gradient_sum);
  /// x_gradient = result_gradient weights^T, for weights [in, out]; `adds`: += instead, where several layers
  /// read x.
  static void project_input_backward(const Compute& compute, Index rows, const Layer& layer,
                                     const float* weights, const float* result_gradient, float* x_gradient,
                                     bool adds = false);
  /// Both.
  static void project_backward(const Compute& compute, Index rows, const Layer& layer, const float* x,
                               const float* weights, const float* result_gradient, float* x_gradient,
                               float* weight_gradient_sum, bool adds = false);
  /// array[0 .. count) becomes the sum over the slices, if there are several.
  static void sum_over_slices(const Compute& compute, Index count, float* array);

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
