// SPDX-License-Identifier: Apache-2.0
/// Whether two functions have the same parameters and results in the ABI: numbers (including enumerations) of
/// equal size, pointers, or structures of equal size.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <type_traits>

namespace weir::drivers {

template <typename A, typename B>
constexpr bool same_value() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  else
    return sizeof(A) == sizeof(B) && std::is_class_v<A> == std::is_class_v<B>;
}

template <typename A, typename B>
struct SameCall : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct SameCall<A(As...), B(Bs...)>
    : std::bool_constant<same_value<A, B>() && (same_value<As, Bs>() && ...)> {
};

/// Compares a table's functions with a vendor's declarations one by one, and remembers which names were
/// compared.
template <typename Table>
class Comparison {
 public:
  Comparison() {
    table_.each([&](const char* name, auto*& function, bool) { names_.emplace(&function, name); });
  }
  /// The reason why they differ; empty if they do not.
  template <typename Theirs, typename Ours>
  std::string differ(const char* name, Ours* Table::*member) {
    const auto found = names_.find(&(table_.*member));
    if (found == names_.end()) return std::string(name) + " was compared twice or is in no list";
    const std::string asked = found->second;
    names_.erase(found);
    if (asked != name) return std::string(name) + " is asked for as " + asked;
    return SameCall<Theirs, Ours>::value ? "" : std::string(name) + " has another type";
  }
  /// A name of the table that was not compared; empty if there is none.
  std::string left() const { return names_.empty() ? "" : names_.begin()->second; }

 private:
  Table table_;
  std::map<void*, std::string> names_;
};

}  // namespace weir::drivers
