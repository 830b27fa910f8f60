//===- TimelineStyle.cpp - How a timeline looks and answers ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

using namespace regather;

/// Takes --paper, --ink and --quiet from the page.
llvm::StringRef regather::getTimelineStyle() {
  static constexpr llvm::StringLiteral style = R"css(
.timeline {
  --forward: #3b82d6; --backward: #7a6fd0; --optimizer: #8a97a8;
  --gather: #f2a33a; --scatter: #3aa876; --reduce: #2aa5b5; --other: #b59a6a;
  --exposed: #d9433f; --memory: #a7c4e8; --memory-edge: #3b72b8;
  --phase0: #f4f7fb; --phase1: #faf6f0;
  margin: 6px 0;
}
@media (prefers-color-scheme: dark) {
  .timeline {
    --forward: #3a7bc8; --backward: #7468c4; --optimizer: #66758a;
    --gather: #cf8d2f; --scatter: #31936a; --reduce: #2a8f9d; --other: #94804f;
    --exposed: #d65550; --memory: #2c4a70; --memory-edge: #6fa3e0;
    --phase0: #161c25; --phase1: #1d1b18;
  }
}
.timeline .outer { width: 100%; height: auto; display: block; }
.timeline .plot { cursor: grab; touch-action: none; }
.timeline .k0 { fill: var(--forward); } .timeline .k1 { fill: var(--backward); }
.timeline .k2 { fill: var(--optimizer); } .timeline .k3 { fill: var(--gather); }
.timeline .k4 { fill: var(--scatter); } .timeline .k5 { fill: var(--reduce); }
.timeline .k6 { fill: var(--other); } .timeline .k7 { fill: var(--exposed); }
.timeline .s { fill-opacity: .72; }
.timeline .w {
  stroke: var(--paper); stroke-width: .7; vector-effect: non-scaling-stroke;
}
.timeline rect[data-i]:hover { fill-opacity: .5; }
.timeline .critical { fill: var(--ink); fill-opacity: .75; }
.timeline .band { fill: var(--exposed); fill-opacity: .09; }
.timeline .phase0 { fill: var(--phase0); }
.timeline .phase1 { fill: var(--phase1); }
.timeline .memory { fill: var(--memory); fill-opacity: .8; }
.timeline .edge, .timeline .peak {
  fill: none; stroke: var(--memory-edge); stroke-width: 1.2;
  vector-effect: non-scaling-stroke;
}
.timeline .peak { stroke: var(--ink); stroke-dasharray: 3 3; }
.timeline .grid { stroke: var(--quiet); stroke-opacity: .2; stroke-width: 1; }
.timeline text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
.timeline text.lane { text-anchor: end; fill: var(--ink); font-weight: 600; }
.timeline text.tick { text-anchor: end; }
.timeline text.time { text-anchor: middle; }
.timeline text.top { fill: var(--ink); font-weight: 600; }
.timeline text.before { text-anchor: end; }
.timeline text.phase { text-anchor: middle; font-weight: 600; }
.timeline .keys {
  display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; margin: 0;
  max-width: none;
}
.timeline .keys svg { width: 12px; height: 12px; margin-right: 6px; }
.timeline .readout {
  margin: 2px 0 0; font-size: 13px; color: var(--quiet); max-width: none;
  min-height: 1.5em; font-variant-numeric: tabular-nums;
}
)css";
  return style;
}

llvm::StringRef regather::getTimelineScript() {
  static constexpr llvm::StringLiteral script = R"js(
for (const figure of document.querySelectorAll(".timeline")) {
  const outer = figure.querySelector(".outer");
  const plot = figure.querySelector(".plot");
  const axis = figure.querySelector(".axis");
  const readout = figure.querySelector(".readout");
  const marks = JSON.parse(figure.querySelector(".marks").textContent);
  const {left, width, top, bottom, seconds} = Object.fromEntries(
      Object.entries(outer.dataset).map(([key, value]) => [key, +value]));
  const all = plot.viewBox.baseVal.width;
  const initial = axis.innerHTML;
  let begin = 0, span = all;
  const time = s => {
    const [value, unit] = s >= 1 ? [s, "s"]
        : s >= 1e-3 ? [s * 1e3, "ms"]
        : s >= 1e-6 ? [s * 1e6, "us"] : [s * 1e9, "ns"];
    return +value.toPrecision(6) + " " + unit;
  };
  const niceStep = step => {
    const power = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 2.5, 5, 10].find(f => f * power >= step) * power;
  };
  const show = () => {
    span = Math.min(Math.max(span, all / 4000), all);
    begin = Math.min(Math.max(begin, 0), all - span);
    plot.setAttribute("viewBox",
        `${begin} 0 ${span} ${plot.viewBox.baseVal.height}`);
    if (span === all) { axis.innerHTML = initial; return; }
    const first = begin / all * seconds, shown = span / all * seconds;
    const step = niceStep(shown / 9);
    let text = "";
    for (let i = Math.ceil(first / step); i * step <= first + shown; ++i) {
      const x = (left + (i * step - first) / shown * width).toFixed(1);
      text += `<line class="grid" x1="${x}" x2="${x}" y1="${top}" ` +
          `y2="${bottom}"/><text class="time" x="${x}" ` +
          `y="${bottom + 18}">${time(i * step)}</text>`;
    }
    axis.innerHTML = text;
  };
  const getFraction = event => {
    const box = plot.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  plot.addEventListener("wheel", event => {
    event.preventDefault();
    const at = getFraction(event), factor = 1.0015 ** event.deltaY;
    const next = Math.min(Math.max(span * factor, all / 4000), all);
    begin += at * (span - next);
    span = next;
    show();
  }, {passive: false});
  let grabbed = null;
  plot.addEventListener("pointerdown", event => {
    grabbed = getFraction(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointerup", () => { grabbed = null; });
  plot.addEventListener("dblclick", () => { begin = 0; span = all; show(); });
  plot.addEventListener("pointermove", event => {
    if (grabbed !== null) {
      const at = getFraction(event);
      begin -= (at - grabbed) * span;
      grabbed = at;
      show();
      return;
    }
    const mark = event.target.dataset;
    if (mark.i === undefined) { readout.textContent = "\u00a0"; return; }
    const [name, module, target] = marks[mark.i];
    const more = mark.n ? ` and ${mark.n - 1} more` : "";
    readout.textContent = [time(mark.t * 1e-6), name + more, target, module]
        .filter(text => text).join(" · ");
  });
}
)js";
  return script;
}
