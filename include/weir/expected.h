// SPDX-License-Identifier: Apache-2.0
/// A value, or the sentence that says why there is none.
///
///     const auto topology = weir::read_topology({"cluster.txt"});
///     if (!topology) return complain(topology.error());
///     use(*topology);
///
/// The interface is that of std::expected<T, std::string> of C++23. C++20; needs no other header of weir.
///
/// Thread safety: values; distinct objects may be used from distinct threads.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace weir {

template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  /// Without a value. The sentence says what was wrong and what was expected.
  static Expected failed(std::string sentence) { return Expected(Failed{}, std::move(sentence)); }

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// Throws std::bad_variant_access where there is no value; so do * and ->.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The sentence; empty where there is a value.
  std::string error() const { return has_value() ? std::string() : std::get<1>(state_); }

 private:
  struct Failed {};
  Expected(Failed, std::string sentence) : state_(std::in_place_index<1>, std::move(sentence)) {}

  std::variant<T, std::string> state_;
};

}  // namespace weir
