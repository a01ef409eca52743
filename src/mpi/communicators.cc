// SPDX-License-Identifier: Apache-2.0
// Communicators: MPIABI_Comm_...

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/mpi/abi.h"
#include "src/mpi/error.h"
#include "src/mpi/process.h"

namespace weir::mpi {
namespace {

struct Member {
  int color = 0;
  int key = 0;
  int program = 0;
};

/// Waits until all ranks split the communicator, and returns what each wants. They may come late, as each
/// compiles its program first: unlike weir's set-up of a communicator, a collective allows for that.
int meet(ncclComm_t comm, const Member& own, std::vector<Member>* all) {
  constexpr std::size_t kNumbers = sizeof(Member) / sizeof(int);
  const int code = checked(ncclAllGather(&own, all->data(), kNumbers, ncclInt32, comm, nullptr));
  if (code == MPIABI_SUCCESS) return code;
  return fail(code,
              "MPI_Comm_split waits for all " + std::to_string(all->size()) +
                  " ranks: each process has to run every program with collectives, in the same order; " +
                  sentence_of(code));
}

/// jaxlib's color is the first of the devices that communicate, and its key is the place among them. All
/// ranks come to the same result, so that none waits for one that does not go on.
int check_members(std::vector<Member> all) {
  std::sort(all.begin(), all.end(), [](const Member& a, const Member& b) {
    return a.color != b.color ? a.color < b.color : a.key < b.key;
  });
  constexpr const char* kWrong = "the processes do not run the same program: ";
  constexpr const char* kExpected =
      "; each process has to run every program with collectives, in the same order, and to have one device";
  int place = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_first = i == 0 || all[i].color != all[i - 1].color;
    place = is_first ? 0 : place + 1;
    if (all[i].color == MPIABI_UNDEFINED) continue;
    const std::string device = "device " + std::to_string(all[i].color) + " as the first one";
    if (all[i].key != place)
      return fail(MPIABI_ERR_OTHER, kWrong + ("one wants to be number " + std::to_string(all[i].key)) +
                                        " of those that communicate with " + device + ", but none number " +
                                        std::to_string(place) + kExpected);
    if (!is_first && all[i].program != all[i - 1].program)
      return fail(MPIABI_ERR_OTHER, kWrong + ("numbers " + std::to_string(place - 1)) + " and " +
                                        std::to_string(place) + " of those that communicate with " + device +
                                        " run programs for different devices" + kExpected);
  }
  return MPIABI_SUCCESS;
}

int split_of(ncclComm_t comm, const Member& own, std::shared_ptr<MpiCommunicator>* made) {
  ncclComm_t part = nullptr;
  const bool is_member = own.color != MPIABI_UNDEFINED;
  int code =
      checked(ncclCommSplit(comm, is_member ? own.color : NCCL_SPLIT_NOCOLOR, own.key, &part, nullptr));
  if (code != MPIABI_SUCCESS || !is_member) return code;
  int rank = 0, size = 1;
  code = checked(ncclCommUserRank(part, &rank));
  if (code == MPIABI_SUCCESS) code = checked(ncclCommCount(part, &size));
  *made = std::make_shared<MpiCommunicator>(part, rank, size);
  return code;
}

int split(MPIABI_Comm handle, const Member& own, MPIABI_Comm* out) {
  const bool is_jax = take_jax();
  *out = MPIABI_COMM_NULL;
  int code = MPIABI_SUCCESS;
  const std::shared_ptr<MpiCommunicator> parent = find(handle, &code);
  if (!parent) return fail_aloud(code, sentence_of(code));
  std::shared_ptr<MpiCommunicator> made;
  code = parent->call([&](ncclComm_t comm) {
    if (own.color < 0 && own.color != MPIABI_UNDEFINED)
      return fail(MPIABI_ERR_ARG, "the color of MPI_Comm_split is " + std::to_string(own.color) +
                                      "; expected 0 or more, or MPI_UNDEFINED");
    std::vector<Member> all(static_cast<std::size_t>(parent->size()));
    int met = meet(comm, own, &all);
    if (met == MPIABI_SUCCESS && is_jax) met = check_members(std::move(all));
    return met == MPIABI_SUCCESS ? split_of(comm, own, &made) : met;
  });
  if (code != MPIABI_SUCCESS) {
    made = std::make_shared<MpiCommunicator>(code, sentence_of(code), 0, 1);
    fail_aloud(code, sentence_of(code));
  }
  if (made) *out = split_communicators().add(made);
  return code;
}

int describe(MPIABI_Comm handle, int* out, int (MpiCommunicator::*what)() const) {
  int code = MPIABI_SUCCESS;
  const std::shared_ptr<MpiCommunicator> found = find(handle, &code);
  if (found && out == nullptr) return fail(MPIABI_ERR_ARG, "the pointer for the result is null");
  if (found) *out = (*found.*what)();
  return code;
}

int free_communicator(MPIABI_Comm* comm) {
  if (comm == nullptr || *comm == MPIABI_COMM_WORLD)
    return fail(MPIABI_ERR_COMM, "MPI_Comm_free was called without a communicator of MPI_Comm_split");
  // jaxlib frees its communicators when the process ends, which may be after MPI_Finalize.
  const bool is_known = split_communicators().take(*comm) != nullptr;
  *comm = MPIABI_COMM_NULL;
  if (is_known || stage() == Stage::ended) return MPIABI_SUCCESS;
  return fail(MPIABI_ERR_COMM, "MPI_Comm_free was called for a communicator that is not there");
}

}  // namespace
}  // namespace weir::mpi

using weir::mpi::MpiCommunicator;

int MPIABI_Comm_rank(MPIABI_Comm comm, int* rank) {
  return weir::mpi::describe(comm, rank, &MpiCommunicator::rank);
}

int MPIABI_Comm_size(MPIABI_Comm comm, int* size) {
  return weir::mpi::describe(comm, size, &MpiCommunicator::size);
}

int MPIABI_Comm_split(MPIABI_Comm comm, int color, int key, MPIABI_Comm* split) {
  return weir::mpi::guarded([&] {
    if (split == nullptr)
      return weir::mpi::fail_aloud(MPIABI_ERR_ARG, "the pointer for the new communicator is null");
    return weir::mpi::split(comm, {color, key, weir::mpi::program()}, split);
  });
}

int MPIABI_Comm_free(MPIABI_Comm* comm) {
  return weir::mpi::guarded([&] { return weir::mpi::free_communicator(comm); });
}
