// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/calls.h"

#include <fmt/format.h>

#include "trainer/math/gpu/gpu_ops.h"

namespace weir::shard {

Status checked(int result, std::string_view what) {
  if (result == ncclSuccess) return Status();
  const char* sentence = ncclGetLastError(nullptr);
  if (sentence == nullptr || *sentence == 0) sentence = ncclGetErrorString(static_cast<ncclResult_t>(result));
  return Status(static_cast<Code>(result), fmt::format("{}: {}", what, sentence));
}

Result<Stream> Stream::make(GpuOps* gpu) {
  if (gpu != nullptr) {
    Result<void*> made = gpu->gpu().make_stream();
    WEIR_TRY(made.status());
    return Stream(gpu, static_cast<weirStream_t>(*made));
  }
  weirStream_t stream = nullptr;
  WEIR_TRY(checked(weirStreamCreate(&stream), "creating a stream"));
  return Stream(nullptr, stream);
}

Stream::~Stream() {
  if (stream_ == nullptr) return;
  if (gpu_ != nullptr)
    gpu_->gpu().destroy(stream_);
  else
    (void)weirStreamDestroy(stream_);
}

Status Stream::status(std::string_view what) const {
  if (gpu_ != nullptr) return gpu_->status();
  const int state = weirStreamQuery(stream_);
  return state == ncclInProgress ? Status() : checked(state, what);
}

Result<Event> Event::make(GpuOps* gpu) {
  if (gpu != nullptr) {
    Result<void*> made = gpu->gpu().make_event();
    WEIR_TRY(made.status());
    return Event(gpu, static_cast<weirEvent_t>(*made));
  }
  weirEvent_t event = nullptr;
  WEIR_TRY(checked(weirEventCreate(&event), "creating an event"));
  return Event(nullptr, event);
}

Event::~Event() {
  if (event_ == nullptr) return;
  if (gpu_ != nullptr)
    gpu_->gpu().destroy_event(event_);
  else
    (void)weirEventDestroy(event_);
}

Status Event::record(const Stream& stream) {
  if (gpu_ != nullptr) return gpu_->gpu().record(event_, stream.cuda());
  return checked(weirEventRecord(event_, stream.handle()), "event");
}

/// Never uses the GPU's default stream, because the program's other streams do not wait for it.
Status Event::record_now() {
  if (gpu_ == nullptr) return checked(weirEventRecord(event_, nullptr), "event");
  WEIR_TRY(gpu_->gpu().record(event_, nullptr));
  return gpu_->gpu().synchronize_event(event_);
}

Status Event::synchronize(std::string_view what) const {
  if (gpu_ != nullptr) return gpu_->gpu().synchronize_event(event_);
  return checked(weirEventSynchronize(event_), what);
}

Result<float> Event::elapsed(const Event& begin, const Event& end, std::string_view what) {
  if (begin.gpu_ != nullptr) return begin.gpu_->gpu().elapsed(begin.event_, end.event_);
  float milliseconds = 0;
  WEIR_TRY(checked(weirEventElapsedTime(&milliseconds, begin.event_, end.event_), what));
  return milliseconds;
}

Result<Communicator> Communicator::split(ncclComm_t parent, int color, int key, const char* name) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = name;
  ncclComm_t comm = nullptr;
  WEIR_TRY(checked(ncclCommSplit(parent, color, key, &comm, &config), name));
  return Communicator(comm);
}

Communicator::~Communicator() {
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
}

void Communicator::abort() {
  if (comm_ != nullptr) (void)ncclCommAbort(std::exchange(comm_, nullptr));
}

Status Communicator::status(std::string_view what) const {
  if (comm_ == nullptr) return Status();
  ncclResult_t error = ncclSuccess;
  WEIR_TRY(checked(ncclCommGetAsyncError(comm_, &error), what));
  return error == ncclInProgress ? Status() : checked(error, what);
}

Result<GrainSum> GrainSum::make(ncclComm_t comm, size_t elements,
                                const std::vector<weirElementRange_t>& pieces) {
  weirGrainSum_t sum = nullptr;
  WEIR_TRY(checked(weirGrainSumCreate(&sum, comm, elements, pieces.data()), "canonical reductions"));
  return GrainSum(sum);
}

GrainSum::~GrainSum() {
  if (sum_ != nullptr) (void)weirGrainSumDestroy(sum_);
}

Result<Memory> Memory::allocate(size_t bytes, GpuOps* gpu) {
  if (gpu != nullptr) {
    Result<void*> made = gpu->gpu().allocate(bytes);
    WEIR_TRY(made.status());
    return Memory(gpu, *made, bytes);
  }
  void* data = nullptr;
  WEIR_TRY(checked(ncclMemAlloc(&data, bytes), fmt::format("allocating {} bytes", bytes)));
  return Memory(nullptr, data, bytes);
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (gpu_ != nullptr)
    gpu_->gpu().free(data_);
  else
    (void)ncclMemFree(data_);
}

}  // namespace weir::shard
