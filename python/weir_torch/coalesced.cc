// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/coalesced.h"

#include <ATen/core/ivalue_inl.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

namespace weir_torch {

bool Coalesced::isCompleted() {
  return std::all_of(works_.begin(), works_.end(), [](const WorkPtr& work) { return work->isCompleted(); });
}

bool Coalesced::isSuccess() const {
  return std::all_of(works_.begin(), works_.end(), [](const WorkPtr& work) { return work->isSuccess(); });
}

std::exception_ptr Coalesced::exception() const {
  for (const WorkPtr& work : works_) {
    if (auto error = work->exception()) return error;
  }
  return nullptr;
}

Tensors Coalesced::result() {
  Tensors all;
  for (const WorkPtr& work : works_) {
    const Tensors outputs = work->result();
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return all;
}

void Coalesced::synchronize() {
  for (const WorkPtr& work : works_) work->synchronize();
}

bool Coalesced::wait(Milliseconds timeout) {
  for (const WorkPtr& work : works_) work->wait(timeout);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> Coalesced::getFuture() {
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
      c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
  for (const WorkPtr& work : works_) futures.push_back(work->getFuture());
  return c10::collectAll(futures)->then(
      [](c10::ivalue::Future& all) {
        Tensors outputs;
        for (const c10::IValue& future : all.value().toListRef()) {
          const auto each = future.toFuture()->value().toTensorVector();
          outputs.insert(outputs.end(), each.begin(), each.end());
        }
        return c10::IValue(outputs);
      },
      c10::ListType::create(c10::TensorType::get()));
}

}  // namespace weir_torch
