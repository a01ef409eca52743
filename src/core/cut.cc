#include "src/core/cut.h"

#include <algorithm>

namespace weir::core {
namespace {

size_t input_blocks(const Operation& operation, Rank rank, size_t ranks) {
  switch (operation.kind) {
    case Collective::broadcast: return rank == operation.root ? 1 : 0;
    case Collective::scatter: return rank == operation.root ? ranks : 0;
    case Collective::reduce_scatter:
    case Collective::all_to_all: return ranks;
    default: return 1;
  }
}

size_t output_blocks(const Operation& operation, Rank rank, size_t ranks) {
  switch (operation.kind) {
    case Collective::reduce: return rank == operation.root ? 1 : 0;
    case Collective::gather: return rank == operation.root ? ranks : 0;
    case Collective::all_gather:
    case Collective::all_to_all: return ranks;
    default: return 1;
  }
}

}  // namespace

Cut cut_of(const Operation& operation, Rank rank, int ranks) {
  // Pieces begin at multiples of this many elements, so that they stay aligned.
  constexpr size_t kWhole = 1024;
  const auto all = static_cast<size_t>(ranks);
  const bool whole = operation.kind == Collective::all_reduce || operation.kind == Collective::reduce ||
                     operation.kind == Collective::broadcast;
  Cut cut;
  cut.input_blocks = input_blocks(operation, rank, all);
  cut.output_blocks = output_blocks(operation, rank, all);
  cut.piece_elements = std::max<size_t>(1, kPieceBytes / (size_of(operation.type) * (whole ? 1 : all)));
  if (cut.piece_elements > kWhole) cut.piece_elements -= cut.piece_elements % kWhole;
  cut.piece_elements = std::min(cut.piece_elements, operation.count);
  if (operation.count > cut.piece_elements)
    cut.pieces = (operation.count + cut.piece_elements - 1) / cut.piece_elements;
  return cut;
}

}  // namespace weir::core
