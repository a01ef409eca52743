// SPDX-License-Identifier: Apache-2.0
/// A transformer in the step-time model: units that are gathered, computed and reduced one after the other.
///
/// Thread safety: values.
#pragma once

#include <string>
#include <vector>

namespace weir::trainer::plan {

/// Elements of activations and tables that a token reads and writes besides products, each counted once per
/// kernel.
struct MovedElements {
  double forward = 0;
  double backward = 0;
};

/// A part of the model that is gathered and reduced as one flat array.
struct Unit {
  std::string name;
  double parameters = 0;     ///< number of parameters that the unit owns
  double products = 0;       ///< parameters that each token is multiplied with; looked-up ones count 0
  double attentions = 0;     ///< number of attention cores: scores and values, each as wide as the model
  bool kept = false;         ///< gathered once per micro-batch and kept until its end (a tied embedding)
  bool whole = false;        ///< every slice of tensor parallelism computes all of it
  MovedElements moved = {};  ///< of the loss and the look-up of tokens; products are charged by their FLOP
};

struct Model {
  std::string name;
  double width = 0;
  double heads = 0;
  double sequence = 0;    ///< tokens
  double vocabulary = 0;  ///< number of symbols; 0: logits need no memory
  bool flash = false;     ///< whether attention stores no score matrix
  std::vector<Unit> units;

  double parameters() const;
  /// FLOP of forward and backward per token, without recomputation: 6 per parameter in products and 12 times
  /// width times sequence per attention core (the whole square, as is usual).
  double flops_per_token() const;
};

/// FLOP of one unit's attention cores, forward, per token.
double attention_flops(const Model& model, const Unit& unit);
/// FLOP of one unit, forward, per token.
double forward_flops(const Model& model, const Unit& unit);

/// Softmax and cross-entropy of `vocabulary` logits: they are read forward; backward they are read again and
/// their gradients written.
MovedElements loss_elements(double vocabulary);
/// The sum of a row of each of `tables` tables: rows are read and the sum written; backward its gradient is
/// read and added to the gradients of the rows.
MovedElements lookup_elements(double width, int tables);

/// The shape of a decoder: learned positions, MLP of four times the width.
struct DecoderShape {
  std::string name;
  double layers = 0;
  double width = 0;
  double heads = 0;
  double sequence = 0;
  double vocabulary = 0;
  bool tied = false;  ///< whether the head shares the embedding's parameters
  bool flash = false;
};

/// Units: embedding, each block (12 width^2 + 13 width parameters), head.
Model decoder(const DecoderShape& shape);

}  // namespace weir::trainer::plan
