//===- Style.h - How a page looks and answers -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_STYLE_H
#define REGATHER_LIB_REPORT_STYLE_H

#include "llvm/ADT/StringRef.h"

namespace regather::report {

inline constexpr llvm::StringLiteral kStyle = R"css(
:root {
  --paper: #ffffff; --ink: #1c2430; --quiet: #5d6b7e; --line: #e3e8ef;
  --panel: #f6f8fb; --accent: #1f5fbf; --good: #15803d; --bad: #b45309;
  --use0: #a7b4c6; --use1: #3b82d6; --use2: #f2a33a; --use3: #3aa876;
  --use4: #9d85d8; --phase0: #f4f7fb; --phase1: #fbf7f0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161d; --ink: #dfe6f0; --quiet: #94a2b8; --line: #2a3340;
    --panel: #1a212b; --accent: #7ab0f5; --good: #5cc98a; --bad: #e5a54b;
    --use0: #55647a; --use1: #3a7bc8; --use2: #c98a2f; --use3: #31936a;
    --use4: #7f69b8; --phase0: #161c25; --phase1: #1d1b18;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 32px 28px 80px; max-width: 1100px;
  background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
}
h1 { font-size: 26px; font-weight: 650; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 19px; font-weight: 620; margin: 48px 0 6px; }
h3 { font-size: 15px; font-weight: 600; margin: 24px 0 4px; }
p { margin: 4px 0 12px; max-width: 78ch; }
.quiet, .lead { color: var(--quiet); }
code, .code { font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, monospace; }
nav { margin: 14px 0 22px; display: flex; flex-wrap: wrap; gap: 4px 18px; }
nav a { color: var(--accent); text-decoration: none; }
nav a:hover { text-decoration: underline; }
.chips { display: flex; flex-wrap: wrap; gap: 6px; margin: 10px 0 0; }
.chips span {
  border: 1px solid var(--line); border-radius: 999px; padding: 1px 10px;
  font-size: 13px; color: var(--quiet); background: var(--panel);
}
.cards { display: flex; flex-wrap: wrap; gap: 12px; }
.card {
  flex: 1 1 250px;
  border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px;
  background: var(--panel);
}
.card b { display: block; font-size: 24px; font-weight: 640; line-height: 1.3; }
.card .label { color: var(--quiet); font-size: 13px; }
.card .note { color: var(--quiet); font-size: 13px; }
.better { color: var(--good); } .worse { color: var(--bad); }
.scroll { overflow-x: auto; margin: 8px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th {
  text-align: left; font-weight: 600; font-size: 12.5px; color: var(--quiet);
  border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0;
}
td {
  border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0;
  vertical-align: top;
}
td.code { overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }
td.number { font-variant-numeric: tabular-nums; }
tfoot td { font-weight: 640; border-bottom: 0; }
.bar {
  display: inline-block; height: 8px; margin-left: 8px; border-radius: 2px;
  background: var(--use1); vertical-align: 1px; opacity: .75;
}
.tag {
  border-radius: 4px; padding: 0 7px; font-size: 12.5px; white-space: nowrap;
  border: 1px solid var(--line);
}
.tag.kept { color: var(--bad); } .tag.again { color: var(--good); }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 6px 14px;
  align-items: center; font-size: 14px; }
.bars .track { display: flex; align-items: center; gap: 10px; }
.bars i { display: block; height: 14px; border-radius: 3px; min-width: 2px;
  background: var(--accent); opacity: .8; }
.bars .track span { color: var(--quiet); white-space: nowrap; font-variant-numeric: tabular-nums; }
#advice td:first-child { max-width: 62ch; }
details { margin: 6px 0 10px; }
summary { cursor: pointer; color: var(--accent); font-size: 14px; }
figure { margin: 6px 0; }
figcaption { font-size: 13px; font-weight: 600; color: var(--quiet); }
.chart svg { width: 100%; height: auto; display: block; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; }
.legend .key { width: 12px; height: 12px; margin-right: 6px; }
.readout {
  margin: 0 0 8px; font-size: 12.5px; color: var(--quiet); max-width: none;
  font-variant-numeric: tabular-nums; min-height: 1.5em;
}
.use0 { fill: var(--use0); } .use1 { fill: var(--use1); }
.use2 { fill: var(--use2); } .use3 { fill: var(--use3); }
.use4 { fill: var(--use4); }
.phase0 { fill: var(--phase0); } .phase1 { fill: var(--phase1); }
.grid { stroke: var(--quiet); stroke-opacity: .22; stroke-width: 1; }
.boundary { stroke: var(--ink); stroke-opacity: .55; stroke-width: 1; }
.outline {
  stroke: var(--ink); stroke-width: 1.3; fill: none; stroke-dasharray: 4 3;
}
.cursor { stroke: var(--ink); stroke-width: 1; visibility: hidden; }
circle.peak { fill: var(--ink); stroke: var(--paper); stroke-width: 1.5; }
svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
svg text.tick { text-anchor: end; }
svg text.phase { text-anchor: middle; font-weight: 600; }
svg text.peak { fill: var(--ink); font-weight: 640; }
svg text.right { text-anchor: end; }
footer { margin-top: 56px; color: var(--quiet); font-size: 13px; }
@media print { body { max-width: none; } details { display: none; } }
)css";

/// Shows below a chart what is in use where the mouse is.
inline constexpr llvm::StringLiteral kScript = R"js(
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg");
  const cursor = svg.querySelector(".cursor");
  const readout = chart.querySelector(".readout");
  const samples = JSON.parse(chart.querySelector(".samples").textContent);
  const names = [...document.querySelectorAll(".legend span")]
      .map(key => key.textContent.trim());
  const left = Number(svg.dataset.left), columns = Number(svg.dataset.columns);
  const text = bytes => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    for (; bytes >= 999.5 && unit < 4; ++unit) bytes /= 1000;
    return bytes.toPrecision(3) + " " + units[unit];
  };
  svg.addEventListener("mousemove", event => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    const column = Math.min(Math.max(Math.floor(x - left), 0), columns - 1);
    let low = 0, high = samples.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (samples[middle][0] <= column) low = middle; else high = middle - 1;
    }
    const uses = samples[low].slice(1);
    const total = uses.reduce((sum, bytes) => sum + bytes, 0);
    cursor.setAttribute("x1", left + column);
    cursor.setAttribute("x2", left + column);
    cursor.style.visibility = "visible";
    readout.textContent = text(total) + " in use: " + uses
        .map((bytes, use) => [bytes, names[use] + " " + text(bytes)])
        .filter(entry => entry[0] > 0).map(entry => entry[1]).join(", ");
  });
  svg.addEventListener("mouseleave", () => {
    cursor.style.visibility = "hidden";
    readout.textContent = "\u00a0";
  });
}
)js";

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_STYLE_H
