// SPDX-License-Identifier: Apache-2.0
/// An NVIDIA GPU used for training: memory, streams, events, and the kernel of row operations.
///
/// Used by the thread that opened it, on which it stays current: communicators that this thread makes are on
/// this GPU. Errors: system_error with the driver's message.
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
  /// Number of GPUs that the process can see. An error if there is no driver.
  static Result<int> count();
  /// Loads the kernel from the library that WEIR_TRAIN_KERNELS names, else from libweir_train_cuda.so beside
  /// the program or in the lib folder beside the program's folder. Errors also name what is missing.
  static Result<std::unique_ptr<Gpu>> open(int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// The description, such as "GPU 0 (NVIDIA H200)".
  const std::string& description() const { return description_; }

  /// Bytes of free GPU memory.
  Result<size_t> available() const;
  /// Allocates zeroed GPU memory.
  Result<void*> allocate(size_t bytes);
  void free(void* memory);
  /// Copies between any kinds of memory, in stream order.
  Status copy(void* to, const void* from, size_t bytes, Stream stream);
  Status clear(void* memory, size_t bytes, Stream stream);

  /// Creates a stream that does not wait for the default stream.
  Result<Stream> make_stream();
  void destroy(Stream stream);
  Status synchronize(Stream stream);

  Result<Event> make_event();
  void destroy_event(Event event);
  Status record(Event event, Stream stream);
  Status synchronize_event(Event event);
  /// Milliseconds between two events that have completed.
  Result<float> elapsed(Event begin, Event end);

  /// Launches the kernel for `items` items; the GPU decides how many run at a time.
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
