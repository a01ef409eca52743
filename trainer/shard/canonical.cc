#include "trainer/shard/canonical.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/shard/calls.h"

namespace weir::shard {

Result<CanonicalReduction> CanonicalReduction::start(CanonicalShape shape,
                                                     std::vector<std::pair<Node, Floats>> own,
                                                     FloatPool& pool, ncclComm_t comm, cudaStream_t stream) {
  const std::vector<Node>& roots = shape.roots[shape.rank];
  if (!std::equal(own.begin(), own.end(), roots.begin(), roots.end(),
                  [](const auto& sum, const Node& root) { return sum.first == root; }))
    return Status(
        Code::invalid_usage,
        fmt::format("there are sums of {} sub-trees, but the grains of rank {} make {}; expected each "
                    "of its grains once",
                    own.size(), shape.rank, roots.size()));
  CanonicalReduction reduction(std::move(shape), std::move(own), pool);
  if (comm != nullptr) WEIR_TRY(reduction.queue(comm, stream));
  return reduction;
}

Status CanonicalReduction::queue(ncclComm_t comm, cudaStream_t stream) {
  WEIR_TRY(checked(ncclGroupStart(), "canonical reduction"));
  Status status;
  for (int step = 1; step < ranks() && status.ok(); ++step) {
    // Every rank begins with another peer.
    const int to = (shape_.rank + step) % ranks();
    const int from = (shape_.rank - step + ranks()) % ranks();
    const Range& piece = shape_.pieces[to];
    for (const auto& [root, sum] : own_)
      if (status.ok() && piece.count > 0)
        status = checked(ncclSend(sum.data() + piece.first, piece.count, ncclFloat, to, comm, stream),
                         "canonical reduction");
    if (piece_length() == 0) continue;
    for (const Node& root : shape_.roots[from]) {
      received_.emplace_back(root, pool_->take(piece_length()));
      if (status.ok())
        status =
            checked(ncclRecv(received_.back().second.data(), piece_length(), ncclFloat, from, comm, stream),
                    "canonical reduction");
    }
  }
  const Status end = checked(ncclGroupEnd(), "canonical reduction");
  return status.ok() ? end : status;
}

Status CanonicalReduction::finish(TreeSums& sums) {
  const Range& piece = shape_.pieces[shape_.rank];
  for (auto& [root, sum] : own_) {
    if (piece.count > 0) {
      Floats mine = pool_->take(piece.count);
      std::copy_n(sum.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, mine.begin());
      WEIR_TRY(sums.add(root, std::move(mine)));
    }
    pool_->give(std::move(sum));
  }
  own_.clear();
  for (auto& [root, sum] : received_) WEIR_TRY(sums.add(root, std::move(sum)));
  received_.clear();
  return Status();
}

size_t CanonicalReduction::bytes_sent() const {
  size_t elements = 0;
  for (int rank = 0; rank < ranks(); ++rank)
    if (rank != shape_.rank) elements += shape_.pieces[rank].count;
  return elements * sizeof(float) * own_.size();
}

}  // namespace weir::shard
