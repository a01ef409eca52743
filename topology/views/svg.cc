// SPDX-License-Identifier: Apache-2.0

#include "topology/views/svg.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "topology/views/text.h"

namespace weir::topology {
namespace {

/// Pairs of light and dark colours; no CSS variables, because some SVG readers do not support them.
struct Colour {
  const char* selector;
  const char* property;
  const char* light;
  const char* dark;
};

constexpr Colour kColours[] = {
    {".frame", "fill", "#fbfcfd", "#181d23"},        {".frame", "stroke", "#ccd4dc", "#39424d"},
    {".head", "fill", "#e8edf2", "#262e37"},         {".head", "stroke", "#ccd4dc", "#39424d"},
    {".bridge,.dot", "fill", "#f1f4f7", "#20262e"},  {".bridge,.dot", "stroke", "#8d99a6", "#7b8794"},
    {".gpu,.ring", "fill", "#ffffff", "#0f1318"},    {".gpu,.ring", "stroke", "#27323d", "#c5ced8"},
    {".nic", "fill", "#edf4fb", "#152433"},          {".nic", "stroke", "#2b6cb0", "#62a6e8"},
    {".nvswitch", "fill", "#ebf6ee", "#14291b"},     {".nvswitch", "stroke", "#2f8f4e", "#5cc27d"},
    {".host", "fill", "#ffffff", "#0f1318"},         {".host", "stroke", "#27323d", "#c5ced8"},
    {".switch", "fill", "#edf4fb", "#152433"},       {".switch", "stroke", "#2b6cb0", "#62a6e8"},
    {".pci", "stroke", "#8492a0", "#7f8d9b"},        {".cpu", "stroke", "#b7791f", "#d9a24a"},
    {".nvlink", "stroke", "#2f8f4e", "#5cc27d"},     {".xgmi", "stroke", "#cc4a2f", "#f07f63"},
    {".c2c", "stroke", "#7c4dbd", "#b08ce6"},        {".inner", "stroke", "#a3aeb9", "#5d6874"},
    {".cable", "stroke", "#2b6cb0", "#62a6e8"},      {"text", "fill", "#1c252e", "#e6ebf0"},
    {".muted,.faint", "fill", "#5f6c79", "#9aa6b2"}, {".warning", "fill", "#9a5b00", "#e5b062"},
    {".heat0", "stroke", "#c8d0d8", "#3a434d"},      {".heat1", "stroke", "#8fb4d9", "#46719c"},
    {".heat2", "stroke", "#5f9e6e", "#5b9e6c"},      {".heat3", "stroke", "#d9a520", "#d9b13b"},
    {".heat4", "stroke", "#e0702a", "#ec8a4a"},      {".heat5", "stroke", "#c2261d", "#ff6257"},
    {".paper", "fill", "#ffffff", "#12161b"},        {".ground", "fill", "#fbfcfd", "#181d23"},
};

constexpr const char* kFixed =
    "{0} text{{font-family:ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica "
    "Neue',Helvetica,Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}}\n"
    "{0} .title,{0} .strong{{font-weight:600}}\n"
    "{0} .frame,{0} .head,{0} .bridge,{0} .dot{{stroke-width:1}}\n"
    "{0} .gpu,{0} .ring,{0} .nic,{0} .nvswitch,{0} .host,{0} .switch{{stroke-width:1.4}}\n"
    "{0} .wire path{{fill:none}}\n"
    "{0} .reach{{stroke:transparent;stroke-width:12}}\n"
    "{0} .unknown{{stroke-dasharray:5 3}}\n"
    "{0} .held{{stroke-dasharray:1 3}}\n";

/// The smallest readable scale, as a fraction of the full size.
constexpr double kSmallest = 0.72;

const char* css_class(BoxStyle style) {
  static constexpr std::array<const char*, 10> kNames = {"frame", "head", "bridge",   "dot",  "gpu",
                                                         "ring",  "nic",  "nvswitch", "host", "switch"};
  return kNames[static_cast<size_t>(style)];
}

const char* css_class(TextStyle style) {
  static constexpr std::array<const char*, 7> kNames = {"title",   "strong", "plain", "muted",
                                                        "warning", "label",  "faint"};
  return kNames[static_cast<size_t>(style)];
}

const char* css_class(LinkKind kind) {
  static constexpr std::array<const char*, kLinkKinds> kNames = {"pci", "cpu",   "nvlink", "xgmi",
                                                                 "c2c", "inner", "cable"};
  return kNames[static_cast<size_t>(kind)];
}

/// The colour of a wire with traffic shows its load.
std::string css_class(LinkKind kind, double busy) {
  if (busy < 0) return css_class(kind);
  const int heat = busy <= 0      ? 0
                   : busy <= 0.25 ? 1
                   : busy <= 0.5  ? 2
                   : busy <= 0.75 ? 3
                   : busy < 0.95  ? 4
                                  : 5;
  return fmt::format("heat{}", heat);
}

double radius(const Box& box) {
  switch (box.style) {
    case BoxStyle::ring:
    case BoxStyle::dot: return box.rect.width / 2;
    case BoxStyle::frame:
    case BoxStyle::head: return 6;
    default: return 4;
  }
}

class Writer {
 public:
  explicit Writer(const Drawing& drawing) : drawing_(drawing) {}

  std::string write(const std::string& style) {
    // In a page a drawing shrinks with the window as long as it is readable.
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"topology\" role=\"img\" "
        "viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\"{2}>\n",
        drawing_.width, drawing_.height,
        style.empty() ? fmt::format(" style=\"min-width:{:.0f}px\"", kSmallest * drawing_.width) : "");
    add("<title>{}</title>\n", escaped(drawing_.title));
    if (!style.empty()) {
      add("<style>\n{}</style>\n", style);
      add("<rect class=\"paper\" width=\"{:g}\" height=\"{:g}\"/>\n", drawing_.width, drawing_.height);
    }
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
      if (drawing_.boxes[i].style == BoxStyle::frame) box(i);
    }
    for (size_t i = 0; i < drawing_.wires.size(); ++i) wire(i);
    for (const Text& text : drawing_.texts) {
      if (text.wire >= 0) label(text);
    }
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
      if (drawing_.boxes[i].style != BoxStyle::frame) box(i);
    }
    for (const Text& text : drawing_.texts) {
      if (text.box < 0 && text.wire < 0) this->text(text);
    }
    for (const Sample& sample : drawing_.samples) {
      add("<path class=\"{}{}\" stroke-width=\"{:.2f}\" d=\"M{:g} {:g}h{:g}\"/>\n",
          css_class(sample.kind, sample.busy), sample.known ? "" : " unknown", sample.width, sample.from.x,
          sample.from.y, sample.length);
    }
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  void facts(const std::string& facts) {
    if (!facts.empty()) add("<title>{}</title>", escaped(facts));
  }

  void rect(const Rect& rect, double radius, const char* style, double shift) {
    add("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" rx=\"{:g}\"/>",
        style, rect.x + shift, rect.y - shift, rect.width, rect.height, radius);
  }

  void box(size_t number) {
    const Box& box = drawing_.boxes[number];
    const char* style = css_class(box.style);
    const std::string twin = box.twin < 0 ? "" : fmt::format(" data-twin=\"{}\"", box.twin);
    add("<g class=\"box\" data-box=\"{}\"{}>", number, twin);
    facts(box.facts);
    for (const double shift : {6.0, 3.0}) {
      if (box.pile) rect(box.rect, radius(box), style, shift);
    }
    rect(box.rect, radius(box), style, 0);
    for (const Text& text : drawing_.texts) {
      if (text.box == static_cast<int>(number)) this->text(text);
    }
    out_ += "</g>\n";
  }

  void wire(size_t number) {
    const Wire& wire = drawing_.wires[number];
    const auto& p = wire.points;
    const std::string path =
        p.size() == 4 ? fmt::format("M{:.2f} {:.2f}C{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f}", p[0].x,
                                    p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y)
                      : fmt::format("M{:.2f} {:.2f}L{:.2f} {:.2f}", p[0].x, p[0].y, p[1].x, p[1].y);
    add("<g class=\"wire\" data-wire=\"{}\" data-a=\"{}\" data-b=\"{}\">", number, wire.a, wire.b);
    facts(wire.facts);
    add("<path class=\"{}{}\" stroke-width=\"{:.2f}\" d=\"{}\"/>", css_class(wire.kind, wire.busy),
        !wire.link   ? " held"
        : wire.known ? ""
                     : " unknown",
        wire.width, path);
    if (wire.out)
      add("<path class=\"{}\" stroke-width=\"1.4\" d=\"M{:.2f} {:.2f}l5 6l5 -6\"/>",
          css_class(wire.kind, wire.busy), p.back().x - 5, p.back().y - 1);
    if (wire.link && wire.width < 10) add("<path class=\"reach\" d=\"{}\"/>", path);
    out_ += "</g>\n";
  }

  /// A label interrupts its wire: the background shows behind it.
  void label(const Text& text) {
    const Rect own = text.rect();
    bool framed = false;
    for (const Box& box : drawing_.boxes)
      framed = framed || (box.style == BoxStyle::frame && box.rect.holds(own));
    add("<g class=\"word\" data-wire=\"{}\">", text.wire);
    rect({own.x - 1, own.y - 1.5, own.width + 2, own.height + 3}, 2, framed ? "ground" : "paper", 0);
    this->text(text);
    out_ += "</g>\n";
  }

  void text(const Text& text) {
    add("<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\"{}>{}</text>", css_class(text.style),
        text.x, text.y, text.size, text.centered ? " text-anchor=\"middle\"" : "", escaped(text.text));
  }

  const Drawing& drawing_;
  std::string out_;
};

std::string colours(bool dark) {
  std::string text;
  for (const Colour& colour : kColours) {
    std::string_view rest = colour.selector;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      text += fmt::format("svg.topology {}", rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      text += rest.empty() ? "" : ",";
    }
    text += fmt::format("{{{}:{}}}\n", colour.property, dark ? colour.dark : colour.light);
  }
  return text;
}

}  // namespace

std::string style_sheet() {
  return fmt::format(fmt::runtime(kFixed), "svg.topology") + colours(false) +
         "@media (prefers-color-scheme:dark){\n" + colours(true) + "}\n";
}

std::string svg_body(const Drawing& drawing) { return Writer(drawing).write(""); }

std::string svg_of_host(const Graph& graph, Index host, const LinkTraffic& traffic) {
  return Writer(layout_of_host(graph, host, "", traffic)).write(style_sheet());
}

std::string svg_of_fabric(const Graph& graph, const LinkTraffic& traffic) {
  return Writer(layout_of_fabric(graph, traffic)).write(style_sheet());
}

}  // namespace weir::topology
