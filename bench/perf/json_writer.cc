// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/json_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::perf {

std::unique_ptr<JsonWriter> JsonWriter::open(const std::string& path) {
  std::string name = path;
  for (int attempt = 0;; ++attempt) {
    if (FILE* file = fopen(name.c_str(), "wxe"))
      return std::unique_ptr<JsonWriter>(new JsonWriter(name, file));
    if (errno != EEXIST) return nullptr;
    name = fmt::format("{}.{}", path, attempt);
  }
}

void JsonWriter::write(std::string_view text) { fwrite(text.data(), 1, text.size(), file_.get()); }

void JsonWriter::separate() {
  if (!after_key_ && !levels_.empty()) {
    if (!levels_.back().empty) write(",");
    levels_.back().empty = false;
  }
  after_key_ = false;
}

void JsonWriter::begin(char opening, char closing) {
  separate();
  write({&opening, 1});
  levels_.push_back({closing});
}

void JsonWriter::end() {
  if (after_key_) null();
  write({&levels_.back().closing, 1});
  levels_.pop_back();
  fflush(file_.get());
}

void JsonWriter::end_all() {
  while (!levels_.empty()) end();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  write(":");
  after_key_ = true;
  return *this;
}

void JsonWriter::value(std::string_view text) {
  separate();
  // Environment variables may contain any bytes; invalid UTF-8 is replaced.
  write(nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void JsonWriter::value(double number) {
  if (std::isnan(number)) return value(std::string_view("nan"));
  separate();
  write(fmt::format("{:.6f}", number));
}

void JsonWriter::value(int64_t number) {
  separate();
  write(fmt::format("{}", number));
}

void JsonWriter::null() {
  separate();
  write("null");
}

}  // namespace weir::perf
