// SPDX-License-Identifier: Apache-2.0
/// One of NVIDIA's GPUs, for training: memory, streams, events, and the kernel of row operations.
///
/// Used by the thread that opened it, on which it stays current: communicators that this thread makes are on
/// this GPU. Errors: system_error with the driver's words.
#pragma once

#include <memory>
#include <string>

#include "trainer/math/gpu/driver.h"
#include "trainer/math/gpu/launch.h"

namespace weir::trainer::gpu {

using Stream = void*;
using Event = void*;

class Gpu {
 public:
  /// How many the process may see. An error where there is no driver.
  static Result<int> count();
  /// Loads the kernel from the library that WEIR_TRAIN_KERNELS names, else from libweir_train_cuda.so beside
  /// the program or in lib beside its folder. Errors also name what of that is missing.
  static Result<std::unique_ptr<Gpu>> open(int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// "GPU 0 (NVIDIA H200)"
  const std::string& description() const { return description_; }

  /// Bytes that programs may still have.
  Result<size_t> available() const;
  /// Memory of the GPU, zeroed.
  Result<void*> allocate(size_t bytes);
  void free(void* memory);
  /// Between any kinds of memory, in the order of the stream.
  Status copy(void* to, const void* from, size_t bytes, Stream stream);
  Status clear(void* memory, size_t bytes, Stream stream);

  /// Streams do not wait for the default stream.
  Result<Stream> make_stream();
  void destroy(Stream stream);
  Status synchronize(Stream stream);

  Result<Event> make_event();
  void destroy_event(Event event);
  Status record(Event event, Stream stream);
  Status synchronize_event(Event event);
  /// Milliseconds between events that were reached.
  Result<float> elapsed(Event begin, Event end);

  /// The kernel, for so many items, as many of which run at a time as the GPU likes.
  Status launch(const RowLaunch& launch, Index items, Stream stream);

 private:
  Gpu(Driver driver, std::string description) : driver_(driver), description_(std::move(description)) {}
  Status load_kernel();

  Driver driver_;
  std::string description_;
  int multiprocessors_ = 1;
  void* kernel_ = nullptr;
};

}  // namespace weir::trainer::gpu
