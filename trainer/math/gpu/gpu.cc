// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/gpu/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace weir::trainer::gpu {
namespace {

constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kThreads = 256;    // threads per block, as bounded in kernels.cc
constexpr int kBlocksPerMultiprocessor = 8;
constexpr char kLibrary[] = "libweir_train_cuda.so";

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Result<Library> kernel_library() {
  if (const char* const given = std::getenv("WEIR_TRAIN_KERNELS"); given != nullptr)
    return Library::open({given});
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return Library::open({folder / ".." / "lib" / kLibrary, folder / kLibrary, kLibrary});
}

}  // namespace

Result<int> Gpu::count() {
  const Result<Driver> driver = Driver::load();
  WEIR_TRY(driver.status());
  int count = 0;
  WEIR_TRY(driver->checked(driver->device_count(&count), "counting GPUs"));
  return count;
}

Result<std::unique_ptr<Gpu>> Gpu::open(int index) {
  const Result<Driver> driver = Driver::load();
  WEIR_TRY(driver.status());
  char name[128] = {};
  const std::string what = fmt::format("using GPU {}", index);
  WEIR_TRY(driver->checked(driver->device_name(name, sizeof(name), index), what));
  std::unique_ptr<Gpu> gpu(new Gpu(*driver, fmt::format("GPU {} ({})", index, name)));
  WEIR_TRY(driver->checked(driver->device_attribute(&gpu->multiprocessors_, kMultiprocessors, index), what));
  void* context = nullptr;
  WEIR_TRY(driver->checked(driver->context_retain(&context, index), what));
  WEIR_TRY(driver->checked(driver->context_set(context), what));
  WEIR_TRY(gpu->load_kernel());
  return gpu;
}

Status Gpu::load_kernel() {
  const Result<Library> library = kernel_library();
  if (!library.ok())
    return Status(Code::system_error,
                  fmt::format("no kernels for {}: {}", description_, library.status().message()));
  const void* const image = library->address("weir_gpu_image");
  if (image == nullptr)
    return Status(Code::system_error, fmt::format("no kernels for {}: {} does not define weir_gpu_image",
                                                  description_, kLibrary));
  void* module = nullptr;
  WEIR_TRY(driver_.checked(driver_.module_load(&module, image), "loading kernels on " + description_));
  return driver_.checked(driver_.module_function(&kernel_, module, "weir_train_rows"),
                         "finding weir_train_rows");
}

Result<size_t> Gpu::available() const {
  size_t left = 0;
  size_t all = 0;
  WEIR_TRY(driver_.checked(driver_.memory_info(&left, &all), "querying the memory of " + description_));
  return left;
}

Result<void*> Gpu::allocate(size_t bytes) {
  Address address = 0;
  const size_t whole = std::max<size_t>(bytes, 1);
  const std::string what = fmt::format("allocating {} bytes on {}", bytes, description_);
  WEIR_TRY(driver_.checked(driver_.allocate(&address, whole), what));
  void* const memory = reinterpret_cast<void*>(address);
  Status status = driver_.checked(driver_.fill(address, 0, whole, nullptr), what);
  // Other streams do not wait for work on the default stream, so it is finished here.
  if (status.ok()) status = driver_.checked(driver_.stream_synchronize(nullptr), what);
  if (status.ok()) return memory;
  free(memory);
  return status;
}

void Gpu::free(void* memory) { (void)driver_.free(address_of(memory)); }

Status Gpu::copy(void* to, const void* from, size_t bytes, Stream stream) {
  if (bytes == 0) return {};
  return driver_.checked(driver_.copy(address_of(to), address_of(from), bytes, stream), "copying");
}

Status Gpu::clear(void* memory, size_t bytes, Stream stream) {
  if (bytes == 0) return {};
  return driver_.checked(driver_.fill(address_of(memory), 0, bytes, stream), "clearing memory");
}

Result<Stream> Gpu::make_stream() {
  Stream stream = nullptr;
  WEIR_TRY(driver_.checked(driver_.stream_create(&stream, kNonBlocking), "creating a stream"));
  return stream;
}

void Gpu::destroy(Stream stream) {
  (void)driver_.stream_synchronize(stream);
  (void)driver_.stream_destroy(stream);
}

Status Gpu::synchronize(Stream stream) {
  return driver_.checked(driver_.stream_synchronize(stream), "waiting for " + description_);
}

Result<Event> Gpu::make_event() {
  Event event = nullptr;
  WEIR_TRY(driver_.checked(driver_.event_create(&event, 0), "creating an event"));
  return event;
}

void Gpu::destroy_event(Event event) { (void)driver_.event_destroy(event); }

Status Gpu::record(Event event, Stream stream) {
  return driver_.checked(driver_.event_record(event, stream), "recording an event");
}

Status Gpu::synchronize_event(Event event) {
  return driver_.checked(driver_.event_synchronize(event), "waiting for " + description_);
}

Result<float> Gpu::elapsed(Event begin, Event end) {
  float milliseconds = 0;
  WEIR_TRY(driver_.checked(driver_.event_elapsed(&milliseconds, begin, end), "measuring time"));
  return milliseconds;
}

Status Gpu::launch(const RowLaunch& launch, Index items, Stream stream) {
  const Index teams = kThreads / kLanes;
  const Index most = static_cast<Index>(multiprocessors_) * kBlocksPerMultiprocessor;
  const auto blocks = static_cast<unsigned>(std::clamp<Index>((items + teams - 1) / teams, 1, most));
  RowLaunch argument = launch;
  void* arguments[] = {&argument};
  return driver_.checked(driver_.launch(kernel_, blocks, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr),
                         "launching a kernel on " + description_);
}

}  // namespace weir::trainer::gpu
