// SPDX-License-Identifier: Apache-2.0
// A device for PyTorch that says it is CUDA's, over the stand-in of CUDA's driver (stand_in): for
// tests of tensors on GPUs with a PyTorch that is built without CUDA. Has the name of PyTorch's own library
// and its one function that weir asks for. Loaded by torch.ops.load_library(); whatever it does not know is
// done on the CPU, with copies.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/version.h>
#include <unistd.h>

#include <array>
#include <source_location>

#include "stand_in/cuda_calls.h"

namespace {

constexpr int kMostGpus = 16;

void check(int code, std::source_location at = std::source_location::current()) {
  TORCH_CHECK(code == 0, "the stand-in has failed with ", code, " in line ", at.line());
}

c10::Device gpu(c10::DeviceIndex index) { return {c10::DeviceType::CUDA, index}; }

thread_local c10::DeviceIndex current = 0;
thread_local std::array<c10::StreamId, kMostGpus> streams{};  ///< 0: the default stream

void make_current(c10::DeviceIndex index) {
  void* context = nullptr;
  check(cuInit(0));
  check(cuDevicePrimaryCtxRetain(&context, index));
  check(cuCtxSetCurrent(context));
  current = index;
}

void* handle_of(const c10::Stream& stream) { return reinterpret_cast<void*>(stream.id()); }
void* current_stream() { return reinterpret_cast<void*>(streams[static_cast<size_t>(current)]); }

/// Another device for a while.
class On {
 public:
  explicit On(c10::DeviceIndex index) : before_(current) { make_current(index); }
  ~On() { make_current(before_); }
  On(const On&) = delete;
  On& operator=(const On&) = delete;

 private:
  const c10::DeviceIndex before_;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::CUDA;

  c10::DeviceType type() const override { return static_type; }
  c10::Device getDevice() const override { return gpu(current); }
  void setDevice(c10::Device device) const override { make_current(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { make_current(device.index()); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    make_current(device.index());
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    int count = 0;
    return cuInit(0) == 0 && cuDeviceGetCount(&count) == 0 ? static_cast<c10::DeviceIndex>(count) : 0;
  }

  c10::Stream getStream(c10::Device device) const noexcept override {
    const c10::DeviceIndex index = device.has_index() ? device.index() : current;
    return c10::Stream(c10::Stream::UNSAFE, gpu(index), streams[static_cast<size_t>(index)]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high_priority*/) const override {
    const On there(device.index());
    void* stream = nullptr;
    check(cuStreamCreate(&stream, 1));  // one that does not order itself with the default stream
    return c10::Stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(stream));
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::Stream before = getStream(stream.device());
    streams[static_cast<size_t>(stream.device_index())] = stream.id();
    return before;
  }
  bool queryStream(const c10::Stream& stream) const override { return cuStreamQuery(handle_of(stream)) == 0; }
  void synchronizeStream(const c10::Stream& stream) const override {
    const On there(stream.device_index());
    check(cuStreamSynchronize(handle_of(stream)));
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex /*index*/,
              const c10::EventFlag /*flag*/) const override {
    const On there(stream.device_index());
    if (*event == nullptr) check(cuEventCreate(event, 0));
    check(cuEventRecord(*event, handle_of(stream)));
  }
  void block(void* event, const c10::Stream& stream) const override {
    const On there(stream.device_index());
    if (event != nullptr) check(cuStreamWaitEvent(handle_of(stream), event, 0));
  }
  bool queryEvent(void* event) const override { return event == nullptr || cuEventQuery(event) == 0; }
  void destroyEvent(void* event, const c10::DeviceIndex index) const noexcept override {
    const On there(index);
    if (event != nullptr) cuEventDestroy_v2(event);
  }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard);

void give_memory(void* memory) { cuMemFree_v2(reinterpret_cast<Address>(memory)); }

struct Allocator final : c10::Allocator {
  c10::DataPtr take(size_t bytes) const {
    Address memory = 0;
    make_current(current);
    if (bytes > 0) check(cuMemAlloc_v2(&memory, bytes));
    void* const at = reinterpret_cast<void*>(memory);
    return {at, at, &give_memory, gpu(current)};
  }
#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(size_t bytes) override { return take(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    check(cuMemcpy(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes));
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return take(bytes); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return &give_memory; }
};

Allocator& allocator() {
  static Allocator the_one;
  return the_one;
}

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::CUDA);
c10::DeviceIndex index_of(const c10::optional<c10::Device>& device) {
  return device && device->has_index() ? device->index() : current;
}

at::Tensor empty(at::IntArrayRef size, c10::optional<at::ScalarType> type,
                 c10::optional<at::Layout> /*layout*/, c10::optional<at::Device> device,
                 c10::optional<bool> /*pinned*/, c10::optional<at::MemoryFormat> format) {
  const On there(index_of(device));
  return at::detail::empty_generic(size, &allocator(), kKeys, type.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, c10::optional<at::ScalarType> type,
                         c10::optional<at::Layout> /*layout*/, c10::optional<at::Device> device,
                         c10::optional<bool> /*pinned*/) {
  const On there(index_of(device));
  return at::detail::empty_strided_generic(size, stride, &allocator(), kKeys, type.value_or(at::kFloat));
}

Address address_of(const void* memory) { return reinterpret_cast<Address>(memory); }

/// The same on the CPU, with the whole memory behind it; itself where it is there.
at::Tensor on_cpu(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) return tensor;
  const On there(tensor.device().index());
  const size_t bytes = tensor.storage().nbytes();
  at::Tensor memory = at::empty({static_cast<int64_t>(bytes)}, at::kByte);
  check(cuMemcpyAsync(address_of(memory.data_ptr()), address_of(tensor.storage().data_ptr().get()), bytes,
                      current_stream()));
  check(cuStreamSynchronize(current_stream()));
  return at::empty({0}, tensor.dtype().toScalarType())
      .set_(memory.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool /*non_blocking*/) {
  const bool alike = to.is_contiguous() && from.is_contiguous() && to.dtype() == from.dtype() &&
                     to.sizes() == from.sizes() && to.device() == from.device();
  if (alike) {
    const On there(to.device().index());
    if (to.numel() > 0)
      check(cuMemcpyAsync(address_of(to.data_ptr()), address_of(from.data_ptr()), to.nbytes(),
                          current_stream()));
    return to;
  }
  const at::Tensor source = on_cpu(from);
  if (to.device().is_cpu()) return to.copy_(source);
  const On there(to.device().index());
  const bool packed = to.is_contiguous();
  const at::Tensor values = packed ? at::empty(to.sizes(), to.dtype().toScalarType()) : on_cpu(to);
  values.copy_(source);
  void* const begin = packed ? to.data_ptr() : to.storage().data_ptr().get();
  const size_t bytes = packed ? to.nbytes() : to.storage().nbytes();
  const void* const data = packed ? values.data_ptr() : values.storage().data_ptr().get();
  if (bytes > 0) check(cuMemcpyAsync(address_of(begin), address_of(data), bytes, current_stream()));
  check(cuStreamSynchronize(current_stream()));
  return to;
}

at::Tensor copy_and_resize(const at::Tensor& from, const at::Tensor& to) {
  at::Tensor target = to;
  return target.copy_(from);
}

at::Scalar scalar_of(const at::Tensor& tensor) { return on_cpu(tensor).item(); }

void by_cpu(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

/// The stream that is current from now on: 0 is the default one, others are made.
void use_stream(int64_t number) {
  static std::array<c10::StreamId, kMostGpus> made{};
  c10::StreamId& stream = made.at(static_cast<size_t>(number));
  if (number > 0 && stream == 0) stream = Guard().getStreamFromGlobalPool(gpu(current), false).id();
  streams[static_cast<size_t>(current)] = stream;
}

void rest(void* microseconds) { usleep(static_cast<useconds_t>(reinterpret_cast<uintptr_t>(microseconds))); }

/// The current stream does nothing for so long.
void occupy(double seconds) {
  make_current(current);
  check(cuLaunchHostFunc(current_stream(), &rest,
                         reinterpret_cast<void*>(static_cast<uintptr_t>(seconds * 1e6))));
}

void synchronize() {
  make_current(current);
  check(cuStreamSynchronize(current_stream()));
}

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>()); }
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef, at::IntArrayRef)>(
                               &at::native::_reshape_alias));
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("copy_", &copy);
  m.impl("_copy_from_and_resize", &copy_and_resize);
  m.impl("_local_scalar_dense", &scalar_of);
}
TORCH_LIBRARY(gpu_stand_in, m) {
  m.def("use_stream", &use_stream);
  m.def("occupy", &occupy);
  m.def("synchronize", &synchronize);
}

}  // namespace

/// c10::cuda::CUDAStream::stream() const.
extern "C" __attribute__((visibility("default"))) void* stand_in_handle(const c10::Stream* stream) __asm__(
    "_ZNK3c104cuda10CUDAStream6streamEv");
void* stand_in_handle(const c10::Stream* stream) { return handle_of(*stream); }
