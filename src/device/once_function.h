// SPDX-License-Identifier: Apache-2.0
/// A function without arguments that returns a Status and is called at most once. Unlike std::function it
/// accepts functions that can only be moved, and captures of up to 64 bytes need no allocation.
/// Tests: tests/device/host_stream_test.cc
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "src/base/status.h"

namespace weir::device {

class OnceFunction {
 public:
  OnceFunction() = default;
  /// `function` is kept until it has been called or the OnceFunction is destroyed.
  template <typename Function>
  requires(!std::is_same_v<std::decay_t<Function>, OnceFunction> && std::is_invocable_r_v<Status, Function&>)
      OnceFunction(Function&& function) {  // NOLINT(google-explicit-constructor)
    using Held = std::decay_t<Function>;
    if constexpr (fits<Held>()) {
      ::new (static_cast<void*>(storage_)) Held(std::forward<Function>(function));
      actions_ = &kInPlace<Held>;
    } else {
      ::new (static_cast<void*>(storage_)) Held*(new Held(std::forward<Function>(function)));
      actions_ = &kOnHeap<Held>;
    }
  }
  OnceFunction(OnceFunction&& other) noexcept { take(other); }
  OnceFunction& operator=(OnceFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~OnceFunction() { reset(); }

  explicit operator bool() const { return actions_ != nullptr; }
  /// Calls the function. REQUIRES: there is one.
  Status operator()() { return actions_->call(storage_); }
  /// Destroys the function and what it captured.
  void reset() {
    if (actions_ != nullptr) actions_->destroy(storage_);
    actions_ = nullptr;
  }

 private:
  struct Actions {
    Status (*call)(void* storage);
    void (*move)(void* from, void* to) noexcept;  // also destroys the object at `from`
    void (*destroy)(void* storage) noexcept;
  };
  static constexpr size_t kInline = 64;

  template <typename Held>
  static constexpr bool fits() {
    return sizeof(Held) <= kInline && alignof(Held) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Held>;
  }
  template <typename Held>
  static Held& in_place(void* storage) {
    return *std::launder(static_cast<Held*>(storage));
  }
  template <typename Held>
  static constexpr Actions kInPlace = {[](void* storage) { return in_place<Held>(storage)(); },
                                       [](void* from, void* to) noexcept {
                                         ::new (to) Held(std::move(in_place<Held>(from)));
                                         in_place<Held>(from).~Held();
                                       },
                                       [](void* storage) noexcept { in_place<Held>(storage).~Held(); }};
  template <typename Held>
  static constexpr Actions kOnHeap = {
      [](void* storage) { return (*in_place<Held*>(storage))(); },
      [](void* from, void* to) noexcept { ::new (to) Held*(in_place<Held*>(from)); },
      [](void* storage) noexcept { delete in_place<Held*>(storage); }};

  void take(OnceFunction& other) {
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_ != nullptr) actions_->move(other.storage_, storage_);
  }

  const Actions* actions_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInline];
};

}  // namespace weir::device
