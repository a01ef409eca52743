// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/window.h"

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

/// Signals of a rank: those of signal(), and those that come with what is put, which nobody waits for.
constexpr int kSignal = 0, kWithPut = 1;

void check_memory(const at::Tensor& tensor, const char* operation) {
  check_tensor(tensor, operation);
  if (!tensor.device().is_cpu() || !is_packed(tensor))
    refuse(std::string(operation) + " was given a tensor on " + tensor.device().str() +
           (is_packed(tensor) ? "" : " that is not contiguous") + ", expected a contiguous one on the CPU");
}

}  // namespace

WorkPtr Window::issue(const char* name, bool async, Milliseconds timeout, Body body) {
  WorkPtr work = issue_(name, timeout, std::move(body));
  if (!async) work->wait(kNoTimeout);
  return work;
}

int Window::peer(int64_t rank) const {
  const int size = members_->communicator().size();
  if (rank < 0 || rank >= size)
    refuse("a window has no rank " + std::to_string(rank) + ", expected 0 to " + std::to_string(size - 1));
  return static_cast<int>(rank);
}

void Window::tensor_register(const at::Tensor& tensor, bool owning) {
  if (window_ != nullptr) refuse("the window has a tensor already; expected tensor_deregister() before");
  check_memory(tensor, "tensor_register");
  issue("tensor_register", false, c10d::kUnsetTimeout, [&](const Peers& peers) {
    peers.check(ncclCommWindowRegister(peers.comm, tensor.data_ptr(), tensor.nbytes(), &window_, 0));
    barrier(peers);
  });
  type_ = tensor.scalar_type();
  if (owning) kept_ = tensor;
}

void Window::tensor_deregister() {
  if (window_ == nullptr) refuse("the window has no tensor; expected tensor_register() before");
  // Nobody may write any more when the memory is given back.
  issue("tensor_deregister", false, c10d::kUnsetTimeout, [](const Peers& peers) { barrier(peers); });
  deregister();
}

void Window::deregister() {
  if (window_ == nullptr) return;
  if (ncclComm_t comm = members_->communicator().joined()) ncclCommWindowDeregister(comm, window_);
  window_ = nullptr;
  kept_.reset();
}

WorkPtr Window::put(const at::Tensor& tensor, int64_t rank, int64_t element, bool async,
                    const c10d::PutOptions& options) {
  check_memory(tensor, "put");
  if (window_ == nullptr) refuse("put: the window has no tensor; expected tensor_register() before");
  if (tensor.scalar_type() != type_ || element < 0)
    refuse("put was given a tensor of " + std::string(c10::toString(tensor.scalar_type())) + " for element " +
           std::to_string(element) + ", expected " + c10::toString(type_) + " and an element from 0");
  return issue("put", async, options.timeout, [this, tensor, to = peer(rank), element](const Peers& peers) {
    const size_t at = static_cast<size_t>(element) * tensor.element_size();
    peers.check(ncclPutSignal(tensor.data_ptr(), tensor.nbytes(), ncclUint8, to, window_, at, kWithPut, 0, 0,
                              peers.comm, peers.stream));
  });
}

WorkPtr Window::signal(int64_t rank, bool async, const c10d::SignalOptions& options) {
  return issue("signal", async, options.timeout, [to = peer(rank)](const Peers& peers) {
    peers.check(ncclSignal(to, kSignal, 0, 0, peers.comm, peers.stream));
  });
}

WorkPtr Window::wait_signal(int64_t rank, bool async, const c10d::WaitSignalOptions& options) {
  return issue("wait_signal", async, options.timeout, [from = peer(rank)](const Peers& peers) {
    ncclWaitSignalDesc_t one{1, from, kSignal, 0};
    peers.check(ncclWaitSignal(1, &one, peers.comm, peers.stream));
  });
}

}  // namespace weir_torch
