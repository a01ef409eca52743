// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/safetensors_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>

#include "trainer/math/bfloat16.h"

namespace weir::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they are in the file");

/// IEEE 754's binary16.
float from_float16(uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(fraction), -24)
                     : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                      : std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  return std::copysign(size, (half & 0x8000) != 0 ? -1.0f : 1.0f);
}

template <typename T, typename Convert>
void convert(std::span<const char> bytes, std::span<float> values, Convert as_float) {
  for (size_t at = 0; at < values.size(); ++at) {
    T value;
    std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
    values[at] = as_float(value);
  }
}

}  // namespace

Result<SafetensorsReader> SafetensorsReader::open(const std::string& path) {
  SafetensorsReader reader(path);
  WEIR_TRY(reader.read_header());
  return reader;
}

Status SafetensorsReader::wrong(const std::string& sentence) const {
  return Status(Code::invalid_argument, path_ + ": " + sentence);
}

Status SafetensorsReader::read_header() {
  // A pipe would let us wait for somebody who writes to it.
  const int opened = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (opened >= 0) file_.reset(fdopen(opened, "rb"));
  if (file_ == nullptr)
    return Status(Code::system_error,
                  fmt::format("{}: the model cannot be opened: {}", path_, std::strerror(errno)));
  struct stat status {};
  if (fstat(fileno(file_.get()), &status) != 0 || !S_ISREG(status.st_mode))
    return wrong("is no regular file");
  const auto size = static_cast<uint64_t>(status.st_size);
  uint64_t length = 0;
  if (size < sizeof length)
    return wrong(fmt::format("{} bytes are too few; expected 8 bytes with the length of the header", size));
  WEIR_TRY(read_bytes(0, sizeof length, &length));
  if (length > size - sizeof length || length > kLongestHeader)
    return wrong(fmt::format("the header has {} bytes by the file's first 8 bytes; expected at most {}",
                             length, std::min(size - sizeof length, kLongestHeader)));
  std::string header(length, '\0');
  WEIR_TRY(read_bytes(sizeof length, length, header.data()));
  data_ = sizeof length + length;
  auto tensors = parse_safetensors_header(header, size - data_);
  if (!tensors.ok()) return wrong(tensors.status().message());
  tensors_ = std::move(*tensors);
  return {};
}

Status SafetensorsReader::read_bytes(uint64_t from, uint64_t count, void* bytes) const {
  if (fseeko(file_.get(), static_cast<off_t>(from), SEEK_SET) == 0 &&
      std::fread(bytes, 1, count, file_.get()) == count)
    return {};
  const bool shorter = std::feof(file_.get()) != 0;
  return Status(Code::system_error,
                fmt::format("{}: bytes {} to {} cannot be read: {}", path_, from, from + count,
                            shorter ? "the file has become shorter" : std::strerror(errno)));
}

const TensorEntry* SafetensorsReader::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors_, name, &TensorEntry::name);
  return found == tensors_.end() ? nullptr : &*found;
}

Status SafetensorsReader::check(const std::string& name, const std::vector<uint64_t>& shape) const {
  const TensorEntry* const tensor = find(name);
  if (tensor == nullptr)
    return wrong(fmt::format("has no tensor '{}'; expected one of shape {}", name, shape_words(shape)));
  if (tensor->shape != shape)
    return wrong(fmt::format("tensor '{}' has shape {}; expected {}", name, shape_words(tensor->shape),
                             shape_words(shape)));
  for (const char* const real : {"F32", "F64", "F16", "BF16"})
    if (tensor->type == real) return {};
  return wrong(fmt::format("tensor '{}' has dtype {}; expected F32, F64, F16 or BF16", name, tensor->type));
}

Result<std::vector<float>> SafetensorsReader::read(const std::string& name,
                                                   const std::vector<uint64_t>& shape) const {
  WEIR_TRY(check(name, shape));
  const TensorEntry& tensor = *find(name);
  std::vector<float> values(tensor.elements());
  if (tensor.type == "F32") {
    WEIR_TRY(read_bytes(data_ + tensor.first, tensor.bytes, values.data()));
    return values;
  }
  std::vector<char> bytes(tensor.bytes);
  WEIR_TRY(read_bytes(data_ + tensor.first, tensor.bytes, bytes.data()));
  if (tensor.type == "F64") convert<double>(bytes, values, [](double x) { return static_cast<float>(x); });
  if (tensor.type == "F16") convert<uint16_t>(bytes, values, from_float16);
  if (tensor.type == "BF16") convert<uint16_t>(bytes, values, from_bfloat16);
  return values;
}

}  // namespace weir::trainer
