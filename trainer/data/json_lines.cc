// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weir::trainer {

Status for_each_document(const std::string& path, const std::function<Status(std::string_view)>& visit) {
  using nlohmann::json;
  std::ifstream file(path);
  const auto failed = [&] {
    return Status(Code::system_error,
                  fmt::format("{}: the documents cannot be read: {}", path, std::strerror(errno)));
  };
  if (!file) return failed();
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const auto wrong = [&](const std::string& sentence) {
      return Status(Code::invalid_argument, fmt::format("{}, line {}: {}", path, number, sentence));
    };
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    json object;
    try {
      object = json::parse(line);
    } catch (const json::exception& error) {
      return wrong(fmt::format("is not JSON: {}", error.what()));
    }
    if (!object.is_object())
      return wrong(
          fmt::format("is JSON's {}; expected an object with the field \"text\"", object.type_name()));
    const auto text = object.find("text");
    if (text == object.end()) return wrong("has no field \"text\"; expected the document there");
    if (!text->is_string())
      return wrong(fmt::format("the field \"text\" is JSON's {}; expected a string", text->type_name()));
    WEIR_TRY(visit(text->get_ref<const std::string&>()));
  }
  return file.bad() ? failed() : Status();
}

}  // namespace weir::trainer
