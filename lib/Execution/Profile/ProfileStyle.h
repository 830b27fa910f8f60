//===- ProfileStyle.h - How a profile looks ------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_PROFILE_PROFILESTYLE_H
#define REGATHER_LIB_EXECUTION_PROFILE_PROFILESTYLE_H

namespace regather {

inline constexpr const char *kProfileStyle = R"css(
:root {
  --paper: #ffffff; --ink: #1c2430; --quiet: #5d6b7e; --line: #e3e8ef;
  --panel: #f6f8fb; --generated: #3b82d6; --gemm: #f2a33a;
  --attention: #3aa876; --convolution: #9d85d8; --copy: #8795a8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161d; --ink: #dfe6f0; --quiet: #94a2b8; --line: #2a3340;
    --panel: #1a212b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 32px 28px 80px; max-width: 1180px;
  background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
}
h1 { font-size: 26px; font-weight: 650; margin: 0 0 4px; }
h2 { font-size: 19px; font-weight: 620; margin: 40px 0 6px; }
p { margin: 4px 0 12px; max-width: 82ch; }
.quiet { color: var(--quiet); }
.code { font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, monospace;
  overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0; }
.card { flex: 1 1 200px; border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; background: var(--panel); }
.card b { display: block; font-size: 22px; font-weight: 640; }
.card span { color: var(--quiet); font-size: 13px; }
.kinds { display: flex; height: 26px; border-radius: 6px; overflow: hidden; }
.kinds i { display: block; min-width: 1px; }
.key { display: inline-block; width: 11px; height: 11px; margin-right: 6px;
  border-radius: 2px; }
.generated { background: var(--generated); fill: var(--generated); }
.gemm { background: var(--gemm); fill: var(--gemm); }
.attention { background: var(--attention); fill: var(--attention); }
.convolution { background: var(--convolution); fill: var(--convolution); }
.copy { background: var(--copy); fill: var(--copy); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; font-size: 12.5px;
  color: var(--quiet); }
th, td { border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0;
  vertical-align: top; }
.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
tfoot td { font-weight: 640; border-bottom: 0; }
details summary { cursor: pointer; color: var(--quiet); }
svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
svg .grid { stroke: var(--quiet); stroke-opacity: .2; }
svg .roof { stroke: var(--ink); stroke-width: 1.6; fill: none; }
svg .narrow { stroke-dasharray: 5 4; }
svg circle { fill-opacity: .6; stroke: var(--paper); }
)css";

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_PROFILE_PROFILESTYLE_H
