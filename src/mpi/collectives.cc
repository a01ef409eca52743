// SPDX-License-Identifier: Apache-2.0
// Collectives: MPIABI_Barrier, MPIABI_Allreduce and the others.

#include <algorithm>
#include <string>

#include "src/mpi/abi.h"
#include "src/mpi/error.h"
#include "src/mpi/process.h"
#include "src/mpi/reductions.h"

namespace weir::mpi {
namespace {

int check_count(int count) {
  if (count >= 0) return MPIABI_SUCCESS;
  return fail(MPIABI_ERR_COUNT, "the count is " + std::to_string(count) + "; expected 0 or more");
}

int unknown_type(const char* expected) {
  return fail(MPIABI_ERR_TYPE, std::string("the data type is not supported here; expected ") + expected);
}

/// Calls body(MpiReduction) with the communicator's ranks, type and operator.
template <typename Body>
int reduce(MPIABI_Comm comm, MPIABI_Datatype type, MPIABI_Op op, int count, const Body& body) {
  int code = MPIABI_SUCCESS;
  const std::shared_ptr<MpiCommunicator> found = find(comm, &code);
  if (!found) return code;
  const std::optional<MpiType> known_type = find_type(type);
  const std::optional<ncclRedOp_t> known_op = find_operator(op);
  return guarded([&] {
    return found->call([&](ncclComm_t own) {
      if (const int wrong = check_count(count)) return wrong;
      if (!known_type || known_type->arithmetic == Arithmetic::none)
        return unknown_type("an integer of 8 to 64 bits, float, double, or a complex number of two of these");
      if (!known_op)
        return fail(MPIABI_ERR_OP,
                    "the operator is not supported; expected MPI_SUM, MPI_PROD, MPI_MIN or MPI_MAX");
      return body(MpiReduction{own, found->rank(), found->size(), *known_type, *known_op});
    });
  });
}

int scatter(const void* send, void* receive, int count, const MpiReduction& reduction) {
  if (send == MPIABI_IN_PLACE)
    return fail(MPIABI_ERR_BUFFER,
                "MPI_IN_PLACE is not supported by MPI_Reduce_scatter; expected two buffers");
  return reduce_scatter(reduction, send, receive, static_cast<std::size_t>(count));
}

int gather(const void* send, void* receive, int count, const MpiType& type, MpiCommunicator& communicator) {
  const std::size_t bytes = static_cast<std::size_t>(count) * type.bytes;
  const void* const own = send == MPIABI_IN_PLACE ? static_cast<char*>(receive) +
                                                        bytes * static_cast<std::size_t>(communicator.rank())
                                                  : send;
  return communicator.call([&](ncclComm_t comm) {
    if (const int wrong = check_count(count)) return wrong;
    return checked(ncclAllGather(own, receive, bytes, ncclInt8, comm, nullptr));
  });
}

}  // namespace
}  // namespace weir::mpi

using weir::mpi::MpiReduction;

int MPIABI_Barrier(MPIABI_Comm comm) {
  int code = MPIABI_SUCCESS;
  const auto found = weir::mpi::find(comm, &code);
  if (!found) return code;
  return weir::mpi::guarded([&] {
    return found->call([](ncclComm_t own) {
      char mine = 0, sum = 0;
      return weir::mpi::checked(ncclAllReduce(&mine, &sum, 1, ncclInt8, ncclSum, own, nullptr));
    });
  });
}

int MPIABI_Allreduce(const void* send, void* receive, int count, MPIABI_Datatype type, MPIABI_Op op,
                     MPIABI_Comm comm) {
  return weir::mpi::reduce(comm, type, op, count, [&](const MpiReduction& reduction) {
    const void* const own = send == MPIABI_IN_PLACE ? receive : send;
    return weir::mpi::all_reduce(reduction, own, receive, static_cast<std::size_t>(count));
  });
}

int MPIABI_Allgather(const void* send, int send_count, MPIABI_Datatype send_type, void* receive,
                     int receive_count, MPIABI_Datatype receive_type, MPIABI_Comm comm) {
  int code = MPIABI_SUCCESS;
  const auto found = weir::mpi::find(comm, &code);
  if (!found) return code;
  const auto type = weir::mpi::find_type(receive_type);
  if (!type) return weir::mpi::unknown_type("a type of numbers or bytes");
  const bool is_same = send == MPIABI_IN_PLACE || (send_count == receive_count && send_type == receive_type);
  if (!is_same)
    return weir::mpi::fail(MPIABI_ERR_ARG,
                           "MPI_Allgather sends and receives other counts or types; expected the same");
  return weir::mpi::guarded([&] { return weir::mpi::gather(send, receive, receive_count, *type, *found); });
}

int MPIABI_Reduce_scatter(const void* send, void* receive, const int counts[], MPIABI_Datatype type,
                          MPIABI_Op op, MPIABI_Comm comm) {
  if (counts == nullptr)
    return weir::mpi::fail(MPIABI_ERR_COUNT, "the counts of MPI_Reduce_scatter are null");
  return weir::mpi::reduce(comm, type, op, counts[0], [&](const MpiReduction& reduction) {
    const int* const end = counts + reduction.size;
    const int* const other = std::find_if(counts, end, [&](int count) { return count != counts[0]; });
    if (other != end)
      return weir::mpi::fail(MPIABI_ERR_COUNT, "the counts of MPI_Reduce_scatter are " +
                                                   std::to_string(counts[0]) + " and " +
                                                   std::to_string(*other) + "; expected equal ones");
    return weir::mpi::scatter(send, receive, counts[0], reduction);
  });
}

int MPIABI_Reduce_scatter_block(const void* send, void* receive, int count, MPIABI_Datatype type,
                                MPIABI_Op op, MPIABI_Comm comm) {
  return weir::mpi::reduce(comm, type, op, count, [&](const MpiReduction& reduction) {
    return weir::mpi::scatter(send, receive, count, reduction);
  });
}
