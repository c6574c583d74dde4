"""Draws a section of `remit bench --json FILE` as an SVG on stdout.

    bench/plot.py FILE [SECTION] > bench.svg

Bars are medians on a logarithmic scale, whiskers reach to the 95th percentile, and the
label has the ratio to bare Python. Colours follow the reader's light or dark theme.
"""

from __future__ import annotations

import html
import json
import math
import pathlib
import sys

WIDTH = 860
LABELS = 250  # for the names, at the left
VALUES = 150  # for the numbers, at the right
TOP = 76
ROW = 30
BAR = 16
BOTTOM = 44
BARE = "python3 -I"
# Rows that measure parts of a start, not ways to start.
LEFT_OUT = (
    "remit --version", "remit run, cold, minus python3 -I -S",
    "a byte by three processes, hot", "a byte by three processes, gapped", "a waiting fork, no jail, hot",
)  # fmt: skip

# The style uses no CSS variables, since some SVG viewers do not support them.
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.soft { fill: #656d76; font-size: 12px; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.strong { font-weight: 600; }
.grid { stroke: #d8dee4; }
.level { stroke: #57606a; stroke-dasharray: 3 3; }
.whisker { stroke: #57606a; stroke-width: 1.5; fill: none; }
.own { fill: #1f7ae0; }
.bare { fill: #6e7781; }
.other { fill: #c3cad1; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .soft { fill: #8d96a0; }
  .grid { stroke: #2b3138; }
  .level, .whisker { stroke: #9198a1; }
  .own { fill: #4493f8; }
  .bare { fill: #848d97; }
  .other { fill: #454c54; }
}
"""


def time_text(us: float) -> str:
    for limit, scale, unit in ((999.5, 1, "µs"), (999.5e3, 1e3, "ms"), (math.inf, 1e6, "s")):
        if us < limit:
            return f"{us / scale:.{0 if us / scale >= 99.5 or unit == 'µs' else 1}f} {unit}"
    raise AssertionError


def ratio_text(ratio: float) -> str:
    """Show small ratios as 1/320 instead of 0.00313."""
    if ratio < 0.1:
        return f"1/{1 / ratio:.0f}"
    return f"{ratio:.{0 if ratio >= 9.95 else 1 if ratio >= 0.995 else 2}f}×"


def kind(name: str) -> str:
    return "own" if name.startswith("remit") else "bare" if name == BARE else "other"


class Scale:
    """Converts microseconds to pixels. The scale begins at a whole decade."""

    def __init__(self, times: list[float]):
        self.low = math.floor(math.log10(min(times)))
        self.high = math.log10(max(times)) + 0.1

    def __call__(self, us: float) -> float:
        part = (math.log10(us) - self.low) / (self.high - self.low)
        return LABELS + part * (WIDTH - LABELS - VALUES)

    def decades(self) -> list[float]:
        return [10.0**n for n in range(self.low, math.floor(self.high) + 1)]


def text(x: float, y: float, content: str, *classes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{" ".join(classes)}">{html.escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{name}"/>'


def draw_row(row: dict, middle: float, scale: Scale) -> list[str]:
    time, name = row["time_us"], row["name"]
    weight = ("strong",) if kind(name) == "own" else ()
    left, right, far = scale(10.0**scale.low), scale(time["p50"]), scale(time["p95"])
    cap = BAR / 4
    return [
        text(LABELS - 12, middle + 4.5, name, "end", *weight),
        f'<rect x="{left:.1f}" y="{middle - BAR / 2:.1f}" width="{right - left:.1f}" height="{BAR}" rx="2" class="{kind(name)}"/>',
        f'<path d="M{right:.1f} {middle:.1f}H{far:.1f}M{far:.1f} {middle - cap:.1f}v{2 * cap:.1f}" class="whisker"/>',
        text(WIDTH - VALUES + 78, middle + 4.5, time_text(time["p50"]), "end", *weight),
        text(WIDTH - 14, middle + 4.5, ratio_text(row["ratio"]), "end", *weight),
    ]


def draw(report: dict, section: dict) -> str:
    rows = [r for r in section["rows"] if r.get("time_us") and "ratio" in r and r["name"] not in LEFT_OUT]
    rows.sort(key=lambda r: r["time_us"]["p50"])
    scale = Scale([r["time_us"][key] for r in rows for key in ("p50", "p95")])
    bottom = TOP + ROW * len(rows)
    facts = f"{report['cpus']} processors, Linux {report['kernel'].split('-')[0]}, Python {report['python_version']}, {report['date'][:10]}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" width="{WIDTH}" role="img">',
        f"<title>Time of {html.escape(section['name'])} by each way to run it</title>",
        f"<style>{STYLE}</style>",
        text(14, 28, f"From request to result: {section['name']}", "title"),
        text(14, 48, f"median, whisker to p95, logarithmic; {facts}", "soft"),
        text(WIDTH - VALUES + 78, TOP - 8, "median", "soft", "end"),
        text(WIDTH - 14, TOP - 8, "to bare", "soft", "end"),
    ]
    for us in scale.decades():
        out.append(line(scale(us), TOP, scale(us), bottom, "grid"))
        out.append(text(scale(us), bottom + 18, time_text(us).replace(".0", ""), "soft", "middle"))
    for i, row in enumerate(rows):
        out += draw_row(row, TOP + ROW * (i + 0.5), scale)
    bare = next((r for r in rows if r["name"] == BARE), None)
    if bare:
        x = scale(bare["time_us"]["p50"])
        out.append(line(x, TOP, x, bottom, "level"))
    return "\n".join([*out, "</svg>"])


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    report = json.loads(pathlib.Path(sys.argv[1]).read_text())
    wanted = sys.argv[2] if len(sys.argv) == 3 else "print(1)"
    sections = [s for s in report["sections"] if s["name"] == wanted]
    if not sections:
        sys.exit(f"{sys.argv[1]} has no section {wanted!r}")
    print(draw(report, sections[0]))


main()
