// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

constexpr size_t kMostYamlDepth = 50;
constexpr size_t kMostValues = 1'000'000;

struct DeleteParser {
  void operator()(yaml_parser_t* parser) const {
    yaml_parser_delete(parser);
    delete parser;
  }
};

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* operator->() { return &event_; }
  yaml_event_t* get() { return &event_; }
  size_t line() const { return event_.start_mark.line + 1; }

 private:
  yaml_event_t event_{};
};

class YamlParser {
 public:
  explicit YamlParser(const Source& source) : source_(source), parser_(new yaml_parser_t) {
    yaml_parser_initialize(parser_.get());
    yaml_parser_set_input_string(parser_.get(), reinterpret_cast<const unsigned char*>(source.text.data()),
                                 source.text.size());
  }

  Result<YamlNode> run() {
    for (bool more = true; more;) {
      Event event;
      if (yaml_parser_parse(parser_.get(), event.get()) == 0) {
        return refuse(source_, parser_->problem_mark.line + 1,
                      fmt::format("this is not well-formed YAML: {}",
                                  parser_->problem ? parser_->problem : "no memory"));
      }
      more = event->type != YAML_STREAM_END_EVENT;
      WEIR_TRY(take(event));
    }
    if (documents_ == 0) return refuse(source_, 1, "the file contains no YAML document");
    return std::move(root_);
  }

 private:
  /// An open mapping or sequence; a mapping may have a pending key.
  struct Open {
    YamlNode* node;
    bool has_key = false;
    std::unordered_set<std::string> keys;
  };

  Status take(Event& event) {
    switch (event->type) {
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ > 1) return refuse(source_, event.line(), "a second document begins; expected one");
        return {};
      case YAML_ALIAS_EVENT: return refuse(source_, event.line(), "aliases (*name) are not supported");
      case YAML_SCALAR_EVENT: return scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return begin(event, YamlNode::Kind::sequence, event->data.sequence_start.anchor,
                     event->data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return begin(event, YamlNode::Kind::mapping, event->data.mapping_start.anchor,
                     event->data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: open_.pop_back(); return {};
      default: return {};
    }
  }

  Status scalar(Event& event) {
    const auto& data = event->data.scalar;
    WEIR_TRY(check_extras(event, data.anchor, data.tag));
    std::string text(reinterpret_cast<const char*>(data.value), data.length);
    if (!open_.empty() && open_.back().node->kind == YamlNode::Kind::mapping && !open_.back().has_key) {
      if (!open_.back().keys.insert(text).second)
        return refuse(source_, event.line(), fmt::format("the key {} occurs twice", shown(text)));
      open_.back().node->keys.push_back(std::move(text));
      open_.back().has_key = true;
      return {};
    }
    YamlNode* node = nullptr;
    WEIR_TRY(add(event, node));
    node->text = std::move(text);
    return {};
  }

  Status begin(Event& event, YamlNode::Kind kind, const yaml_char_t* anchor, const yaml_char_t* tag) {
    WEIR_TRY(check_extras(event, anchor, tag));
    if (open_.size() >= kMostYamlDepth)
      return refuse(source_, event.line(),
                    fmt::format("values are nested more than {} deep", kMostYamlDepth));
    YamlNode* node = nullptr;
    WEIR_TRY(add(event, node));
    node->kind = kind;
    open_.push_back({node, false, {}});
    return {};
  }

  Status check_extras(Event& event, const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor != nullptr) return refuse(source_, event.line(), "anchors (&name) are not supported");
    if (tag != nullptr) return refuse(source_, event.line(), "tags (!name) are not supported");
    return {};
  }

  /// Adds a value to the open container. Pointers to outer nodes stay valid, because only the deepest open
  /// one grows.
  Status add(Event& event, YamlNode*& node) {
    if (open_.empty()) {
      node = &root_;
    } else {
      Open& open = open_.back();
      if (open.node->kind == YamlNode::Kind::mapping && !open.has_key)
        return refuse(source_, event.line(), "a key is a list or mapping; expected a word");
      open.has_key = false;
      node = &open.node->items.emplace_back();
    }
    if (++values_ > kMostValues)
      return refuse(source_, event.line(), fmt::format("the file has more than {} values", kMostValues));
    node->line = event.line();
    return {};
  }

  const Source& source_;
  std::unique_ptr<yaml_parser_t, DeleteParser> parser_;
  YamlNode root_;
  std::vector<Open> open_;
  int documents_ = 0;
  size_t values_ = 0;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
}

Result<YamlNode> parse_yaml(const Source& source) {
  WEIR_TRY(check_text(source));
  return YamlParser(source).run();
}

}  // namespace weir::topology
