// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/xml.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::topology {
namespace {

/// pugixml frees and walks trees without recursion, but our readers are recursive.
constexpr int kMostXmlDepth = 200;

bool too_deep(pugi::xml_node node) {
  int depth = 0;
  // Depth-first without recursion.
  for (pugi::xml_node at = node; at;) {
    if (at.first_child()) {
      at = at.first_child();
      if (++depth > kMostXmlDepth) return true;
      continue;
    }
    while (at && at != node && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    if (!at || at == node) break;
    at = at.next_sibling();
  }
  return false;
}

}  // namespace

Result<XmlFile> XmlFile::parse(const Source& source) {
  if (source.text.size() > kMostBytes) {
    return topology::refuse(
        source, 1, fmt::format("the file has {} bytes; expected at most {}", source.text.size(), kMostBytes));
  }
  if (const size_t nul = source.text.find('\0'); nul != std::string_view::npos)
    return topology::refuse(source, line_of(source.text, nul), "the text contains a byte 0; expected XML");
  XmlFile file(source);
  for (size_t at = source.text.find('\n'); at != std::string_view::npos; at = source.text.find('\n', at + 1))
    file.line_ends_.push_back(at);
  const pugi::xml_parse_result parsed = file.document_->load_buffer(source.text.data(), source.text.size(),
                                                                    pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(parsed.offset, 0));
    return topology::refuse(source, line_of(source.text, offset),
                            fmt::format("this is not well-formed XML: {}", parsed.description()));
  }
  if (!file.root()) return topology::refuse(source, 1, "the file contains no XML element");
  for (pugi::xml_node other = file.root().next_sibling(); other; other = other.next_sibling()) {
    if (other.type() == pugi::node_element)
      return file.refuse(other, fmt::format("a second element <{}> beside <{}>; expected one", other.name(),
                                            file.root().name()));
  }
  if (too_deep(file.root())) {
    return topology::refuse(source, 1, fmt::format("elements are nested more than {} deep", kMostXmlDepth));
  }
  return file;
}

size_t XmlFile::line(pugi::xml_node element) const {
  const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(element.offset_debug(), 0));
  return 1 + static_cast<size_t>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) -
                                 line_ends_.begin());
}

Status XmlFile::leave_out(Notes* notes, pugi::xml_node element, const std::string& sentence) const {
  Status refused = refuse(element, sentence);
  if (notes == nullptr) return refused;
  notes->push_back(refused.message());
  return {};
}

Status XmlFile::wrong(pugi::xml_node element, const char* attribute, std::string_view value,
                      const std::string& expected) const {
  return refuse(element, fmt::format("{} of <{}> is \"{}\"; expected {}", attribute, element.name(),
                                     value.substr(0, 100), expected));
}

Result<std::string_view> XmlFile::text_of(pugi::xml_node element, const char* attribute, Need need) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  if (!found && need == Need::needed) {
    return refuse(element, fmt::format("<{}> has no attribute {}", element.name(), attribute));
  }
  return std::string_view(found.value());
}

Status XmlFile::get(pugi::xml_node element, const char* attribute, Need need, std::string& value) const {
  auto text = text_of(element, attribute, need);
  WEIR_TRY(text.status());
  if (element.attribute(attribute)) value = *text;
  return {};
}

Status XmlFile::get(pugi::xml_node element, const char* attribute, Need need, int64_t least, int64_t most,
                    int& value) const {
  auto text = text_of(element, attribute, need);
  WEIR_TRY(text.status());
  if (!element.attribute(attribute)) return {};
  int64_t read = 0;
  if (!parse_int(*text, read) || read < least || read > most) {
    return wrong(element, attribute, *text, fmt::format("a whole number from {} to {}", least, most));
  }
  value = static_cast<int>(read);
  return {};
}

Status XmlFile::get_number(pugi::xml_node element, const char* attribute, Need need, double least,
                           double most, double& value) const {
  auto text = text_of(element, attribute, need);
  WEIR_TRY(text.status());
  if (!element.attribute(attribute)) return {};
  double read = 0;
  if (!parse_number(*text, read) || read < least || read > most) {
    return wrong(element, attribute, *text, fmt::format("a number from {} to {}", least, most));
  }
  value = read;
  return {};
}

Status XmlFile::get_hex(pugi::xml_node element, const char* attribute, Need need, uint64_t& value) const {
  auto text = text_of(element, attribute, need);
  WEIR_TRY(text.status());
  if (!element.attribute(attribute)) return {};
  if (!parse_hex(*text, value)) return wrong(element, attribute, *text, "a hexadecimal number of 64 bits");
  return {};
}

Status XmlFile::get(pugi::xml_node element, const char* attribute, Need need, bool& value) const {
  int number = value ? 1 : 0;
  WEIR_TRY(get(element, attribute, need, 0, 1, number));
  value = number == 1;
  return {};
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {  // otherwise a reader turns it into a blank
          out += fmt::format("&#{};", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace weir::topology
