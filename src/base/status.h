// SPDX-License-Identifier: Apache-2.0
/// Status and Result<T>: the return types of all functions inside weir that can fail.
///
/// An error is a code (with the numbers of ncclResult_t, so that the C interface only casts it) and one
/// sentence that says what was wrong, what was expected and where. The first function that detects the error
/// writes the sentence; callers return it unchanged.
///
/// Thread safety: both are values; distinct objects may be used by distinct threads.
/// Tests: tests/base/status_test.cc
#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace weir {

enum class Code : int {
  success = 0,
  device_error = 1,      ///< a CUDA or HIP call failed
  system_error = 2,      ///< a system call failed
  internal_error = 3,    ///< a broken invariant of weir itself
  invalid_argument = 4,  ///< an argument is invalid by itself
  invalid_usage = 5,     ///< each argument is valid, but not their combination, or not at this time
  remote_error = 6,      ///< a peer died, stopped or reported an error
  in_progress = 7,       ///< no error: the operation is not done yet
};

/// Success, or a code and a sentence. Only making an error allocates memory; copies share the sentence.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : error_(std::make_shared<const Error>(Error{code, std::move(message), false})) {}
  /// A system_error because this process or its host has no more of something: memory, descriptors, threads.
  /// No peer may be blamed for it.
  static Status shortage(std::string message) {
    Status status;
    status.error_ = std::make_shared<const Error>(Error{Code::system_error, std::move(message), true});
    return status;
  }

  bool ok() const { return error_ == nullptr; }
  Code code() const { return error_ ? error_->code : Code::success; }
  bool is_shortage() const { return error_ && error_->shortage; }
  /// The same error with another sentence. REQUIRES: !ok().
  Status reworded(std::string message) const {
    return is_shortage() ? shortage(std::move(message)) : Status(code(), std::move(message));
  }
  /// The sentence; empty on success. Valid as long as this Status lives and is not assigned to.
  const std::string& message() const {
    static const std::string none;
    return error_ ? error_->message : none;
  }

 private:
  struct Error {
    Code code;
    std::string message;
    bool shortage;
  };
  std::shared_ptr<const Error> error_;
};

/// A value of type T, or the error that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<Status>(state_).ok());
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  /// The value. REQUIRES: ok().
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// The error, or success if ok().
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace weir

/// Returns from the enclosing function with `expression` (a Status) if it is an error.
#define WEIR_TRY(expression)                                                                 \
  do {                                                                                       \
    if (::weir::Status weir_status_ = (expression); !weir_status_.ok()) return weir_status_; \
  } while (false)
