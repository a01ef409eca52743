// SPDX-License-Identifier: Apache-2.0
/// Texts in pictures: their widths, and their escaping in XML.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::topology {

/// Escapes for XML and HTML, as content and in attributes. Invalid characters (control characters, bytes that
/// are not UTF-8) become U+FFFD.
std::string escaped(std::string_view text);

/// An upper bound of the width of `text` in usual sans-serif fonts of that size; bold text is a tenth wider.
double text_width(std::string_view text, double size, bool bold = false);

/// `text`, truncated with an ellipsis to `width`; empty if not even the ellipsis fits.
std::string fitted(std::string_view text, double width, double size, bool bold = false);

/// The same for a name: the middle is omitted, because names often differ at their ends.
std::string fitted_name(std::string_view name, double width, double size, bool bold = false);

/// The first of `texts` that fits, else the last one, truncated.
std::string first_fitting(std::initializer_list<std::string> texts, double width, double size,
                          bool bold = false);

/// A number with at most 3 significant digits and no exponent: "63", "12.5", "12800".
std::string figure(double value);
/// A rate such as "63 GB/s"; "? GB/s" if unknown.
std::string rate(double gb_per_s);
}  // namespace weir::topology
