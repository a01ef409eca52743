// SPDX-License-Identifier: Apache-2.0
/// The back end's Python module: creates a back end, aborts one, and closes all.
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include "python/weir_torch/backends.h"
#include "python/weir_torch/operators.h"
#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

c10::intrusive_ptr<Base> create(const StorePtr& store, int rank, int size, Milliseconds timeout,
                                const std::string& title, bool awaits_members) {
  return create_backend({store, rank, size, timeout, title, awaits_members});
}

Backend& backend_in(const c10::intrusive_ptr<Base>& group, const char* what) {
  auto* backend = dynamic_cast<Backend*>(group.get());
  if (backend == nullptr)
    refuse(std::string(what) + " was given a group of another back end; expected a group of weir");
  return *backend;
}

void set_order(const c10::intrusive_ptr<Base>& group, int order) {
  backend_in(group, "set_sum_order").set_order(order);
}

void abort_group(const c10::intrusive_ptr<Base>& group) { backend_in(group, "abort").abort(); }

int order(const c10::intrusive_ptr<Base>& group) { return backend_in(group, "sum_order").order(); }

int64_t number_of(const c10::intrusive_ptr<Base>& group) {
  return operator_group(c10::intrusive_ptr<Backend>::reclaim_copy(&backend_in(group, "operator_group")));
}

}  // namespace
}  // namespace weir_torch

PYBIND11_MODULE(_C, module) {
  namespace py = pybind11;
  module.doc() = "weir as a back end of torch.distributed; use the package weir_torch";
  module.def("create", &weir_torch::create, py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout"), py::arg("title") = "weir", py::arg("awaits_members") = false,
             py::call_guard<py::gil_scoped_release>());
  module.def("close_all", &weir_torch::close_backends, py::call_guard<py::gil_scoped_release>());
  module.def("abort", &weir_torch::abort_group, py::arg("group"), py::call_guard<py::gil_scoped_release>());
  module.def("set_order", &weir_torch::set_order, py::arg("group"), py::arg("order"),
             py::call_guard<py::gil_scoped_release>());
  module.def("order", &weir_torch::order, py::arg("group"), py::call_guard<py::gil_scoped_release>());
  module.def("operator_group", &weir_torch::number_of, py::arg("group"),
             py::call_guard<py::gil_scoped_release>());
}
