// SPDX-License-Identifier: Apache-2.0
/// Reads YAML files with libyaml, and reports errors with line numbers.
/// Tests: tests/topology/topology_yaml_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/formats/source.h"

namespace weir::topology {

/// A value with its contents. Scalars are texts, whatever type YAML would give them.
struct YamlNode {
  enum class Kind : unsigned char { scalar, sequence, mapping };

  Kind kind = Kind::scalar;
  size_t line = 0;
  std::string text;               ///< text of a scalar
  std::vector<YamlNode> items;    ///< items of a sequence; values of a mapping
  std::vector<std::string> keys;  ///< keys of a mapping, all different

  /// The value of a key of a mapping, or null.
  const YamlNode* find(std::string_view key) const;
};

/// Errors: malformed text; an empty file or several documents; anchors, aliases and tags; keys that are no
/// scalars or occur twice; values nested too deep.
Result<YamlNode> parse_yaml(const Source& source);

}  // namespace weir::topology
