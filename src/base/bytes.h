// SPDX-License-Identifier: Apache-2.0
/// Byte strings, and a writer and a reader for data that processes send to each other (transport addresses,
/// hellos).
///
/// Numbers are sent in host byte order: both ends check magic and version first, and weir runs on
/// little-endian machines only.
/// Tests: tests/base/bytes_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

/// Appends trivially copyable values and length-prefixed strings.
class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T> ByteWriter& put(const T& value) {
    return append(&value, sizeof(T));
  }
  ByteWriter& put_string(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    return append(text.data(), text.size());
  }
  ByteWriter& put_bytes(BytesView view) {
    put(static_cast<uint32_t>(view.size()));
    return append(view.data(), view.size());
  }
  Bytes take() { return std::move(bytes_); }

 private:
  // resize and memcpy, because g++ 12 warns wrongly about insert
  ByteWriter& append(const void* raw, size_t size) {
    const size_t before = bytes_.size();
    bytes_.resize(before + size);
    if (size > 0) std::memcpy(bytes_.data() + before, raw, size);
    return *this;
  }

  Bytes bytes_;
};

/// Reads what ByteWriter wrote. Reading past the end yields zeroes and makes ok() false permanently, so a
/// caller may read everything and check once.
class ByteReader {
 public:
  explicit ByteReader(BytesView view) : view_(view) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T> T get() {
    if constexpr (std::is_same_v<T, bool>) return get<uint8_t>() != 0;  // other bytes are no bool
    T value{};
    if (BytesView raw = take(sizeof(T)); ok_) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  /// Reads the number of elements that follow, each of which takes at least `least` bytes. If they cannot be
  /// in the bytes that are left, ok() becomes false and the number is 0; so it is safe to reserve memory for
  /// them. REQUIRES: least > 0.
  template <typename T = uint32_t>
  requires std::is_unsigned_v<T> size_t count(size_t least) {
    const T claimed = get<T>();
    if (claimed > view_.size() / least) ok_ = false;
    return ok_ ? static_cast<size_t>(claimed) : 0;
  }
  std::string get_string() {
    const BytesView raw = take(get<uint32_t>());
    return ok_ ? std::string(reinterpret_cast<const char*>(raw.data()), raw.size()) : std::string();
  }
  Bytes get_bytes() {
    const BytesView raw = take(get<uint32_t>());
    return ok_ ? Bytes(raw.begin(), raw.end()) : Bytes();
  }
  bool ok() const { return ok_; }
  size_t remaining() const { return view_.size(); }

 private:
  BytesView take(size_t size) {
    if (size > view_.size()) ok_ = false;
    if (!ok_) return {};
    const BytesView head = view_.first(size);
    view_ = view_.subspan(size);
    return head;
  }

  BytesView view_;
  bool ok_ = true;
};

}  // namespace weir
