// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/open_blas.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <string_view>

namespace weir::trainer::open_blas {

bool knows_processor() {
#ifdef __x86_64__
  constexpr std::array<std::string_view, 5> kVectorCores = {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                                            "SapphireRapids"};
  return std::ranges::find(kVectorCores, openblas_get_corename()) != kVectorCores.end();
#else
  return true;  // other architectures have vectors in every processor that OpenBLAS supports
#endif
}

bool can_run(const ProductShape& shape) {
  constexpr Index kMost = std::numeric_limits<blasint>::max();
  return shape.count == 1 && std::ranges::all_of(std::array{shape.rows, shape.depth, shape.columns},
                                                 [](Index size) { return size > 0 && size <= kMost; });
}

void run(const ProductShape& shape, const float* a, const float* b, float* c) {
  const auto rows = static_cast<blasint>(shape.rows);
  const auto depth = static_cast<blasint>(shape.depth);
  const auto columns = static_cast<blasint>(shape.columns);
  cblas_sgemm(CblasRowMajor, shape.transpose_a ? CblasTrans : CblasNoTrans,
              shape.transpose_b ? CblasTrans : CblasNoTrans, rows, columns, depth, 1, a,
              shape.transpose_a ? rows : depth, b, shape.transpose_b ? depth : columns,
              shape.accumulate ? 1.0f : 0.0f, c, columns);
}

void use_threads(int count) { openblas_set_num_threads(count); }

std::string code() {
  std::istringstream words(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  std::string name, version;
  words >> name >> version;
  return fmt::format("{} {} for {}", name, version, openblas_get_corename());
}

}  // namespace weir::trainer::open_blas
