"""Write ``docs/worlds.md`` from what the worlds say of themselves: ``python docs/make_tables.py``."""

from __future__ import annotations

from pathlib import Path

from worldenv.catalogue import Entry, entries
from worldenv.worlds import world_module

HEAD = """# Worlds

Written by `docs/make_tables.py` from the specs in `worldenv/worlds`; `worldenv worlds` prints the same with what each still needs on your
machine. A path is always given as camera-to-world poses; *asked by* says what it is compiled to: **poses** (matrices at the model's own
rate), **keys** (held keys, mouse or ids) or **captions** (one sentence a chunk, whose path is nominal). *Drive* `plan` needs the whole path
before the first frame. *State* says how memory crosses a chunk: `native` goes on, `reanchored` restarts from stored frames (a memory
score then measures the wrapper), `whole` has no chunks. *Miss* is how far the decoded path may lie from the one asked for in any frame:
what the path moves in so many frames, and what one value is rounded to. No model states its scale in metres except where it says so; only rotation compares across
models without calibration.

"""


def worlds_page() -> str:
    """Return the page as Markdown."""
    ours = [e for e in entries() if not hasattr(world_module(e.id), "MODEL")]
    models = [e for e in entries() if hasattr(world_module(e.id), "MODEL")]
    lines = [HEAD + "## Ours\n", "| id | size, fps | frames a step | drive | needs | licence |"]
    lines.append("|---|---|---|---|---|---|")
    for entry in ours:
        lines.append(
            f"| `{entry.id}` | {_size(entry)} | {entry.frames} | {_drive(entry)} | "
            f"{entry.readiness.removeprefix('needs ').replace('ready', 'nothing')} | {entry.licence} |"
        )
    lines.append("\n## Models\n")
    lines.append(
        "| id | model | asked by | size, fps | frames a step | degrees a step | drive, state | miss | "
        "context= | licence |"
    )
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for entry in models:
        model = world_module(entry.id).MODEL
        q = model.quantum
        miss = f"{q.frames - 1} frames" if q.frames > 1 else ""
        rounding = f"{q.degrees:g} deg, {q.metres:g} m" if q.degrees or q.metres else ""
        lines.append(
            f"| `{entry.id}` | {model.title} | {model.control} | {_size(entry)} | {entry.frames} | "
            f"{entry.degrees} | {_drive(entry)}, {model.spec.state} | "
            f"{' + '.join(filter(None, [miss, rounding])) or 'exact'} | "
            f"{', '.join(f'`{p}`' for p in model.context) or '-'} | {model.spec.licence} |"
        )
    lines.append("\n## What has been run\n")
    lines.append(
        "No official code has been run with its released weights by us: that takes a GPU. What has been run, "
        "model by model:\n"
    )
    lines += [f"- `{e.id}`: {world_module(e.id).MODEL.verified}." for e in models]
    return "\n".join(lines) + "\n"


def _size(entry: Entry) -> str:
    spec = entry.spec
    return "-" if spec is None else "{}x{}, {:g}".format(*spec.size, spec.fps)


def _drive(entry: Entry) -> str:
    return "plan" if entry.spec is None else entry.spec.drive


if __name__ == "__main__":
    Path(__file__).with_name("worlds.md").write_text(worlds_page(), encoding="utf-8")
