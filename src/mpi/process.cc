// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/process.h"

#include <mutex>
#include <thread>
#include <utility>

#include "src/mpi/join.h"

namespace weir::mpi {
namespace {

struct Process {
  std::mutex mutex;
  Stage stage = Stage::before;
  std::thread::id main;
  bool has_one_device = false;
  int program = 0;
  std::shared_ptr<MpiCommunicator> world;
  Handles<MpiCommunicator> split;
};

thread_local bool jax_splits = false;

/// Never destroyed: programs free communicators in destructors of their own static objects.
Process& process() {
  static auto* const only = new Process;
  return *only;
}

}  // namespace

Stage stage() {
  const std::lock_guard lock(process().mutex);
  return process().stage;
}

int enter() {
  const std::lock_guard lock(process().mutex);
  if (process().stage != Stage::before)
    return fail_aloud(MPIABI_ERR_OTHER, "MPI_Init was called again; expected one call in a process");
  WorldResult joined = join();
  process().world = std::move(joined.world);
  process().stage = Stage::member;
  process().main = std::this_thread::get_id();
  process().has_one_device = joined.by_weir_jax;
  return joined.code;
}

int leave() {
  std::shared_ptr<MpiCommunicator> world;
  {
    const std::lock_guard lock(process().mutex);
    if (process().stage != Stage::member)
      return fail(MPIABI_ERR_OTHER, "MPI_Finalize was called before MPI_Init or again");
    process().stage = Stage::ended;
    world = std::move(process().world);
  }
  process().split.take_all().clear();
  return MPIABI_SUCCESS;
}

bool may_split() {
  const std::lock_guard lock(process().mutex);
  return process().has_one_device || process().main == std::this_thread::get_id();
}

void note_jax() { jax_splits = true; }

bool take_jax() { return std::exchange(jax_splits, false); }

void set_program(int program) {
  const std::lock_guard lock(process().mutex);
  process().program = program;
}

int program() {
  const std::lock_guard lock(process().mutex);
  return process().program;
}

std::shared_ptr<MpiCommunicator> find(MPIABI_Comm handle, int* code) {
  std::shared_ptr<MpiCommunicator> found;
  if (handle == MPIABI_COMM_WORLD) {
    const std::lock_guard lock(process().mutex);
    found = process().world;
  } else {
    found = process().split.find(handle);
  }
  *code = MPIABI_SUCCESS;
  if (found) return found;
  const Stage now = stage();
  *code = fail(MPIABI_ERR_COMM, now == Stage::before ? "a call of MPI before MPI_Init"
                                : now == Stage::ended
                                    ? "a call of MPI after MPI_Finalize"
                                    : "the communicator is invalid; expected MPI_COMM_WORLD or one that "
                                      "MPI_Comm_split made and nobody freed");
  return nullptr;
}

Handles<MpiCommunicator>& split_communicators() { return process().split; }

}  // namespace weir::mpi
