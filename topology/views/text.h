// SPDX-License-Identifier: Apache-2.0
/// Texts in pictures: how wide they are, and how they are written into XML.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::topology {

/// For XML and HTML, as content and in attributes. What they may not hold (control characters, bytes that are
/// not UTF-8) becomes U+FFFD.
std::string escaped(std::string_view text);

/// How wide `text` is at most in usual sans-serif fonts of that size; in bold a tenth more.
double text_width(std::string_view text, double size, bool bold = false);

/// `text`, or as much of it as fits into `width`, with an ellipsis; empty: not even that fits.
std::string fitted(std::string_view text, double width, double size, bool bold = false);

/// The same for a name: what is left out is in its middle, since names of many differ at their ends.
std::string fitted_name(std::string_view name, double width, double size, bool bold = false);

/// The first of `texts` that fits, else the last one, cut.
std::string first_fitting(std::initializer_list<std::string> texts, double width, double size,
                          bool bold = false);

/// A number with at most 3 significant digits and no exponent: "63", "12.5", "12800".
std::string figure(double value);
/// "63 GB/s"; "? GB/s" for what is not known.
std::string rate(double gb_per_s);
}  // namespace weir::topology
