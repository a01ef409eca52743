// SPDX-License-Identifier: Apache-2.0
/// What a text that is no topology probably is.
/// Tests: tests/topology/any_test.cc
#pragma once

#include <string>
#include <string_view>

namespace weir::topology {

/// A sentence that names the tool whose output the text is; empty: it looks like none.
std::string likely(std::string_view text);
/// A sentence about a text in which no reader finds a topology: what it looks like, and what is missing or
/// which command prints a topology.
std::string guess(std::string_view text);

/// Whether the text is compressed or otherwise no text at all; `what`: the sentence.
bool is_binary(std::string_view text, std::string& what);

}  // namespace weir::topology
