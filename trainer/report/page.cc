// SPDX-License-Identifier: Apache-2.0

#include "trainer/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace weir::trainer {
namespace {

constexpr const char* kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1d2430; --faint: #6b7686; --grid: #dfe4ea; --paper: #ffffff;
  --c0: #9bb8dd; --c1: #1f5fa8; --c2: #c2410c;
  --forward: #5b8ec9; --backward: #1f5fa8; --update: #4d7c0f; --wait: #d9dee5; --gather: #e8a33d; --reduce: #c2410c;
  --move: #8b6fc0; --sum: #3b9c93; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --faint: #98a2b3; --grid: #303846; --paper: #14181f;
  --c0: #3d5a80; --c1: #7fb2f0; --c2: #fb923c;
  --forward: #7fb2f0; --backward: #3f7cc4; --update: #a3e635; --wait: #303846; --gather: #f0c06a; --reduce: #fb923c;
  --move: #b39ddb; --sum: #5fc4ba; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 780px;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; } td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
td:first-child { color: var(--faint); white-space: nowrap; } td { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; margin: .8rem 0; }
text { fill: var(--ink); font: 12px system-ui, sans-serif; } .title { font-size: 14px; font-weight: 600; }
.tick { fill: var(--faint); font-weight: 400; font-size: 11px; } .grid { stroke: var(--grid); }
.level { stroke: var(--faint); stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
polyline.s0 { stroke: var(--c0); } polyline.s1 { stroke: var(--c1); } polyline.s2 { stroke: var(--c2); }
circle.s0 { fill: var(--c0); } circle.s1 { fill: var(--c1); } circle.s2 { fill: var(--c2); }
.name { font-weight: 600; } .t0 { fill: var(--c0); } .t1 { fill: var(--c1); } .t2 { fill: var(--c2); }
.forward { fill: var(--forward); } .backward { fill: var(--backward); } .update { fill: var(--update); }
.wait { fill: var(--wait); } .gather { fill: var(--gather); } .reduce { fill: var(--reduce); } .move { fill: var(--move); }
.sum { fill: var(--sum); } .block { font-size: 9px; fill: var(--paper); pointer-events: none; }
pre { background: color-mix(in srgb, var(--grid) 45%, transparent); padding: .8rem; white-space: pre-wrap; }
.key span { margin-right: 1rem; } .key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; }
</style>
)";

/// Running mean of each value and the up to `width` - 1 values before it.
std::vector<std::pair<double, double>> smoothed(const std::vector<StepRow>& rows, size_t width) {
  std::vector<std::pair<double, double>> means;
  double sum = 0;
  for (size_t at = 0; at < rows.size(); ++at) {
    sum += rows[at].bits;
    if (at >= width) sum -= rows[at - width].bits;
    means.emplace_back(rows[at].step, sum / static_cast<double>(std::min(at + 1, width)));
  }
  return means;
}

std::vector<std::pair<double, double>> column(const std::vector<StepRow>& rows, double StepRow::*member) {
  std::vector<std::pair<double, double>> points;
  for (const StepRow& row : rows) points.emplace_back(row.step, row.*member);
  return points;
}

std::string plots_of(const TrainingPage& content) {
  const auto& rows = content.steps;
  Plot loss{"Loss", "bits per " + content.symbol, {}, content.levels, false, true};
  loss.series = {{"each step", column(rows, &StepRow::bits)},
                 {"mean", smoothed(rows, std::max<size_t>(rows.size() / 50, 1))},
                 {"held out", content.held_out, true}};
  Plot speed{"Throughput", "tokens/s of all ranks", {}, {}, true};
  speed.series = {{"tokens/s", column(rows, &StepRow::tokens_per_second)}};
  std::string plots = svg_of(loss) + svg_of(speed);
  if (std::ranges::all_of(rows, [](const StepRow& row) { return row.busy_ms == 0; })) return plots;
  Plot wire{"Communication",
            fmt::format("ms per step of the first rank, {:.1f} MB received and sent", rows.back().megabytes),
            {},
            {},
            true};
  wire.series = {{"in flight", column(rows, &StepRow::busy_ms)},
                 {"exposed", column(rows, &StepRow::exposed_ms)}};
  return plots + svg_of(wire);
}

/// Rows per rank: one rank alone only computes, and the last row is for ranks that have a part of the model.
size_t rows_of(const Timeline& timeline) {
  if (timeline.spans.size() == 1) return 1;
  for (const auto& spans : timeline.spans)
    if (std::ranges::any_of(spans, [](const Span& span) { return span.row == Row::parts; }))
      return kRowNames.size();
  return kRowNames.size() - 1;
}

/// With the name of the unit, or of what is done, where there is space for it.
void draw_span(std::string& svg, const Span& span, const std::string& unit, double x, double y, double width,
               double height) {
  const auto out = std::back_inserter(svg);
  const std::string phase(kPhaseNames[static_cast<size_t>(span.phase)]);
  fmt::format_to(
      out,
      "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"><title>{}{}: "
      "{:.2f} ms</title></rect>\n",
      phase, x, y, std::max(0.3, width), height, phase, unit.empty() ? "" : " " + escaped(unit),
      static_cast<double>(span.nanoseconds) / 1e6);
  const std::string& name = unit.empty() ? phase : unit;
  constexpr double kLetter = 5.2;  // width of most letters of the style "block"
  if (span.phase != Phase::wait && static_cast<double>(name.size()) * kLetter + 4 <= width)
    fmt::format_to(out, "<text class=\"block\" text-anchor=\"middle\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>\n",
                   x + width / 2, y + height - 2, escaped(name));
}

/// The rows of all ranks in the last step, to scale.
std::string timeline_of(const TrainingPage& content) {
  constexpr double kWidth = 720, kLeft = 130, kRow = 13, kGap = 8;
  constexpr size_t kMostRanks = 16;
  int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  for (const auto& spans : content.last_step.spans) {
    for (const Span& span : spans) {
      begin = std::min(begin, span.begin_ns);
      end = std::max(end, span.begin_ns + span.nanoseconds);
    }
  }
  if (begin >= end) return "";
  const size_t ranks = std::min(content.last_step.spans.size(), kMostRanks);
  const size_t rows = rows_of(content.last_step);
  const double height = static_cast<double>(ranks) * (static_cast<double>(rows) * kRow + kGap) + 24;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {:.0f}\">\n", kWidth, height);
  const auto out = std::back_inserter(svg);
  const double scale = (kWidth - kLeft - 4) / static_cast<double>(end - begin);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const double top = static_cast<double>(rank) * (static_cast<double>(rows) * kRow + kGap);
    for (size_t row = 0; row < rows; ++row)
      fmt::format_to(out, "<text class=\"tick\" x=\"0\" y=\"{:.1f}\">{} {}</text>\n",
                     top + static_cast<double>(row + 1) * kRow - 2,
                     row == 0 ? fmt::format("rank {}:", rank) : "", kRowNames[row]);
    for (const Span& span : content.last_step.spans[rank]) {
      const std::string unit =
          span.unit >= 0 ? content.last_step.units.at(static_cast<size_t>(span.unit)) : "";
      draw_span(svg, span, unit, kLeft + static_cast<double>(span.begin_ns - begin) * scale,
                top + static_cast<double>(span.row) * kRow, static_cast<double>(span.nanoseconds) * scale,
                kRow - 2);
    }
  }
  fmt::format_to(out, "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\">0</text>", kLeft, height - 6);
  fmt::format_to(out,
                 "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{:.1f} ms</text>\n</svg>\n",
                 kWidth, height - 6, static_cast<double>(end - begin) / 1e6);
  return svg;
}

/// The colours of the kinds that the timeline has.
std::string key_of(const Timeline& timeline) {
  constexpr const char* kWords[] = {
      "forward",        "backward", "update", "waiting", "gather", "reduce", "move to another stage",
      "sum over slices"};
  static_assert(std::size(kWords) == kPhaseNames.size());
  std::array<bool, kPhaseNames.size()> seen{};
  for (const auto& spans : timeline.spans)
    for (const Span& span : spans) seen[static_cast<size_t>(span.phase)] = true;
  std::string key = "<p class=\"key\">";
  for (size_t phase = 0; phase < seen.size(); ++phase)
    if (seen[phase])
      key += fmt::format("<span><i style=\"background: var(--{})\"></i>{}</span>", kPhaseNames[phase],
                         kWords[phase]);
  return key + "</p>\n";
}

}  // namespace

std::string page_of(const TrainingPage& content) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n{1}</head>\n<body>\n<h1>{0}</h1>\n<table>\n",
      escaped(content.title), kStyle);
  for (const auto& [name, value] : content.facts)
    page += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(name), escaped(value));
  page += "</table>\n" + plots_of(content);
  if (const std::string timeline = timeline_of(content); !timeline.empty())
    page += "<h2>The last step</h2>\n" + key_of(content.last_step) + timeline;
  if (!content.text.empty()) page += "<h2>What it writes</h2>\n<pre>" + escaped(content.text) + "</pre>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace weir::trainer
