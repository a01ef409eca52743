// SPDX-License-Identifier: Apache-2.0
/// The encoding of a text: everything behind it reads UTF-8.
///
/// Functions of their arguments.
/// Tests: tests/topology/any_test.cc
#pragma once

#include <string>

#include "topology/formats/source.h"

namespace weir::topology {

/// Whether utf8_of() would change the text: it has a byte order mark, no-break spaces or escape
/// sequences, is UTF-16, or has other line ends.
bool needs_decoding(std::string_view text);

/// The text as UTF-8 without a byte order mark; no-break spaces, which web pages insert, become blanks,
/// and the escape sequences of terminals are removed. UTF-16 (as PowerShell writes it) is recognised by its
/// mark, or by a byte 0 beside each of the first characters. Errors: invalid_argument for UTF-16 that is
/// malformed.
Result<std::string> utf8_of(const Source& source);

}  // namespace weir::topology
