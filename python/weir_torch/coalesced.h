// SPDX-License-Identifier: Apache-2.0
/// Several operations as one Work: done when all are, right if all are. Thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

class Coalesced final : public c10d::Work {
 public:
  explicit Coalesced(std::vector<WorkPtr> works) : works_(std::move(works)) {}

  bool isCompleted() override;
  bool isSuccess() const override;
  /// That of the first operation that has failed.
  std::exception_ptr exception() const override;
  Tensors result() override;
  void synchronize() override;
  /// `timeout`: for each of them.
  bool wait(Milliseconds timeout) override;
  /// Its value is the outputs of all operations, in order.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<WorkPtr> works_;
};

}  // namespace weir_torch
