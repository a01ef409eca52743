// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/safetensors_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir::trainer {

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path,
                                                    std::vector<TensorEntry> tensors) {
  SafetensorsWriter writer(path);
  writer.file_.reset(std::fopen(writer.temporary().c_str(), "wb"));
  if (writer.file_ == nullptr) return writer.failed();
  const std::string beginning = safetensors_beginning(tensors);
  if (std::fwrite(beginning.data(), 1, beginning.size(), writer.file_.get()) != beginning.size())
    return writer.failed();
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ != nullptr) std::remove(temporary().c_str());
}

Status SafetensorsWriter::write(std::span<const float> elements) {
  return std::fwrite(elements.data(), sizeof(float), elements.size(), file_.get()) == elements.size()
             ? Status()
             : failed();
}

Status SafetensorsWriter::finish() {
  if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) return failed();
  if (std::fclose(file_.release()) != 0 || std::rename(temporary().c_str(), path_.c_str()) != 0)
    return failed();
  return {};
}

Status SafetensorsWriter::failed() const {
  return Status(Code::system_error,
                fmt::format("{}: the model cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace weir::trainer
