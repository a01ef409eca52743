/// What Python sees of the back end: how to make one, and how to abort it.
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include "python/weir_torch/backend.h"
#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

c10::intrusive_ptr<Base> create(const StorePtr& store, int rank, int size, Milliseconds timeout) {
  return c10::make_intrusive<Backend>(store, rank, size, timeout);
}

void abort_group(const c10::intrusive_ptr<Base>& group) {
  auto* backend = dynamic_cast<Backend*>(group.get());
  if (backend == nullptr) refuse("abort was given a group of another back end");
  backend->abort();
}

}  // namespace
}  // namespace weir_torch

PYBIND11_MODULE(_C, module) {
  namespace py = pybind11;
  module.doc() = "weir as a back end of torch.distributed; use the package weir_torch";
  module.def("create", &weir_torch::create, py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout"), py::call_guard<py::gil_scoped_release>());
  module.def("abort", &weir_torch::abort_group, py::arg("group"), py::call_guard<py::gil_scoped_release>());
}
