// SPDX-License-Identifier: Apache-2.0
/// Whether a sanitizer watches this program, and how much of a long search it is worth then.
#pragma once

namespace weir::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Of so many random cases, or ranks: those to try. All of them prove that an algorithm is right; a sanitizer
/// looks for misused memory, which the first of a kind show, and takes ten times as long for each.
constexpr int enough(int all) { return kSanitized ? (all + 4) / 5 : all; }

}  // namespace weir::testing
