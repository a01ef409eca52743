// SPDX-License-Identifier: Apache-2.0
// Begin and end, versions, errors and time: MPIABI_Init_thread and the others.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/mpi/abi.h"
#include "src/mpi/error.h"
#include "src/mpi/process.h"

namespace weir::mpi {
namespace {

// MPItrampoline's limits of texts, with the final zero.
constexpr std::size_t kErrorText = 1024;
constexpr std::size_t kVersionText = 8192;

void put(std::string text, std::size_t room, char* out, int* length) {
  text.resize(std::min(text.size(), room - 1));
  std::memcpy(out, text.c_str(), text.size() + 1);
  if (length != nullptr) *length = static_cast<int>(text.size());
}

}  // namespace
}  // namespace weir::mpi

using weir::mpi::Stage;
using weir::mpi::stage;

extern const int mpiabi_version_major = 2, mpiabi_version_minor = 10, mpiabi_version_patch = 0;
extern const int mpiwrapper_version_major = 2, mpiwrapper_version_minor = 11, mpiwrapper_version_patch = 0;

void mpiwrapper_export_fortran_constants_() {}

int MPIABI_Init(int* /*argc*/, char*** /*argv*/) {
  return weir::mpi::guarded([] { return weir::mpi::enter(); });
}

int MPIABI_Init_thread(int* argc, char*** argv, int /*required*/, int* provided) {
  if (provided != nullptr) *provided = MPIABI_THREAD_MULTIPLE;
  return MPIABI_Init(argc, argv);
}

int MPIABI_Initialized(int* flag) {
  *flag = stage() != Stage::before;
  return MPIABI_SUCCESS;
}

int MPIABI_Finalize() {
  return weir::mpi::guarded([] { return weir::mpi::leave(); });
}

int MPIABI_Finalized(int* flag) {
  *flag = stage() == Stage::ended;
  return MPIABI_SUCCESS;
}

int MPIABI_Query_thread(int* provided) {
  *provided = MPIABI_THREAD_MULTIPLE;
  return MPIABI_SUCCESS;
}

int MPIABI_Is_thread_main(int* flag) {
  *flag = weir::mpi::may_split();
  weir::mpi::note_jax();
  return MPIABI_SUCCESS;
}

int MPIABI_Pcontrol(int program) {
  weir::mpi::set_program(program);
  return MPIABI_SUCCESS;
}

int MPIABI_Abort(MPIABI_Comm /*comm*/, int code) {
  std::fprintf(stderr, "weir: the program has called MPI_Abort with code %d\n", code);
  std::_Exit(code);
}

int MPIABI_Get_version(int* version, int* subversion) {
  *version = 3;
  *subversion = 1;
  return MPIABI_SUCCESS;
}

int MPIABI_Get_library_version(char* text, int* length) {
  weir::mpi::put("libweir_mpi " WEIR_VERSION ", the calls of JAX over weir", weir::mpi::kVersionText, text,
                 length);
  return MPIABI_SUCCESS;
}

int MPIABI_Error_string(int code, char* text, int* length) {
  return weir::mpi::guarded([&] {
    weir::mpi::put("weir: " + weir::mpi::sentence_of(code), weir::mpi::kErrorText, text, length);
    return MPIABI_SUCCESS;
  });
}

int MPIABI_Error_class(int code, int* error_class) {
  *error_class = code;
  return MPIABI_SUCCESS;
}

double MPIABI_Wtime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double MPIABI_Wtick() { return 1e-9; }
