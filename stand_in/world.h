// SPDX-License-Identifier: Apache-2.0
/// A behaving stand-in of a GPU driver: what libcuda.so.1, libamdhip64.so.6 and libcudart.so.13 of
/// tests/fakes do behind their names. No GPU, no vendor code: memory lies in memfds, streams are threads,
/// graphs are lists.
///
/// What it is strict about: memory of a GPU faults when the host touches it (unless a kernel runs at that
/// moment); calls that a capture forbids fail as the real ones do and spoil the capture; the legacy default
/// stream waits for all blocking streams and they for it; freeing waits for the GPU.
///
/// Environment, read when a call comes:
///   WEIR_FAKE_GPUS=n             GPUs there are (2)
///   CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES=list   those that the process sees
///                                (device_list.h)
///   WEIR_FAKE_GPU_MIG=n          MIG instances that each of NVIDIA's GPUs is divided into (1: it is not)
///   WEIR_FAKE_GPU_BYTES=n        memory of each (4 GiB); an instance has its share
///   WEIR_FAKE_GPU_QUEUES=n       hardware queues of each in a process, dealt to streams as they are made
///                                (one for each stream)
///   WEIR_FAKE_GPU_VERSION=n      version of CUDA that the driver reports: 13000 is 13.0
///   WEIR_FAKE_GPU_PENDING=n      operations that may be pending in a stream, or in a hardware queue: a call
///                                that would add one more blocks (1,024)
///   WEIR_FAKE_GPU_MULTIPROCESSORS=n   multiprocessors of each GPU (8), read at its first kernel
///   WEIR_FAKE_GPU_REGISTERS=n    registers that a thread of a kernel needs (32)
///   WEIR_FAKE_GPU_KERNELS=path   the library in which kernels are looked up (modules.h)
///   WEIR_FAKE_GPU_FAULTS=words   a list with commas. alloc=n: the n-th allocation from then on fails;
///                                launch=n, copy=n: likewise; fault=n: the n-th copy or launch breaks the
///                                GPU; init; peer; ipc; vmm; uncached, finegrained: there is no such memory
///
/// Errors are CUDA's numbers, which are HIP's as well. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fake {

enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kPeerUnsupported = 217,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kPeerAlready = 704,
  kAlreadyPinned = 712,
  kNotPinned = 713,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kUnknown = 999,
};

const char* error_name(int code);
const char* error_text(int code);

constexpr int kMostGpus = 64;

struct Stream;

/// What the process knows of the driver; one mutex over everything. Never destroyed: threads outlive main().
struct World {
  std::mutex mutex;
  std::condition_variable changed;  ///< something ended
  int64_t process = 0;              ///< that has started the driver; 0: none, and none of its children has
  int sticky[kMostGpus] = {};       ///< the error that a broken GPU answers everything with
  bool peers[kMostGpus][kMostGpus] = {};
  std::shared_ptr<Stream> legacy[kMostGpus];
  std::map<Stream*, std::shared_ptr<Stream>> streams;

  static World& get();
};

/// Of the GPUs that the process sees.
int gpu_count();
/// The number among the machine's devices (device_list.h) of the one that the process sees as `gpu`.
/// REQUIRES: 0 <= gpu < gpu_count().
int machine_device(int gpu);
/// Writes the PCI address of its GPU, as nvidia-smi has it. REQUIRES: as machine_device().
void write_address(int gpu, char* text, int bytes);
/// Memory of each device that the process sees.
size_t gpu_bytes();
/// Whether the word stands in WEIR_FAKE_GPU_FAULTS.
bool fault_is_set(const char* word);
/// Counts one more `word`; true where it is the one that fails.
bool fault_strikes(const char* word);

/// The GPU that the thread has current; -1: none chosen.
int current_gpu();
void set_current_gpu(int gpu);

/// Success, or why the GPU answers nothing: not started, no such GPU, broken.
int usable(int gpu);

}  // namespace fake
