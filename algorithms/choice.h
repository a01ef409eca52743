/// Which algorithm a collective takes. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

#include "src/base/types.h"

namespace weir::algorithms {

struct Question {
  Collective kind = Collective::all_reduce;
  int ranks = 1;
  size_t bytes = 0;     ///< of one block
  bool island = false;  ///< all ranks can read each other's scratch, so plans may pull
  bool groups = false;  ///< the layout has levels: some ranks are nearer to each other than to the rest
};

/// The name of an algorithm of the catalogue that does question.kind. Depends on nothing but the question, so
/// all ranks choose alike.
std::string_view choose(const Question& question);

}  // namespace weir::algorithms
