// SPDX-License-Identifier: Apache-2.0
/// What MPI knows of this process: whether it has joined its job, and its communicators.
///
/// Any thread may call all functions.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <memory>

#include "src/mpi/abi.h"
#include "src/mpi/communicator.h"
#include "src/mpi/handles.h"

namespace weir::mpi {

enum class Stage { before, member, ended };

Stage stage();

/// Joins the job, as join.h says. A second call is an error.
int enter();
/// Leaves the job.
int leave();

/// Whether this thread may split communicators for jaxlib (MPIABI_Is_thread_main).
bool may_split();
/// Notes that jaxlib's next call in this thread is MPIABI_Comm_split.
void note_jax();
/// Whether that was noted since the last question.
bool take_jax();

/// The number of the program that the process runs (MPIABI_Pcontrol).
void set_program(int program);
int program();

/// The communicator of a handle; null, with an error in `code`, if it is none.
std::shared_ptr<MpiCommunicator> find(MPIABI_Comm handle, int* code);

/// Those that MPIABI_Comm_split made.
Handles<MpiCommunicator>& split_communicators();

}  // namespace weir::mpi
