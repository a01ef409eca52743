// SPDX-License-Identifier: Apache-2.0
/// Reads XML files with pugixml, and reports errors with line numbers.
/// Tests: tests/topology/source_test.cc
#pragma once

#include <memory>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "topology/formats/source.h"

namespace weir::topology {

/// A parsed file. Not thread-safe; elements are valid as long as it lives.
class XmlFile {
 public:
  /// Errors: as refuse(), for text that is malformed, too long or nested too deep. `source` must outlive the
  /// file.
  static Result<XmlFile> parse(const Source& source);

  const Source& source() const { return *source_; }
  pugi::xml_node root() const { return document_->document_element(); }
  size_t line(pugi::xml_node element) const;
  Status refuse(pugi::xml_node element, const std::string& sentence) const {
    return topology::refuse(*source_, line(element), sentence);
  }
  /// Reports an omission: a note if the caller takes notes, else an error.
  Status leave_out(Notes* notes, pugi::xml_node element, const std::string& sentence) const;

  /// Attributes of a given type. `value` is unchanged if the attribute is missing, which is an error only if
  /// it is `needed`.
  enum class Need : bool { optional, needed };
  Status get(pugi::xml_node element, const char* attribute, Need need, std::string& value) const;
  Status get(pugi::xml_node element, const char* attribute, Need need, int64_t least, int64_t most,
             int& value) const;
  Status get_number(pugi::xml_node element, const char* attribute, Need need, double least, double most,
                    double& value) const;
  Status get_hex(pugi::xml_node element, const char* attribute, Need need, uint64_t& value) const;
  /// Accepts 0 or 1.
  Status get(pugi::xml_node element, const char* attribute, Need need, bool& value) const;

 private:
  explicit XmlFile(const Source& source) : source_(&source), document_(new pugi::xml_document) {}

  Result<std::string_view> text_of(pugi::xml_node element, const char* attribute, Need need) const;
  Status wrong(pugi::xml_node element, const char* attribute, std::string_view value,
               const std::string& expected) const;

  const Source* source_;
  std::unique_ptr<pugi::xml_document> document_;
  std::vector<size_t> line_ends_;
};

/// Escapes `text` for use between double quotes, or as content.
std::string xml_text(std::string_view text);

}  // namespace weir::topology
