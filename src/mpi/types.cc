// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/types.h"

#include <complex>

namespace weir::mpi {
namespace {

struct Row {
  const MPIABI_Datatype* handle;
  MpiType type;
};

constexpr MpiType moved(std::size_t bytes) { return {bytes, Arithmetic::none, ncclInt8}; }

constexpr MpiType integer(std::size_t bytes, bool has_sign) {
  switch (bytes) {
    case 1: return {1, Arithmetic::native, has_sign ? ncclInt8 : ncclUint8};
    case 2: return {2, Arithmetic::widened, has_sign ? ncclInt32 : ncclUint32};
    case 4: return {4, Arithmetic::native, has_sign ? ncclInt32 : ncclUint32};
    default: return {8, Arithmetic::native, has_sign ? ncclInt64 : ncclUint64};
  }
}

const Row kTypes[] = {
    {&MPIABI_FLOAT, {sizeof(float), Arithmetic::native, ncclFloat32}},
    {&MPIABI_DOUBLE, {sizeof(double), Arithmetic::native, ncclFloat64}},
    {&MPIABI_BYTE, moved(1)},
    {&MPIABI_INT8_T, integer(1, true)},
    {&MPIABI_INT16_T, integer(2, true)},
    {&MPIABI_INT32_T, integer(4, true)},
    {&MPIABI_INT64_T, integer(8, true)},
    {&MPIABI_UINT8_T, integer(1, false)},
    {&MPIABI_UINT16_T, integer(2, false)},
    {&MPIABI_UINT32_T, integer(4, false)},
    {&MPIABI_UINT64_T, integer(8, false)},
    {&MPIABI_C_COMPLEX, {sizeof(std::complex<float>), Arithmetic::complex, ncclFloat32}},
    {&MPIABI_C_FLOAT_COMPLEX, {sizeof(std::complex<float>), Arithmetic::complex, ncclFloat32}},
    {&MPIABI_C_DOUBLE_COMPLEX, {sizeof(std::complex<double>), Arithmetic::complex, ncclFloat64}},
    {&MPIABI_CHAR, moved(1)},
    {&MPIABI_C_BOOL, moved(1)},
    {&MPIABI_SIGNED_CHAR, integer(1, true)},
    {&MPIABI_UNSIGNED_CHAR, integer(1, false)},
    {&MPIABI_SHORT, integer(sizeof(short), true)},
    {&MPIABI_UNSIGNED_SHORT, integer(sizeof(short), false)},
    {&MPIABI_INT, integer(sizeof(int), true)},
    {&MPIABI_UNSIGNED, integer(sizeof(int), false)},
    {&MPIABI_LONG, integer(sizeof(long), true)},
    {&MPIABI_UNSIGNED_LONG, integer(sizeof(long), false)},
    {&MPIABI_LONG_LONG, integer(sizeof(long long), true)},
    {&MPIABI_LONG_LONG_INT, integer(sizeof(long long), true)},
    {&MPIABI_UNSIGNED_LONG_LONG, integer(sizeof(long long), false)},
};

}  // namespace

std::optional<MpiType> find_type(MPIABI_Datatype handle) {
  for (const Row& row : kTypes)
    if (*row.handle == handle) return row.type;
  return std::nullopt;
}

std::optional<ncclRedOp_t> find_operator(MPIABI_Op handle) {
  if (handle == MPIABI_SUM) return ncclSum;
  if (handle == MPIABI_PROD) return ncclProd;
  if (handle == MPIABI_MIN) return ncclMin;
  if (handle == MPIABI_MAX) return ncclMax;
  return std::nullopt;
}

}  // namespace weir::mpi
