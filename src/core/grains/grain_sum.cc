// SPDX-License-Identifier: Apache-2.0

#include "src/core/grains/grain_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::core {
namespace {

Status check(size_t elements, const std::vector<ElementRange>& pieces) {
  std::vector<std::pair<ElementRange, size_t>> by_place;
  for (size_t rank = 0; rank < pieces.size(); ++rank)
    if (pieces[rank].count > 0) by_place.emplace_back(pieces[rank], rank);
  std::ranges::sort(by_place, {}, [](const auto& piece) { return piece.first.first; });
  size_t end = 0;
  for (const auto& [piece, rank] : by_place) {
    if (piece.first < end || piece.first > elements || piece.count > elements - piece.first)
      return Status(Code::invalid_argument,
                    fmt::format("the piece of rank {} has {} elements from element {} on; expected pieces "
                                "within {} elements that do not overlap",
                                rank, piece.count, piece.first, elements));
    end = piece.first + piece.count;
  }
  return {};
}

Status not_begun() {
  return Status(Code::invalid_usage, "no sum was begun; expected weirGrainSumBegin before");
}

}  // namespace

Result<std::unique_ptr<GrainSum>> GrainSum::make(size_t elements, std::vector<ElementRange> pieces, Rank rank,
                                                 std::shared_ptr<FloatPool> pool) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max() / sizeof(float);
  if (elements > kMost)
    return Status(Code::invalid_argument,
                  fmt::format("the array has {} elements; expected at most {}", elements, kMost));
  WEIR_TRY(check(elements, pieces));
  return std::unique_ptr<GrainSum>(new GrainSum(elements, std::move(pieces), rank, std::move(pool)));
}

GrainSum::GrainSum(size_t elements, std::vector<ElementRange> pieces, Rank rank,
                   std::shared_ptr<FloatPool> pool)
    : elements_(elements), pieces_(std::move(pieces)), rank_(rank), pool_(std::move(pool)) {}

GrainSum::~GrainSum() {
  for (const Exchange& exchange : exchanges_) exchange.done->synchronize();
}

Status GrainSum::begin(uint64_t grains) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (grains == 0 || grains > kMost)
    return Status(Code::invalid_argument,
                  fmt::format("the number of grains is {}; expected 1 to {}", grains, kMost));
  if (under_way())
    return Status(Code::invalid_usage,
                  "exchanges of the last sum were not settled; expected weirGrainSumSettle before");
  if (!current_.empty()) pool_->give(std::exchange(current_, {}));
  for (std::optional<TreeSums>* sums : {&local_, &owned_})
    if (sums->has_value())
      for (auto& [node, array] : (*sums)->take()) pool_->give(std::move(array));
  tree_.emplace(grains);
  local_.emplace(*tree_, *pool_);
  owned_.emplace(*tree_, *pool_);
  return {};
}

Result<float*> GrainSum::open() {
  if (!tree_) return not_begun();
  if (current_.empty()) {
    current_ = pool_->take(elements_);
    std::ranges::fill(current_, 0.0F);
  }
  return current_.data();
}

Status GrainSum::close(GrainRange grains) {
  if (!tree_) return not_begun();
  if (current_.empty() && elements_ > 0)
    return Status(Code::invalid_usage, "no array is open; expected weirGrainSumOpen before");
  if (grains.first >= grains.end || grains.end > tree_->grains())
    return Status(Code::invalid_argument,
                  fmt::format("the range is grains {} to {} of {}; expected first < end", grains.first,
                              grains.end, tree_->grains()));
  const std::vector<GrainNode> nodes = tree_->cover(grains);
  if (nodes.size() != 1)
    return Status(Code::invalid_argument,
                  fmt::format("grains {} to {} are {} sub-trees; expected one, which begins at a multiple of "
                              "its size",
                              grains.first, grains.end, nodes.size()));
  return local_->add(nodes[0], std::exchange(current_, {}));
}

Status GrainSum::check_own(const Sums& own, GrainRange range) const {
  const std::vector<GrainNode> roots = tree_->cover(range);
  const bool complete = std::ranges::equal(own, roots, {}, &std::pair<GrainNode, Floats>::first);
  return complete
             ? Status()
             : Status(Code::invalid_usage,
                      fmt::format("sums of {} sub-trees were closed, but grains {} to {} of rank {} make {}; "
                                  "expected each of its grains once",
                                  own.size(), range.first, range.end, rank_, roots.size()));
}

std::vector<Operation> GrainSum::sends_and_receives(Exchange& exchange, std::span<const GrainRange> ranges) {
  const auto ranks = static_cast<Rank>(pieces_.size());
  const size_t length = pieces_[static_cast<size_t>(rank_)].count;
  std::vector<Operation> operations;
  for (Rank step = 1; step < ranks; ++step) {
    // Every rank begins with a different peer.
    const Rank to = (rank_ + step) % ranks;
    const Rank from = (rank_ - step + ranks) % ranks;
    const ElementRange& piece = pieces_[static_cast<size_t>(to)];
    for (const auto& [root, sum] : exchange.own)
      if (piece.count > 0)
        operations.push_back(SendOp{
            .input = sum.data() + piece.first, .count = piece.count, .type = DataType::float32, .peer = to});
    if (length == 0) continue;
    for (const GrainNode& root : tree_->cover(ranges[static_cast<size_t>(from)])) {
      exchange.received.emplace_back(root, pool_->take(length));
      operations.push_back(RecvOp{.output = exchange.received.back().second.data(),
                                  .count = length,
                                  .type = DataType::float32,
                                  .peer = from});
    }
  }
  return operations;
}

Result<size_t> GrainSum::exchange(Communicator& communicator, std::span<const GrainRange> ranges,
                                  std::shared_ptr<device::HostStream> stream) {
  if (!tree_) return not_begun();
  for (size_t rank = 0; rank < ranges.size(); ++rank)
    if (ranges[rank].first > ranges[rank].end || ranges[rank].end > tree_->grains())
      return Status(Code::invalid_argument,
                    fmt::format("rank {} has grains {} to {} of {}; expected first <= end", rank,
                                ranges[rank].first, ranges[rank].end, tree_->grains()));
  Exchange exchange{local_->take(), {}, std::move(stream), std::make_unique<device::HostEvent>()};
  WEIR_TRY(check_own(exchange.own, ranges[static_cast<size_t>(rank_)]));
  // Queued operations point into the exchange; elements of a deque stay at their addresses.
  exchanges_.push_back(std::move(exchange));
  Exchange& queued = exchanges_.back();
  const std::vector<Operation> operations = sends_and_receives(queued, ranges);
  size_t sent = 0;
  for (const Operation& operation : operations)
    if (std::holds_alternative<SendOp>(operation)) sent += bytes_of(operation);
  if (!operations.empty()) WEIR_TRY(communicator.run(operations, StreamPlace{queued.stream.get()}));
  queued.done->record(queued.stream.get());
  return sent;
}

void GrainSum::await_oldest() const {
  if (under_way()) exchanges_.front().done->synchronize();
}

Status GrainSum::settle() {
  if (!under_way())
    return Status(Code::invalid_usage,
                  "there is no exchange to settle; expected weirGrainSumExchange before");
  Exchange exchange = std::move(exchanges_.front());
  exchanges_.pop_front();
  const ElementRange& piece = pieces_[static_cast<size_t>(rank_)];
  for (auto& [root, sum] : exchange.own) {
    if (piece.count > 0) {
      Floats mine = pool_->take(piece.count);
      std::copy_n(sum.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, mine.begin());
      WEIR_TRY(owned_->add(root, std::move(mine)));
    }
    pool_->give(std::move(sum));
  }
  for (auto& [root, sum] : exchange.received) WEIR_TRY(owned_->add(root, std::move(sum)));
  return {};
}

Status GrainSum::finish(float* result) {
  if (!tree_) return not_begun();
  if (under_way())
    return Status(Code::invalid_usage, "an exchange was not settled; expected weirGrainSumSettle before");
  if (pieces_[static_cast<size_t>(rank_)].count > 0) {
    auto sums = owned_->take();
    if (sums.size() != 1 || sums[0].first != tree_->root())
      return Status(Code::invalid_usage,
                    fmt::format("some of the {} grains are missing in the sum; expected each in one exchange "
                                "of one rank",
                                tree_->grains()));
    std::ranges::copy(sums[0].second, result);
    pool_->give(std::move(sums[0].second));
  }
  tree_.reset();
  return {};
}

}  // namespace weir::core
