// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/segmentation.h"

#include <algorithm>

namespace weir::core {
namespace {

size_t input_blocks(const CollectiveOp& operation, Rank rank, size_t ranks) {
  switch (operation.kind) {
    case Collective::broadcast: return rank == operation.root ? 1 : 0;
    case Collective::scatter: return rank == operation.root ? ranks : 0;
    case Collective::reduce_scatter:
    case Collective::all_to_all: return ranks;
    default: return 1;
  }
}

size_t output_blocks(const CollectiveOp& operation, Rank rank, size_t ranks) {
  switch (operation.kind) {
    case Collective::reduce: return rank == operation.root ? 1 : 0;
    case Collective::gather: return rank == operation.root ? ranks : 0;
    case Collective::all_gather:
    case Collective::all_to_all: return ranks;
    default: return 1;
  }
}

}  // namespace

Segmentation segmentation_of(const CollectiveOp& operation, Rank rank, int ranks) {
  // Pieces begin at multiples of this many elements, so that they stay aligned.
  constexpr size_t kWhole = 1024;
  const auto all = static_cast<size_t>(ranks);
  const bool whole = operation.kind == Collective::all_reduce || operation.kind == Collective::reduce ||
                     operation.kind == Collective::broadcast;
  Segmentation segmentation;
  segmentation.input_blocks = input_blocks(operation, rank, all);
  segmentation.output_blocks = output_blocks(operation, rank, all);
  segmentation.piece_elements =
      std::max<size_t>(1, kPieceBytes / (size_of(operation.type) * (whole ? 1 : all)));
  if (segmentation.piece_elements > kWhole)
    segmentation.piece_elements -= segmentation.piece_elements % kWhole;
  segmentation.piece_elements = std::min(segmentation.piece_elements, operation.count);
  if (operation.count > segmentation.piece_elements)
    segmentation.pieces = (operation.count + segmentation.piece_elements - 1) / segmentation.piece_elements;
  return segmentation;
}

}  // namespace weir::core
