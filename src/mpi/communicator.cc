// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/communicator.h"

#include <utility>

namespace weir::mpi {

MpiCommunicator::MpiCommunicator(ncclComm_t comm, int rank, int size)
    : rank_(rank), size_(size), comm_(comm) {}

MpiCommunicator::MpiCommunicator(int code, std::string sentence, int rank, int size)
    : rank_(rank), size_(size), code_(code), sentence_(std::move(sentence)) {}

MpiCommunicator::~MpiCommunicator() {
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
}

std::shared_ptr<Batch> MpiCommunicator::post(const MpiMessage& message, int* code) {
  std::shared_ptr<Batch> batch;
  *code = call([&](ncclComm_t) {
    if (message.peer < 0 || message.peer >= size_)
      return fail(MPIABI_ERR_RANK, "the rank of a message is " + std::to_string(message.peer) +
                                       "; expected 0 to " + std::to_string(size_ - 1));
    if (!posted_) posted_ = std::make_shared<Batch>();
    posted_->messages.push_back(message);
    batch = posted_;
    return MPIABI_SUCCESS;
  });
  return batch;
}

int MpiCommunicator::wait(Batch& batch) {
  const std::lock_guard lock(mutex_);
  if (!batch.is_done) {
    const std::shared_ptr<Batch> posted = std::exchange(posted_, nullptr);  // it is `batch`
    batch.code = exchange(batch);
    batch.is_done = true;
    if (batch.code != MPIABI_SUCCESS) batch.sentence = sentence_of(batch.code);
    return batch.code;
  }
  return batch.code == MPIABI_SUCCESS ? batch.code : fail(batch.code, batch.sentence);
}

int MpiCommunicator::exchange(const Batch& batch) const {
  ncclResult_t first = ncclGroupStart();
  for (const MpiMessage& message : batch.messages) {
    if (first != ncclSuccess) break;
    first = message.is_sent ? ncclSend(message.buffer, message.bytes, ncclInt8, message.peer, comm_, nullptr)
                            : ncclRecv(message.buffer, message.bytes, ncclInt8, message.peer, comm_, nullptr);
  }
  if (first != ncclSuccess) {
    const int code = checked(first);
    (void)ncclGroupEnd();
    return code;
  }
  return checked(ncclGroupEnd());
}

void MpiCommunicator::drop(int code) {
  const std::shared_ptr<Batch> posted = std::exchange(posted_, nullptr);
  if (!posted) return;
  posted->is_done = true;
  posted->code = code;
  posted->sentence = sentence_of(code);
}

}  // namespace weir::mpi
