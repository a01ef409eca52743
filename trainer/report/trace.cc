// SPDX-License-Identifier: Apache-2.0

#include "trainer/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>

namespace weir::trainer {
namespace {

int64_t first_begin(const std::vector<std::vector<Span>>& spans) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const std::vector<Span>& of_rank : spans)
    for (const Span& span : of_rank) first = std::min(first, span.begin_ns);
  return first;
}

}  // namespace

std::string trace_of(const Timeline& timeline) {
  const auto& [spans, units] = timeline;
  const int64_t zero = first_begin(spans);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  const auto out = std::back_inserter(text);
  for (size_t rank = 0; rank < spans.size(); ++rank) {
    fmt::format_to(out, R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}},)",
                   rank);
    fmt::format_to(out,
                   "\n"
                   R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}},)",
                   rank);
    for (size_t row = 0; row < kRowNames.size(); ++row)
      fmt::format_to(out,
                     "\n"
                     R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}},)",
                     rank, row, kRowNames[row]);
    for (const Span& span : spans[rank]) {
      const auto phase = kPhaseNames[static_cast<size_t>(span.phase)];
      const bool has_unit = span.unit >= 0 && static_cast<size_t>(span.unit) < units.size();
      fmt::format_to(out,
                     "\n"
                     R"({{"ph":"X","name":"{}{}{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                     R"("args":{{"step":{}}}}},)",
                     phase, has_unit ? " " : "", has_unit ? units[static_cast<size_t>(span.unit)] : "", phase,
                     rank, static_cast<int>(span.row), static_cast<double>(span.begin_ns - zero) / 1e3,
                     static_cast<double>(span.nanoseconds) / 1e3, span.step + 1);
    }
    text += '\n';
  }
  if (const size_t last = text.find_last_of(','); !spans.empty() && last != std::string::npos)
    text.erase(last, 1);
  return text + "]}\n";
}

namespace {

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<FILE, CloseFile>;

Status not_written(const std::string& path, const char* what) {
  return Status(Code::system_error,
                fmt::format("{}: the {} cannot be written: {}", path, what, std::strerror(errno)));
}

}  // namespace

Status try_file(const std::string& path, const char* what) {
  const OpenFile file(std::fopen(path.c_str(), "a"));
  return file != nullptr ? Status() : not_written(path, what);
}

Status write_file(const std::string& path, const std::string& text, const char* what) {
  const OpenFile file(std::fopen(path.c_str(), "w"));
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
      std::fflush(file.get()) == 0)
    return {};
  return not_written(path, what);
}

}  // namespace weir::trainer
