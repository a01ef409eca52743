// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks: MPIABI_Isend, MPIABI_Irecv and the others.

#include <string>

#include "src/mpi/abi.h"
#include "src/mpi/error.h"
#include "src/mpi/process.h"
#include "src/mpi/types.h"

namespace weir::mpi {
namespace {

struct Request {
  std::shared_ptr<MpiCommunicator> communicator;
  std::shared_ptr<Batch> batch;
};

Handles<Request>& requests() {
  static auto* const only = new Handles<Request>;  // as process() in process.cc
  return *only;
}

/// One half of a message as MPI describes it.
struct Half {
  bool is_sent;
  void* buffer;
  int count;
  MPIABI_Datatype type;
  int peer;
  int tag;
};

/// Why the half is not supported, as an error.
int check(const Half& half) {
  if (half.count < 0)
    return fail(MPIABI_ERR_COUNT,
                "the count of a message is " + std::to_string(half.count) + "; expected 0 or more");
  if (!find_type(half.type))
    return fail(MPIABI_ERR_TYPE, "the data type of a message is not supported; expected numbers or bytes");
  if (half.tag != 0 && (half.is_sent || half.tag != MPIABI_ANY_TAG))
    return fail(MPIABI_ERR_TAG, "the tag of a message is " + std::to_string(half.tag) +
                                    "; expected 0, as messages are not told apart by tags");
  if (half.peer == MPIABI_ANY_SOURCE)
    return fail(MPIABI_ERR_RANK, "MPI_ANY_SOURCE is not supported; expected the rank of the sender");
  return MPIABI_SUCCESS;
}

std::shared_ptr<Batch> post(MpiCommunicator& communicator, const Half& half, int* code) {
  *code = communicator.call([&](ncclComm_t) { return check(half); });
  if (*code != MPIABI_SUCCESS) return nullptr;
  const std::size_t bytes = static_cast<std::size_t>(half.count) * find_type(half.type)->bytes;
  return communicator.post({half.is_sent, half.buffer, bytes, half.peer}, code);
}

int begin(MPIABI_Comm comm, const Half& half, MPIABI_Request* request) {
  if (request == nullptr) return fail(MPIABI_ERR_REQUEST, "the pointer for the request is null");
  *request = MPIABI_REQUEST_NULL;
  int code = MPIABI_SUCCESS;
  std::shared_ptr<MpiCommunicator> found = find(comm, &code);
  if (!found) return code;
  return guarded([&] {
    std::shared_ptr<Batch> batch = post(*found, half, &code);
    if (batch)
      *request = requests().add(std::make_shared<Request>(Request{std::move(found), std::move(batch)}));
    return code;
  });
}

int exchange(MPIABI_Comm comm, const Half& sent, const Half& received) {
  int code = MPIABI_SUCCESS;
  const std::shared_ptr<MpiCommunicator> found = find(comm, &code);
  if (!found) return code;
  return guarded([&] {
    std::shared_ptr<Batch> batch = post(*found, sent, &code);
    if (batch) batch = post(*found, received, &code);
    return batch ? found->wait(*batch) : code;
  });
}

int wait(MPIABI_Request* request) {
  if (request == nullptr) return fail(MPIABI_ERR_REQUEST, "the pointer to the request is null");
  if (*request == MPIABI_REQUEST_NULL) return MPIABI_SUCCESS;
  return guarded([&] {
    const std::shared_ptr<Request> taken = requests().take(*request);
    if (!taken)
      return fail(MPIABI_ERR_REQUEST, "the request is none of MPI_Isend or MPI_Irecv, or was waited for");
    *request = MPIABI_REQUEST_NULL;
    return taken->communicator->wait(*taken->batch);
  });
}

void* mutable_of(const void* buffer) { return const_cast<void*>(buffer); }

}  // namespace
}  // namespace weir::mpi

int MPIABI_Isend(const void* buffer, int count, MPIABI_Datatype type, int to, int tag, MPIABI_Comm comm,
                 MPIABI_Request* request) {
  return weir::mpi::begin(comm, {true, weir::mpi::mutable_of(buffer), count, type, to, tag}, request);
}

int MPIABI_Irecv(void* buffer, int count, MPIABI_Datatype type, int from, int tag, MPIABI_Comm comm,
                 MPIABI_Request* request) {
  return weir::mpi::begin(comm, {false, buffer, count, type, from, tag}, request);
}

int MPIABI_Sendrecv(const void* send, int send_count, MPIABI_Datatype send_type, int to, int send_tag,
                    void* receive, int receive_count, MPIABI_Datatype receive_type, int from, int receive_tag,
                    MPIABI_Comm comm, MPIABI_Status* /*status*/) {
  return weir::mpi::exchange(comm, {true, weir::mpi::mutable_of(send), send_count, send_type, to, send_tag},
                             {false, receive, receive_count, receive_type, from, receive_tag});
}

int MPIABI_Wait(MPIABI_Request* request, MPIABI_Status* /*status*/) { return weir::mpi::wait(request); }

int MPIABI_Waitall(int count, MPIABI_Request requests[], MPIABI_Status* /*statuses*/) {
  int first = MPIABI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const int code = weir::mpi::wait(&requests[i]);
    if (first == MPIABI_SUCCESS) first = code;
  }
  return first;
}
