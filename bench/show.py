"""The results as Markdown tables and as curves."""

from __future__ import annotations

import pathlib
import statistics

FIGURES = {
    "loss": ("Loss (time over the best, geometric mean)", "{:.4f}"),
    "total": ("Total time over the total of the best times", "{:.4f}"),
    "p99": ("Loss at the 99th percentile", "{:.3f}"),
    "slower": ("Slower than the fallback by more than 5 %", "{:.2%}"),
    "declined": ("Declined", "{:.1%}"),
    "seconds": ("Time to learn, s", "{:.1f}"),
    "us": ("Time of one decision from Python, µs", "{:.1f}"),
    "size": ("Size, kB", "{:.0f}"),
}


def tables(results: list[dict]) -> str:
    """One Markdown table for each split and figure: tasks by selectors, the mean over the seeds."""
    lines = []
    for split in _distinct(results, "split"):
        rows = [r for r in results if r["split"] == split]
        selectors = _distinct(rows, "selector")
        # Learning and deciding take as long on one split as on another.
        for figure in FIGURES if split == "inputs" else ["loss", "total", "slower"]:
            title, shape = FIGURES[figure]
            lines += [f"### {split}: {title}", "", f"| | {' | '.join(selectors)} |"]
            lines.append("| --- " * (len(selectors) + 1) + "|")
            for task in _distinct(rows, "task"):
                cells = (_mean(rows, task, selector, figure) for selector in selectors)
                texts = ("–" if cell is None else shape.format(cell) for cell in cells)
                lines.append(f"| {task} | {' | '.join(texts)} |")
            lines.append("")
    return "\n".join(lines)


def _mean(rows: list[dict], task: str, selector: str, figure: str) -> float | None:
    found = [r[figure] for r in rows if r["task"] == task and r["selector"] == selector]
    if not found:
        return None
    if figure == "loss":
        return statistics.geometric_mean(found)
    return statistics.fmean(found) / (1000 if figure == "size" else 1)


def curves(results: list[dict], path: pathlib.Path) -> None:
    """Draws how much the worst inputs lose: one panel a task, one line a selector, the first seed of `inputs`."""
    rows = [r for r in results if r["split"] == "inputs" and r["seed"] == min(x["seed"] for x in results)]
    try:
        import matplotlib
    except ImportError:
        print("skipped the curves: pip install matplotlib")
        return
    if not rows:
        return
    matplotlib.use("svg")
    # The same results give the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "bench"
    from matplotlib import pyplot

    names = _distinct(rows, "task")
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(4.5 * columns, 3.2 * lines), squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names):
        for row in (r for r in rows if r["task"] == name):
            losses = row["losses"]
            shares = [100 * (place + 1) / len(losses) for place in range(len(losses))]
            axis.plot(shares, losses, label=row["selector"], linewidth=1.4)
        axis.set(title=name, xlabel="% of the inputs", ylabel="time over the best")
        axis.set(xlim=(0, 100), ylim=(1, 3), yscale="log")
        axis.set_yticks([1, 1.1, 1.25, 1.5, 2, 3], ["1", "1.1", "1.25", "1.5", "2", "3"], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes.flat[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _distinct(rows: list[dict], key: str) -> list:
    return list(dict.fromkeys(r[key] for r in rows))
