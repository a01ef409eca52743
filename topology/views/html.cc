// SPDX-License-Identifier: Apache-2.0

#include "topology/views/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "src/base/text.h"
#include "topology/model/derive.h"
#include "topology/views/layout.h"
#include "topology/views/svg.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr size_t kMostShownClasses = 24;

constexpr const char* kStyle = R"css(
:root{--paper:#fff;--ink:#1c252e;--muted:#5f6c79;--line:#dde3e9;--chosen:#e8edf2;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e6ebf0;--muted:#9aa6b2;--line:#2c343d;--chosen:#262e37}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.45 ui-sans-serif,system-ui,"Segoe UI",Roboto,
"Helvetica Neue",Helvetica,Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1960px;margin:0 auto;padding:36px 24px 64px}
h2{font-size:15px;font-weight:600;margin:0 0 10px}
h1{font-size:22px;font-weight:600;margin:0 0 22px}
.numbers{display:flex;flex-wrap:wrap;gap:0;margin:0 0 34px;padding:0;border-top:1px solid var(--line);
border-bottom:1px solid var(--line)}
.numbers div{padding:12px 36px 12px 0}
.numbers dt{color:var(--muted);font-size:12px}
.numbers dd{margin:0;font-size:24px;font-weight:600;line-height:1.25}
section{margin:0 0 44px}
.sheet{overflow-x:auto}
.sheet{margin:0 -28px}
.sheet svg{display:block;max-width:100%;height:auto}
nav{display:flex;flex-wrap:wrap;gap:8px;margin:0 0 18px}
nav button{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:6px;padding:6px 14px;
text-align:left;cursor:pointer}
nav button small{display:block;color:var(--muted);font-size:12px}
nav button[aria-pressed=true]{background:var(--chosen);border-color:var(--muted)}
nav button:focus-visible{outline:2px solid #2b6cb0;outline-offset:2px}
#facts{position:fixed;z-index:1;max-width:440px;padding:9px 13px;background:var(--paper);border:1px solid var(--muted);
border-radius:6px;box-shadow:0 4px 18px #0003;font-size:12.5px;white-space:pre-line;overflow-wrap:anywhere;
pointer-events:none}
#facts b{display:block;font-weight:600}
#facts:empty{display:none}
svg.picked .wire:not(.on),svg.picked .word:not(.on) text,svg.picked .box:not(.on) text{opacity:.22}
svg.picked .box:not(.on) rect{stroke-opacity:.22}
footer{color:var(--muted);font-size:12px}
@media print{nav,#facts{display:none}}
)css";

constexpr const char* kScript = R"js(
'use strict';
const card = document.getElementById('facts');
// The card replaces the browser's own slow tooltips.
for (const title of document.querySelectorAll('svg title')) {
  const owner = title.parentNode;
  if (owner.matches('g')) owner.dataset.facts = title.textContent;
  owner.setAttribute('aria-label', title.textContent);
  title.remove();
}
let picked = null;
function release() {
  if (picked) picked.ownerSVGElement.classList.remove('picked');
  for (const on of document.querySelectorAll('.on')) on.classList.remove('on');
  picked = null;
  card.textContent = '';
}
function pick(group) {
  release();
  picked = group;
  const svg = group.ownerSVGElement;
  // A GPU may be drawn twice: in its host, and on a ring for its links.
  const boxes = n => [...svg.querySelectorAll(`.box[data-box="${n}"],.box[data-twin="${n}"]`)];
  const on = [group];
  if (group.matches('.wire')) {
    on.push(...boxes(group.dataset.a), ...boxes(group.dataset.b));
  } else {
    const own = [group.dataset.box, group.dataset.twin].filter(n => n !== undefined);
    on.push(...boxes(group.dataset.box));
    for (const wire of svg.querySelectorAll('.wire')) {
      if (own.includes(wire.dataset.a) || own.includes(wire.dataset.b))
        on.push(wire, ...boxes(wire.dataset.a), ...boxes(wire.dataset.b));
    }
  }
  const words = on.filter(e => e && e.matches('.wire'))
    .flatMap(e => [...svg.querySelectorAll(`.word[data-wire="${e.dataset.wire}"]`)]);
  for (const element of [...on, ...words]) if (element) element.classList.add('on');
  svg.classList.add('picked');
  const [head, ...rest] = group.dataset.facts.split('\n');
  const bold = document.createElement('b');
  bold.textContent = head;
  card.replaceChildren(bold, rest.join('\n'));
}
document.addEventListener('pointerover', event => {
  const word = event.target.closest('.word');
  const group = word ? word.ownerSVGElement.querySelector(`.wire[data-wire="${word.dataset.wire}"]`)
    : event.target.closest('g[data-facts]');
  if (!group) release(); else if (group !== picked) pick(group);
});
document.addEventListener('pointermove', event => {
  const x = Math.min(event.clientX + 16, innerWidth - card.offsetWidth - 8);
  const low = event.clientY + 18 + card.offsetHeight > innerHeight;
  card.style.left = Math.max(8, x) + 'px';
  card.style.top = (low ? event.clientY - card.offsetHeight - 12 : event.clientY + 18) + 'px';
});
const buttons = [...document.querySelectorAll('nav button')];
const sheets = [...document.querySelectorAll('[data-class]')];
function choose(number) {
  buttons.forEach((button, i) => button.setAttribute('aria-pressed', i === number));
  sheets.forEach((sheet, i) => { sheet.hidden = i !== number; });
}
buttons.forEach((button, i) => button.addEventListener('click', () => choose(i)));
if (buttons.length) choose(0);
)js";

/// Hosts that differ only in names.
struct HostClass {
  Index first = kNone;
  int64_t hosts = 0;
};

std::vector<HostClass> classes_of(const Graph& graph) {
  const std::vector<Index> hosts = graph.all(NodeKind::host);
  const std::vector<int> numbers = host_classes(graph);
  std::vector<HostClass> classes;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (static_cast<size_t>(numbers[i]) == classes.size()) classes.push_back({hosts[i], 0});
    ++classes[static_cast<size_t>(numbers[i])].hosts;
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [](const HostClass& a, const HostClass& b) { return a.hosts > b.hosts; });
  return classes;
}

int64_t count(const Graph& graph, NodeKind kind) { return static_cast<int64_t>(graph.all(kind).size()); }

class Page {
 public:
  Page(const Graph& graph, const TopologyPage& content)
      : graph_(graph), content_(content), classes_(classes_of(graph)) {}

  std::string write() {
    const std::string title = escaped(content_.title);
    add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{}</title>\n<style>{}{}</style>\n"
        "</head>\n<body>\n<main>\n<h1>{}</h1>\n",
        title, kStyle, style_sheet(), title);
    numbers();
    for (const std::string& sentence : content_.sentences) add("<p>{}</p>\n", escaped(sentence));
    if (count(graph_, NodeKind::host) != 1 || count(graph_, NodeKind::fabric_switch) > 0)
      add("<section class=\"sheet\">\n{}</section>\n", svg_body(layout_of_fabric(graph_, content_.traffic)));
    hosts();
    out_ += content_.picture;
    add("<footer>Point at a box or a line to see its details.</footer>\n</main>\n"
        "<div id=\"facts\" role=\"status\"></div>\n<script>{}</script>\n</body>\n</html>\n",
        kScript);
    return std::move(out_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  void numbers() {
    out_ += "<dl class=\"numbers\">\n";
    for (const auto& [what, much] : content_.numbers)
      add("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(what), escaped(much));
    out_ += "</dl>\n";
  }

  void hosts() {
    if (classes_.empty()) return;
    const size_t shown = std::min(classes_.size(), kMostShownClasses);
    out_ += "<section>\n";
    if (shown > 1) {
      out_ += "<nav aria-label=\"Classes of hosts\">\n";
      for (size_t i = 0; i < shown; ++i) {
        add("<button type=\"button\" aria-pressed=\"{}\">{}<small>{}</small></button>\n", i == 0,
            escaped(fitted(graph_[classes_[i].first].name, 200, 14)), alike(classes_[i]));
      }
      out_ += "</nav>\n";
    }
    if (shown < classes_.size())
      add("<p>There are {} classes of hosts; the {} with the most hosts are shown.</p>\n", classes_.size(),
          shown);
    for (size_t i = 0; i < shown; ++i) {
      add("<div class=\"sheet\" data-class=\"{}\">\n{}</div>\n", i,
          svg_body(layout_of_host(graph_, classes_[i].first, classes_[i].hosts > 1 ? alike(classes_[i]) : "",
                                  content_.traffic)));
    }
    out_ += "</section>\n";
  }

  static std::string alike(const HostClass& own) {
    return own.hosts == 1 ? "The only host of its class"
                          : fmt::format("{} of this class", plural(own.hosts, "host"));
  }

  const Graph& graph_;
  const TopologyPage& content_;
  const std::vector<HostClass> classes_;
  std::string out_;
};

std::string summary(const Graph& graph) {
  const std::string hosts = plural(count(graph, NodeKind::host), "host");
  const int64_t gpus = count(graph, NodeKind::gpu);
  return gpus > 0 ? fmt::format("{} in {}", plural(gpus, "GPU"), hosts) : hosts;
}

}  // namespace

std::string html_of(const Graph& graph, const TopologyPage& content) { return Page(graph, content).write(); }

std::string html_of(const Graph& graph) {
  TopologyPage content;
  content.title = summary(graph);
  const auto number = [&](int64_t value, const char* one, const char* many) {
    if (value > 0) content.numbers.emplace_back(value == 1 ? one : many, std::to_string(value));
  };
  number(count(graph, NodeKind::host), "host", "hosts");
  number(count(graph, NodeKind::gpu), "GPU", "GPUs");
  number(count(graph, NodeKind::nic), "NIC", "NICs");
  int64_t leaves = 0, spines = 0, others = 0;
  for (const Index node : graph.all(NodeKind::fabric_switch)) {
    const int level = graph.get<FabricSwitchFacts>(node)->level;
    ++(level == 1 ? leaves : level == 2 ? spines : others);
  }
  number(leaves, "leaf", "leaves");
  number(spines, "spine", "spines");
  number(others, "other switch", "other switches");
  return html_of(graph, content);
}

}  // namespace weir::topology
