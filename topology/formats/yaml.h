// SPDX-License-Identifier: Apache-2.0
/// YAML files through libyaml, with line numbers for what is wrong in them.
#pragma once

#include <string>
#include <vector>

#include "topology/formats/source.h"

namespace weir::topology {

/// A value with all that is in it. Scalars are texts, whatever type YAML would give them.
struct YamlNode {
  enum class Kind : unsigned char { scalar, sequence, mapping };

  Kind kind = Kind::scalar;
  size_t line = 0;
  std::string text;               ///< of a scalar
  std::vector<YamlNode> items;    ///< of a sequence; the values of a mapping
  std::vector<std::string> keys;  ///< of a mapping, all different

  /// The value of a key of a mapping, else null.
  const YamlNode* find(std::string_view key) const;
};

/// Errors: text that is not well-formed; an empty file or several documents; anchors, aliases and tags; keys
/// that are no scalars or come twice; what is nested too deep.
Result<YamlNode> parse_yaml(const Source& source);

/// The text as a scalar: plain where that is safe everywhere, else in single quotes. For printable ASCII.
std::string yaml_scalar(std::string_view text);

}  // namespace weir::topology
