// SPDX-License-Identifier: Apache-2.0
/// Writes JSON with nccl-tests' formats of values: six decimals, and "true" and "nan" as strings.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::perf {

/// Writes without delay, so that measured rows are in the file if the program crashes. Not thread-safe.
class JsonWriter {
 public:
  /// Creates a new file: `path`, or if that exists path.0, path.1, ...; null on failure, with the reason in
  /// errno.
  static std::unique_ptr<JsonWriter> open(const std::string& path);

  const std::string& path() const { return path_; }

  void begin_object() { begin('{', '}'); }
  void begin_list() { begin('[', ']'); }
  void end();      ///< ends the innermost object or list
  void end_all();  ///< ends all objects and lists; also done by the destructor

  JsonWriter& key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) { value(std::string_view(flag ? "true" : "false")); }
  void value(double number);
  void value(int64_t number);
  void value(int number) { value(static_cast<int64_t>(number)); }
  void value(size_t number) { value(static_cast<int64_t>(number)); }
  void null();

 private:
  struct Closer {
    void operator()(FILE* file) const { fclose(file); }
  };
  struct Level {
    char closing;
    bool empty = true;
  };

  JsonWriter(std::string path, FILE* file) : path_(std::move(path)), file_(file) {}

  void begin(char opening, char closing);
  void write(std::string_view text);
  void separate();

  std::string path_;
  std::unique_ptr<FILE, Closer> file_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace weir::perf
