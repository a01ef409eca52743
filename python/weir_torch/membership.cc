// SPDX-License-Identifier: Apache-2.0

#include <Python.h>  // before all others, as it asks

#include "python/weir_torch/membership.h"

namespace weir_torch {
namespace {

/// Releases the interpreter's lock if this thread holds it: tasks that are ending may need to call Python
/// functions.
class WithoutPython {
 public:
  WithoutPython() {
    if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) saved_ = PyEval_SaveThread();
  }
  ~WithoutPython() {
    if (saved_ != nullptr) PyEval_RestoreThread(saved_);
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  PyThreadState* saved_ = nullptr;
};

}  // namespace

Membership::Membership(StorePtr store, int rank, int size, const TaskContextPtr& context)
    : store_(std::move(store)),
      communicator_(store_, "weir", rank, size),
      gpu_communicator_(store_, "weir/gpu", rank, size),
      tagged_messages_(store_, rank, size, context) {}

void Membership::set_order(int order) {
  communicator_.set_order(order);
  gpu_communicator_.set_order(order);
}

int Membership::order() const {
  const int order = communicator_.order();
  return order != weirOrderUnset ? order : gpu_communicator_.order();
}

std::pair<ncclResult_t, std::string> Membership::failure() const {
  for (const Communicator* each : {&communicator_, &gpu_communicator_}) {
    if (each->aborted()) return {ncclSystemError, "the group was aborted"};
    auto failure = each->failure();
    if (failure.first != ncclSuccess) return failure;
  }
  return {ncclSuccess, ""};
}

void Membership::abort() {
  communicator_.abort();
  gpu_communicator_.abort();
  tagged_messages_.abort();
}

void Membership::wait_for_all() {
  const WithoutPython let_callbacks_run;
  while (!queue_->drain(kLastCall)) {
  }
}

void Membership::close() {
  const WithoutPython let_callbacks_run;
  if (!queue_->drain(kLastCall)) {
    communicator_.abort();
    gpu_communicator_.abort();
  }
  queue_->close();
  communicator_.leave();
  gpu_communicator_.leave();
  tagged_messages_.close();
}

}  // namespace weir_torch
