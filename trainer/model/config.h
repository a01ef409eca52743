// SPDX-License-Identifier: Apache-2.0
/// The shape of a model: a decoder-only transformer in GPT-2's form (Radford et al., 2019) with bytes as
/// tokens, learned positions, layer norms before each half of a block, GELU, and an output layer that is not
/// tied to the embedding, so that units share no parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "trainer/math/lanes.h"

namespace weir::trainer {

struct Config {
  std::string name;
  Index layers = 0;
  Index width = 0;
  Index heads = 0;
  Index length = 0;  ///< tokens per sequence

  /// Floating-point operations of all products per trained token: 6 per parameter of a product, and 12 *
  /// layers * length * width for attention (whole squares, as is usual, although the masked half is not
  /// computed).
  double operations_per_token() const;
};

inline constexpr Index kVocabulary = 256;

/// "tiny", "small", "medium" or "124M"; otherwise an error that lists them.
Result<Config> preset(std::string_view name);
std::vector<std::string> preset_names();

}  // namespace weir::trainer
