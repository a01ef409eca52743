// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/reductions.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "src/mpi/error.h"

namespace weir::mpi {
namespace {

/// Calls function(Narrow, Wide) with the integers of a widened type.
template <typename Function>
int with_integers(const MpiType& type, const Function& function) {
  if (type.part == ncclInt32) return function(std::int16_t(), std::int32_t());
  return function(std::uint16_t(), std::uint32_t());
}

template <typename Narrow, typename Wide>
void narrow(const std::vector<Wide>& from, void* to) {
  std::transform(from.begin(), from.end(), static_cast<Narrow*>(to),
                 [](Wide value) { return static_cast<Narrow>(value); });
}

int all_reduce_widened(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  return with_integers(with.type, [&]<typename Narrow, typename Wide>(Narrow, Wide) {
    const auto* const first = static_cast<const Narrow*>(send);
    std::vector<Wide> wide(first, first + count);
    const int code =
        checked(ncclAllReduce(wide.data(), wide.data(), count, with.type.part, with.op, with.comm, nullptr));
    if (code == 0) narrow<Narrow>(wide, receive);
    return code;
  });
}

int reduce_scatter_widened(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  return with_integers(with.type, [&]<typename Narrow, typename Wide>(Narrow, Wide) {
    const auto* const first = static_cast<const Narrow*>(send);
    const std::vector<Wide> wide(first, first + count * static_cast<std::size_t>(with.size));
    std::vector<Wide> sums(count);
    const int code = checked(
        ncclReduceScatter(wide.data(), sums.data(), count, with.type.part, with.op, with.comm, nullptr));
    if (code == 0) narrow<Narrow>(sums, receive);
    return code;
  });
}

/// The products of complex numbers in the order of the ranks, some KiB at a time.
template <typename Real>
int multiply(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  using Complex = std::complex<Real>;
  constexpr std::size_t kMost = (std::size_t{1} << 16U) / sizeof(Complex);
  const auto ranks = static_cast<std::size_t>(with.size);
  const std::size_t most = std::min(count, kMost);
  std::vector<Complex> all(most * ranks);
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t now = std::min(most, count - done);
    const int code = checked(ncclAllGather(static_cast<const Complex*>(send) + done, all.data(),
                                           now * sizeof(Complex), ncclInt8, with.comm, nullptr));
    if (code != 0) return code;
    for (std::size_t i = 0; i < now; ++i) {
      Complex product = all[i];
      for (std::size_t rank = 1; rank < ranks; ++rank) product *= all[rank * now + i];
      static_cast<Complex*>(receive)[done + i] = product;
    }
  }
  return MPIABI_SUCCESS;
}

int multiply_all(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  return with.type.part == ncclFloat32 ? multiply<float>(with, send, receive, count)
                                       : multiply<double>(with, send, receive, count);
}

int multiply_and_scatter(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  const std::size_t bytes = count * with.type.bytes;
  std::vector<char> all(bytes * static_cast<std::size_t>(with.size));
  const int code = multiply_all(with, send, all.data(), count * static_cast<std::size_t>(with.size));
  if (code == 0)
    std::copy_n(all.data() + bytes * static_cast<std::size_t>(with.rank), bytes, static_cast<char*>(receive));
  return code;
}

int refuse_order() {
  return fail(MPIABI_ERR_OP, "complex numbers have no order; expected MPI_SUM or MPI_PROD as their operator");
}

bool needs_order(const MpiReduction& with) {
  return with.type.arithmetic == Arithmetic::complex && with.op != ncclSum && with.op != ncclProd;
}

/// Elements of weir's type in one of MPI's.
std::size_t parts(const MpiReduction& with) { return with.type.arithmetic == Arithmetic::complex ? 2 : 1; }

bool is_product(const MpiReduction& with) {
  return with.type.arithmetic == Arithmetic::complex && with.op == ncclProd;
}

}  // namespace

int all_reduce(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  if (needs_order(with)) return refuse_order();
  if (with.type.arithmetic == Arithmetic::widened) return all_reduce_widened(with, send, receive, count);
  if (is_product(with)) return multiply_all(with, send, receive, count);
  return checked(
      ncclAllReduce(send, receive, count * parts(with), with.type.part, with.op, with.comm, nullptr));
}

int reduce_scatter(const MpiReduction& with, const void* send, void* receive, std::size_t count) {
  if (needs_order(with)) return refuse_order();
  if (with.type.arithmetic == Arithmetic::widened) return reduce_scatter_widened(with, send, receive, count);
  if (is_product(with)) return multiply_and_scatter(with, send, receive, count);
  return checked(
      ncclReduceScatter(send, receive, count * parts(with), with.type.part, with.op, with.comm, nullptr));
}

}  // namespace weir::mpi
