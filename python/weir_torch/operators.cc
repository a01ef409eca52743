// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/operators.h"

#include <torch/library.h>

#include <mutex>
#include <vector>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

struct Numbered {
  std::mutex mutex;
  std::vector<c10::weak_intrusive_ptr<Backend>> backends;  ///< by their numbers
};

Numbered& numbered() {
  static auto* const all = new Numbered;
  return *all;
}

c10::intrusive_ptr<Backend> group_of(int64_t number) {
  const std::lock_guard lock(numbered().mutex);
  const auto& all = numbered().backends;
  c10::intrusive_ptr<Backend> backend;
  if (number >= 0 && number < static_cast<int64_t>(all.size())) {
    backend = all[static_cast<size_t>(number)].lock();
  }
  if (backend == nullptr) refuse("there is no group " + std::to_string(number) + " for operators");
  return backend;
}

void all_reduce_(const at::Tensor& tensor, int64_t group) {
  const auto backend = group_of(group);
  Tensors tensors{tensor};
  backend->carry_out([&] { return backend->allreduce(tensors, {}); });
}

void all_gather_(const at::Tensor& output, const at::Tensor& input, int64_t group) {
  const auto backend = group_of(group);
  at::Tensor to = output, from = input;
  backend->carry_out([&] { return backend->_allgather_base(to, from, {}); });
}

void gather_(const at::Tensor& output, const at::Tensor& input, int64_t root, int64_t group) {
  const auto backend = group_of(group);
  at::Tensor to = output, from = input;
  c10d::GatherOptions options;
  options.rootRank = root;
  backend->carry_out([&] { return backend->gather_single(to, from, options); });
}

// What the compiler calls to learn shapes: these operators return nothing.
void no_all_reduce(const at::Tensor& /*tensor*/, int64_t /*group*/) {}
void no_all_gather(const at::Tensor& /*output*/, const at::Tensor& /*input*/, int64_t /*group*/) {}
void no_gather(const at::Tensor& /*output*/, const at::Tensor& /*input*/, int64_t /*root*/,
               int64_t /*group*/) {}

}  // namespace

int64_t operator_group(const c10::intrusive_ptr<Backend>& backend) {
  const std::lock_guard lock(numbered().mutex);
  auto& all = numbered().backends;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].lock() == backend) return static_cast<int64_t>(i);
  }
  all.emplace_back(backend);
  return static_cast<int64_t>(all.size()) - 1;
}

}  // namespace weir_torch

TORCH_LIBRARY(weir, library) {
  library.def("all_reduce_(Tensor(a!) tensor, int group) -> ()");
  library.def("all_gather_(Tensor(a!) output, Tensor input, int group) -> ()");
  library.def("gather_(Tensor(a!) output, Tensor input, int root, int group) -> ()");
}

TORCH_LIBRARY_IMPL(weir, CPU, library) {
  library.impl("all_reduce_", &weir_torch::all_reduce_);
  library.impl("all_gather_", &weir_torch::all_gather_);
  library.impl("gather_", &weir_torch::gather_);
}

TORCH_LIBRARY_IMPL(weir, Meta, library) {
  library.impl("all_reduce_", &weir_torch::no_all_reduce);
  library.impl("all_gather_", &weir_torch::no_all_gather);
  library.impl("gather_", &weir_torch::no_gather);
}
