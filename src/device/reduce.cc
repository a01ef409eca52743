#include "src/device/reduce.h"

#include <cstring>

#include "src/device/reduce_scalar.h"

namespace weir::device {

void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count,
          Traffic traffic) {
  if (sources == 1) return copy(dst, src[0], count * size_of(type), traffic);
  scalar::fold(type, op, dst, src, sources, count);
}

void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count) {
  scalar::scale(type, dst, src, factor, count);
}

void divide(DataType type, void* dst, int64_t divisor, size_t count) {
  scalar::divide(type, dst, divisor, count);
}

void copy(void* dst, const void* src, size_t bytes, Traffic) {
  if (bytes != 0 && dst != src) std::memcpy(dst, src, bytes);
}

}  // namespace weir::device
