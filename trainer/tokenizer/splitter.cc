// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/splitter.h"

#include <fmt/format.h>
#include <unicode/uregex.h>
#include <unicode/utext.h>

namespace weir::trainer {
namespace {

/// ICU's own \\s lacks some white space.
std::string with_white_space(const std::string& expression) {
  std::string result;
  for (size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '\\' || at + 1 == expression.size()) {
      result += expression[at];
      continue;
    }
    const char next = expression[++at];
    if (next == 's')
      result += "\\p{White_Space}";
    else if (next == 'S')
      result += "\\P{White_Space}";
    else
      result += {'\\', next};
  }
  return result;
}

URegularExpression* expression_in(void* memory) { return static_cast<URegularExpression*>(memory); }

/// Text in UTF-8 as ICU reads it.
class Readable {
 public:
  Readable(std::string_view text, UErrorCode& code)
      : text_(utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &code)) {}
  ~Readable() { utext_close(text_); }
  Readable(const Readable&) = delete;
  Readable& operator=(const Readable&) = delete;
  UText* get() const { return text_; }

 private:
  UText* text_;
};

}  // namespace

void Splitter::Closes::operator()(void* expression) const { uregex_close(expression_in(expression)); }

Result<Splitter> Splitter::create(const std::string& expression) {
  const std::string adapted = with_white_space(expression);
  UErrorCode code = U_ZERO_ERROR;
  UParseError place{};
  const Readable readable(adapted, code);
  Splitter splitter(U_SUCCESS(code) ? uregex_openUText(readable.get(), 0, &place, &code) : nullptr);
  if (U_SUCCESS(code)) return splitter;
  return Status(Code::invalid_argument, fmt::format("the expression '{}' cannot be used: ICU says {} at {}",
                                                    expression, u_errorName(code), place.offset));
}

Status Splitter::split(std::string_view text, std::vector<std::string_view>& parts) const {
  UErrorCode code = U_ZERO_ERROR;
  const std::unique_ptr<void, Closes> own(uregex_clone(expression_in(expression_.get()), &code));
  const Readable readable(text, code);
  URegularExpression* const expression = expression_in(own.get());
  if (U_SUCCESS(code)) uregex_setUText(expression, readable.get(), &code);
  size_t before = 0;
  const auto add = [&](size_t end) {
    if (end > before) parts.push_back(text.substr(before, end - before));
    before = end;
  };
  while (U_SUCCESS(code) && uregex_findNext(expression, &code) != 0) {
    add(static_cast<size_t>(uregex_start64(expression, 0, &code)));
    add(static_cast<size_t>(uregex_end64(expression, 0, &code)));
  }
  if (U_FAILURE(code))
    return Status(Code::system_error, fmt::format("cutting text into words: ICU says {}", u_errorName(code)));
  add(text.size());
  return {};
}

}  // namespace weir::trainer
