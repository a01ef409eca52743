#include "trainer/math/tree.h"

#include <bit>
#include <cassert>

#include "trainer/math/rows.h"

namespace weir::trainer {

double tree_sum(std::span<const double> values) {
  if (values.empty()) return 0.0;
  if (values.size() == 1) return values[0];
  const size_t left = std::bit_ceil(values.size()) / 2;
  return tree_sum(values.first(left)) + tree_sum(values.subspan(left));
}

float* TreeSum::open() {
  open_ = take_free();
  return open_.data();
}

void TreeSum::close(Index place) { insert({0, place}, std::move(open_)); }

void TreeSum::insert(Node node, Buffer array) {
  for (;;) {
    const auto [level, number] = node;
    if (number == 0 && (Index{1} << level) >= places_) break;  // the root
    const Node parent{level + 1, number / 2};
    const Index sibling = number ^ 1;
    if ((sibling << level) >= places_) {  // there is none: the parent is this
      node = parent;
      continue;
    }
    const auto found = waiting_.find({level, sibling});
    if (found == waiting_.end()) break;
    Buffer& left = number < sibling ? array : found->second;
    Buffer& right = number < sibling ? found->second : array;
    add(size_, right.data(), left.data());
    Buffer sum = std::move(left);
    free_.push_back(std::move(right));
    waiting_.erase(found);
    array = std::move(sum);
    node = parent;
  }
  waiting_.emplace(node, std::move(array));
}

void TreeSum::add_root_to(float* sum) {
  assert(waiting_.size() == 1);
  add(size_, waiting_.begin()->second.data(), sum);
  free_.push_back(std::move(waiting_.begin()->second));
  waiting_.clear();
}

Buffer TreeSum::take_free() {
  if (free_.empty()) return Buffer(size_);
  Buffer array = std::move(free_.back());
  free_.pop_back();
  array.clear();
  return array;
}

}  // namespace weir::trainer
