// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace weir::ir {
namespace {

using Kind = Operand::Kind;

constexpr std::string_view kTitle = "weir plan 1";
constexpr std::string_view kPlaces[] = {"nothing", "input", "output", "scratch", "value"};
constexpr size_t kLongestWord = 64;
constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLeastMessage = 1024;
constexpr uint64_t kMostMessage = uint64_t{1} << 30;

std::string_view place_word(Kind kind) { return kPlaces[static_cast<int>(kind)]; }

void write_operand(std::string& text, std::string_view role, Operand operand) {
  if (operand.kind == Kind::none) return;
  text += fmt::format(" {} {} {}", role, place_word(operand.kind), operand.index);
}

void write_move(std::string& text, size_t number, const Move& move) {
  if (move.src == move.dst && move.src_lane == move.dst_lane && !move.pull && !move.push) {
    text += fmt::format("{} local {}.{}", number, move.dst, move.dst_lane);
  } else {
    const std::string_view verb = move.pull ? "pull" : move.push ? "push" : "send";
    text += fmt::format("{} {} {}.{} {}.{}", number, verb, move.src, move.src_lane, move.dst, move.dst_lane);
  }
  write_operand(text, "from", move.from);
  write_operand(text, "with", move.with);
  write_operand(text, "to", move.to);
  if (move.chunks != 1) text += fmt::format(" chunks {}", move.chunks);
  if (move.way != MoveWay::any) text += fmt::format(" by {}", name(move.way));
  text += '\n';
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_name(std::string_view word) {
  return !word.empty() && word.size() <= kLongestWord && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// A word in a form suitable for a message: short and printable.
std::string shown(std::string_view word) {
  std::string text = "\"";
  for (char c : word.substr(0, 40)) text += c >= ' ' && c <= '~' && c != '"' ? c : '?';
  return text + (word.size() > 40 ? "...\"" : "\"");
}

/// The words of one line, taken one after the other.
class Line {
 public:
  Line(std::string_view text, size_t number) : rest_(text), number_(number) { skip(); }

  bool done() const { return rest_.empty(); }
  std::string_view peek() const {
    return rest_.substr(0, std::find_if(rest_.begin(), rest_.end(), is_blank) - rest_.begin());
  }
  std::string_view take() {
    const std::string_view word = peek();
    rest_.remove_prefix(word.size());
    skip();
    return word;
  }
  bool take_if(std::string_view word) {
    if (peek() != word) return false;
    take();
    return true;
  }

  Status expected(std::string_view what) const {
    return {Code::invalid_argument, fmt::format("line {}: expected {}, found {}", number_, what,
                                                done() ? "the end of the line" : shown(peek()))};
  }
  Status end() const { return done() ? Status() : expected("the end of the line"); }

  /// A number from 0 to `most`.
  template <typename T>
  Status number(T& value, std::string_view what, uint64_t most) {
    const std::optional<uint64_t> got = digits(peek(), most);
    if (!got) return expected(fmt::format("{} (0 to {})", what, most));
    value = static_cast<T>(*got);
    take();
    return {};
  }
  /// Parses rank.lane.
  Status place(Rank& rank, uint8_t& lane) {
    const std::string_view word = peek();
    const size_t dot = word.find('.');
    if (dot == std::string_view::npos) return expected("a rank and a lane, as in 3.0");
    const auto rank_number = digits(word.substr(0, dot), std::numeric_limits<Rank>::max());
    const auto lane_number = digits(word.substr(dot + 1), kMaxLanes - 1);
    if (!rank_number || !lane_number) {
      return expected(fmt::format("a rank and a lane of 0 to {}, as in 3.0", kMaxLanes - 1));
    }
    rank = static_cast<Rank>(*rank_number);
    lane = static_cast<uint8_t>(*lane_number);
    take();
    return {};
  }

 private:
  void skip() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  static std::optional<uint64_t> digits(std::string_view word, uint64_t most) {
    uint64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    if (word.empty() || error != std::errc() || stopped != end || value > most) return std::nullopt;
    return value;
  }

  std::string_view rest_;
  size_t number_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<Plan> read() {
    WEIR_TRY(title());
    WEIR_TRY(header());
    size_t moves = 0;
    WEIR_TRY(field("moves", moves, std::numeric_limits<uint32_t>::max()));
    plan_.moves.reserve(std::min(moves, rest_.size() / kShortestMove));
    for (size_t i = 0; i < moves; ++i) WEIR_TRY(move(i, moves));
    Line last = next();
    if (!last.take_if("end")) return last.expected(fmt::format("\"end\" after {} moves", moves));
    WEIR_TRY(last.end());
    if (const Line extra = next(); !extra.done()) return extra.expected("nothing after \"end\"");
    return std::move(plan_);
  }

 private:
  static constexpr size_t kShortestMove = sizeof("0 local 0.0 from input 0 to output 0") / 2;
  static constexpr uint64_t kAnyNumber = std::numeric_limits<uint32_t>::max();

  /// The next line that is neither empty nor a comment; an empty one at the end of the text.
  Line next() {
    while (!rest_.empty()) {
      const size_t length = std::min(rest_.find('\n'), rest_.size());
      const std::string_view whole = rest_.substr(0, length);
      rest_.remove_prefix(std::min(length + 1, rest_.size()));
      ++number_;
      const Line line(whole.substr(0, whole.find('#')), number_);
      if (!line.done()) return line;
    }
    return {"", number_ + 1};
  }

  Status title() {
    const size_t length = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, length);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line != kTitle) {
      return {Code::invalid_argument, fmt::format("line 1: expected \"{}\", found {}", kTitle, shown(line))};
    }
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    number_ = 1;
    return {};
  }

  Status header() {
    Line line = next();
    if (!line.take_if("algorithm")) return line.expected("\"algorithm\"");
    if (!is_name(line.peek())) {
      return line.expected("the name of an algorithm (up to 64 letters, digits, '_', '-', '.')");
    }
    plan_.algorithm = line.take();
    WEIR_TRY(line.end());
    WEIR_TRY(collective());
    WEIR_TRY(field("ranks", plan_.shape.ranks, std::numeric_limits<Rank>::max()));
    if (next_word() == "relays")
      WEIR_TRY(field("relays", plan_.shape.relays, std::numeric_limits<Rank>::max()));
    if (has_root(plan_.shape.kind)) {
      WEIR_TRY(field("root", plan_.shape.root, std::numeric_limits<Rank>::max()));
    }
    WEIR_TRY(field("chunks", plan_.shape.chunks, kAnyNumber));
    WEIR_TRY(field("scratch", plan_.scratch_chunks, kAnyNumber));
    WEIR_TRY(sizes());
    return message();
  }

  /// The first word of the next line, which is not taken.
  std::string_view next_word() {
    const std::string_view rest = rest_;
    const size_t number = number_;
    const std::string_view word = next().peek();
    rest_ = rest;
    number_ = number;
    return word;
  }

  /// A line that may be missing.
  Status sizes() {
    if (next_word() != "bytes") return {};
    Line line = next();
    line.take();
    WEIR_TRY(line.number(plan_.least_bytes, "the least size of a block", kAnySize));
    const Line most = line;
    WEIR_TRY(line.number(plan_.most_bytes, "the greatest size of a block", kAnySize));
    if (plan_.most_bytes < plan_.least_bytes)
      return most.expected(fmt::format("a size that is not below {}", plan_.least_bytes));
    return line.end();
  }

  /// A line that may be missing.
  Status message() {
    if (next_word() != "message") return {};
    Line line = next();
    line.take();
    const Line bytes = line;
    WEIR_TRY(line.number(plan_.message_bytes, "the size of the largest message", kMostMessage));
    if (plan_.message_bytes < kLeastMessage)
      return bytes.expected(fmt::format("at least {} bytes", kLeastMessage));
    return line.end();
  }

  Status collective() {
    Line line = next();
    if (!line.take_if("collective")) return line.expected("\"collective\"");
    for (int kind = 0; kind < static_cast<int>(Collective::send_recv); ++kind) {
      plan_.shape.kind = static_cast<Collective>(kind);
      if (line.take_if(name(plan_.shape.kind))) return line.end();
    }
    return line.expected("a collective, as in all_reduce");
  }

  template <typename T>
  Status field(std::string_view word, T& value, uint64_t most) {
    Line line = next();
    if (!line.take_if(word)) return line.expected(fmt::format("\"{}\"", word));
    WEIR_TRY(line.number(value, fmt::format("the number after \"{}\"", word), most));
    return line.end();
  }

  Status move(size_t number, size_t moves) {
    Line line = next();
    size_t found = 0;
    const std::string number_wanted = fmt::format("move {} of {}", number, moves);
    if (line.done()) return line.expected(number_wanted);
    const Line start = line;
    WEIR_TRY(line.number(found, "the number of " + number_wanted, kAnyNumber));
    if (found != number) return start.expected("the number of " + number_wanted);
    Move& move = plan_.moves.emplace_back();
    if (line.take_if("local")) {
      WEIR_TRY(line.place(move.dst, move.dst_lane));
      move.src = move.dst;
      move.src_lane = move.dst_lane;
    } else {
      move.pull = line.peek() == "pull";
      move.push = line.peek() == "push";
      if (!line.take_if("send") && !line.take_if("pull") && !line.take_if("push")) {
        return line.expected("\"send\", \"pull\", \"push\" or \"local\"");
      }
      WEIR_TRY(line.place(move.src, move.src_lane));
      WEIR_TRY(line.place(move.dst, move.dst_lane));
    }
    if (!line.take_if("from")) return line.expected("\"from\"");
    WEIR_TRY(operand(line, move.from));
    if (line.take_if("with")) WEIR_TRY(operand(line, move.with));
    if (line.take_if("to")) WEIR_TRY(operand(line, move.to));
    if (line.take_if("chunks")) WEIR_TRY(line.number(move.chunks, "the number of chunks", kAnyNumber));
    if (move.src != move.dst && line.take_if("by")) WEIR_TRY(way(line, move.way));
    return line.end();
  }

  static Status way(Line& line, MoveWay& way) {
    for (int number = 1; number < kMoveWays; ++number) {
      way = static_cast<MoveWay>(number);
      if (line.take_if(name(way))) return {};
    }
    return line.expected("\"nvlink\", \"xgmi\", \"pcie\" or \"net\"");
  }

  static Status operand(Line& line, Operand& operand) {
    for (Kind kind : {Kind::input, Kind::output, Kind::scratch, Kind::value}) {
      if (!line.take_if(place_word(kind))) continue;
      operand.kind = kind;
      return line.number(operand.index,
                         kind == Kind::value ? "the number of a move" : "the number of a chunk", kAnyNumber);
    }
    return line.expected("\"input\", \"output\", \"scratch\" or \"value\"");
  }

  std::string_view rest_;
  size_t number_ = 0;  // number of the last line taken
  Plan plan_;
};

}  // namespace

std::string write_text(const Plan& plan) {
  const Shape& shape = plan.shape;
  std::string text = fmt::format("{}\nalgorithm {}\ncollective {}\nranks {}\n", kTitle, plan.algorithm,
                                 name(shape.kind), shape.ranks);
  if (shape.relays != 0) text += fmt::format("relays {}\n", shape.relays);
  if (has_root(shape.kind)) text += fmt::format("root {}\n", shape.root);
  text += fmt::format("chunks {}\nscratch {}\n", shape.chunks, plan.scratch_chunks);
  if (plan.least_bytes > 0 || plan.most_bytes < kAnySize)
    text += fmt::format("bytes {} {}\n", plan.least_bytes, plan.most_bytes);
  if (plan.message_bytes > 0) text += fmt::format("message {}\n", plan.message_bytes);
  text += fmt::format("moves {}\n", plan.moves.size());
  for (size_t m = 0; m < plan.moves.size(); ++m) write_move(text, m, plan.moves[m]);
  return text + "end\n";
}

Result<Plan> read_text(std::string_view text) { return Reader(text).read(); }

}  // namespace weir::ir
