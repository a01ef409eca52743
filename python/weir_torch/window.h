// SPDX-License-Identifier: Apache-2.0
/// One-sided access to tensors of other ranks: c10d's Window, over weir's windows.
///
/// A window's calls are queued with the group's collectives, and executed in order with them. One thread at a
/// time uses a window. What is out of bounds, or not on the CPU, is an error of the call.
#pragma once

#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Window.hpp>

#include "python/weir_torch/membership.h"

namespace weir_torch {

class Window final : public c10d::Window {
 public:
  using Body = std::function<void(const Peers&)>;
  /// Issues a call in the group, in the order of its operations; throws where the group has other members
  /// now.
  using Issue = std::function<WorkPtr(const char* name, Milliseconds timeout, Body body)>;

  Window(std::shared_ptr<Membership> members, Issue issue)
      : members_(std::move(members)), issue_(std::move(issue)) {}
  ~Window() override { deregister(); }

  /// All ranks register a tensor, in the same order of their windows. `owning`: the window keeps it alive.
  void tensor_register(const at::Tensor& tensor, bool owning) override;
  void tensor_deregister() override;
  /// Writes a tensor of the window's type into the window of `rank`, at this element.
  WorkPtr put(const at::Tensor& tensor, int64_t rank, int64_t element, bool async,
              const c10d::PutOptions& options) override;
  /// What was put before it has arrived when the peer's wait_signal returns.
  WorkPtr signal(int64_t rank, bool async, const c10d::SignalOptions& options) override;
  WorkPtr wait_signal(int64_t rank, bool async, const c10d::WaitSignalOptions& options) override;
  c10d::WindowAttr get_attr(int64_t /*rank*/) override { return {}; }

 private:
  void deregister();
  WorkPtr issue(const char* name, bool async, Milliseconds timeout, Body body);
  int peer(int64_t rank) const;

  const std::shared_ptr<Membership> members_;
  const Issue issue_;
  at::ScalarType type_ = at::kByte;
  at::Tensor kept_;
  ncclWindow_t window_ = nullptr;
};

}  // namespace weir_torch
