#include "trainer/shard/calls.h"

#include <fmt/format.h>

namespace weir::shard {

Status checked(int result, std::string_view what) {
  if (result == ncclSuccess) return Status();
  const char* sentence = ncclGetLastError(nullptr);
  if (sentence == nullptr || *sentence == 0) sentence = ncclGetErrorString(static_cast<ncclResult_t>(result));
  return Status(static_cast<Code>(result), fmt::format("{}: {}", what, sentence));
}

Result<Stream> Stream::make() {
  weirStream_t stream = nullptr;
  WEIR_TRY(checked(weirStreamCreate(&stream), "making a stream"));
  return Stream(stream);
}

Stream::~Stream() {
  if (stream_ != nullptr) (void)weirStreamDestroy(stream_);
}

Result<Event> Event::make() {
  weirEvent_t event = nullptr;
  WEIR_TRY(checked(weirEventCreate(&event), "making an event"));
  return Event(event);
}

Event::~Event() {
  if (event_ != nullptr) (void)weirEventDestroy(event_);
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

Result<Memory> Memory::allocate(size_t bytes) {
  void* data = nullptr;
  WEIR_TRY(checked(ncclMemAlloc(&data, bytes), fmt::format("allocating {} bytes", bytes)));
  return Memory(data, bytes);
}

Memory::~Memory() {
  if (data_ != nullptr) (void)ncclMemFree(data_);
}

}  // namespace weir::shard
