"""A static site: the executed notebooks, an index with the verdicts, and every figure. No script, no network.

Pages are plain HTML with one style sheet; formulas become MathML, which browsers set themselves. ``check_links`` finds
pages and pictures that are missing; ``site_check`` opens every page in a headless browser.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from echo_terminal.analysis import claims

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; margin: 0 auto; max-width: 60rem; padding: 1rem; }
nav { font-size: .9rem; margin-bottom: 1rem; } nav a { margin-right: .8rem; display: inline-block; }
a { color: #0072b2; } h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2rem; }
img, svg { max-width: 100%; height: auto; } figure { margin: 1.5rem 0; } figcaption { font-size: .9rem; color: #444; }
.scroll, pre, .math.block { overflow: auto hidden; max-width: 100%; } .math.block { padding: .5rem 0; }
table { border-collapse: collapse; font-size: .85rem; } td, th { padding: .25rem .5rem; text-align: left;
  border-bottom: 1px solid #ddd; vertical-align: top; }
pre { background: #f6f6f6; padding: .7rem; font-size: .8rem; line-height: 1.4; } code { overflow-wrap: anywhere; }
details summary { color: #777; font-size: .8rem; cursor: pointer; }
main > table:not(.verdicts) { display: block; overflow-x: auto; }
.scroll > pre { background: none; border-left: 3px solid #ddd; }
.reproduced { color: #0072b2; font-weight: 600; } .reversed { color: #b34700; font-weight: 600; }
.inconclusive { color: #555; font-weight: 600; }
@media (max-width: 40rem) {
  .verdicts thead { display: none; } .verdicts td { display: block; border: 0; padding: .1rem 0; }
  .verdicts tr { display: block; border-bottom: 1px solid #ddd; padding: .5rem 0; }
  .verdicts td:nth-child(n+3)::before { content: attr(data-name) ": "; color: #666; } }
""".strip()


def page(title: str, body: str, links: list[tuple[str, str]]) -> str:
    """One page with navigation to ``links`` (address, text)."""
    nav = "".join(f'<a href="{html.escape(a)}">{html.escape(t)}</a>' for a, t in links)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<title>{html.escape(title)}</title><link rel="stylesheet" href="style.css"></head>\n'
        f"<body><nav>{nav}</nav>\n<main>{body}</main></body></html>\n"
    )


def formula(tex: str, options: dict[str, bool]) -> str:
    """TeX as MathML."""
    return str(convert(tex, display="block" if options["display_mode"] else "inline"))


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKDOWN.use(dollarmath_plugin, renderer=formula, allow_digits=False)


def output_html(output: nbformat.NotebookNode) -> str:
    """One output of a code cell, in its richest form."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    data = output.data
    for kind in ("image/svg+xml", "image/png", "text/html", "text/markdown", "text/plain"):
        if kind not in data:
            continue
        text = "".join(data[kind])
        if kind == "image/png":
            return f'<img src="data:image/png;base64,{text.strip()}" alt="output of the cell above">'
        if kind == "text/markdown":
            return str(MARKDOWN.render(text))
        return f"<pre>{html.escape(text)}</pre>" if kind == "text/plain" else text
    return ""


def notebook_body(path: Path) -> tuple[str, str]:
    """(title, body HTML) of an executed notebook; the title is its first heading.

    Raises:
        ValueError: the notebook holds an error output or was never executed.
    """
    notebook = nbformat.read(path, as_version=4)
    outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    if not outputs or any(o.output_type == "error" for o in outputs):
        raise ValueError(f"{path} was not executed to its end: run its stage again")
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(MARKDOWN.render(cell.source))
        elif cell.cell_type == "code":
            parts.append(f"<details><summary>code</summary><pre>{html.escape(cell.source)}</pre></details>")
            parts += [f'<div class="scroll">{output_html(o)}</div>' for o in cell.outputs]
    headings = (
        re.search(r"^#\s+(.+)$", c.source, re.MULTILINE) for c in notebook.cells if c.cell_type == "markdown"
    )
    title = next((h[1] for h in headings if h), path.stem)
    return title, "\n".join(parts)


def _verdicts(rows: list[dict[str, str]], profile: str) -> str:
    """What was run, the decided first; the verdict leads each row: a phone shows it without scrolling."""
    run = [row for row in rows if row["verdict"] != "not run"]
    names = ("Verdict", "Claim", "Here, 95 % interval", "Paper")
    lines = []
    for row in sorted(run, key=lambda row: claims.VERDICTS.index(row["verdict"])):
        start = f" <small>({html.escape(row['start'])})</small>" if row["start"] else ""
        lent = (
            f"<br><small>profile {html.escape(row['profile'])}</small>" if row["profile"] != profile else ""
        )
        cells = [
            f'<span class="{row["verdict"]}">{row["verdict"]}</span>{lent}',
            html.escape(row["claim"]) + start,
            html.escape(row["effect"]),
            html.escape(row["published"]),
        ]
        named = zip(names, cells, strict=True)
        lines.append("<tr>" + "".join(f'<td data-name="{n}">{cell}</td>' for n, cell in named) + "</tr>")
    head = "<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"
    return f'<table class="verdicts"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table>'


def _left_out(reasons: list[dict[str, str]]) -> str:
    """What was not run: one line a reason, folded."""
    if not reasons:
        return ""
    lines = "".join(f"<li>{entry['count']}: {html.escape(entry['reason'])}</li>" for entry in reasons)
    total = sum(int(entry["count"]) for entry in reasons)
    return f"<details><summary>Not run, by reason ({total} judgements)</summary><ul>{lines}</ul></details>"


def build(paper_dir: Path, executed_dir: Path, out_dir: Path) -> list[Path]:
    """Write the site of one profile and return its pages.

    Args:
        paper_dir: what ``paper.build`` wrote (values.json, figures/, paper.pdf).
        executed_dir: the executed notebooks of the profile.
        out_dir: emptied first.

    Raises:
        FileNotFoundError: there is no executed notebook.
        ValueError: a notebook was not executed, or a page names something that is missing.
    """
    notebooks = sorted(executed_dir.glob("*.ipynb"))
    if not notebooks:
        raise FileNotFoundError(f"no executed notebook in {executed_dir}: run make repro first")
    shutil.rmtree(out_dir, ignore_errors=True)
    (out_dir / "figures").mkdir(parents=True)
    (out_dir / "style.css").write_text(STYLE + "\n", encoding="utf-8")
    shutil.copyfile(paper_dir / "paper.pdf", out_dir / "paper.pdf")
    values = json.loads((paper_dir / "values.json").read_text(encoding="utf-8"))
    links = [("index.html", "Results"), ("paper.pdf", "PDF")]
    pages, entries = [], []
    for path in notebooks:
        title, body = notebook_body(path)
        pages.append(out_dir / f"{path.stem}.html")
        pages[-1].write_text(page(title, body, links), encoding="utf-8")
        entries.append(
            f'<li><a href="{path.stem}.html">{html.escape(path.stem)}</a> {html.escape(title)}</li>'
        )
    shown = []
    for name, figure in values["figures"].items():
        if "file" not in figure:
            continue
        shutil.copyfile(paper_dir / figure["file"], out_dir / "figures" / f"{name}.svg")
        lent = f", profile {figure['profile']}" if figure["profile"] != values["profile"] else ""
        source = f"(notebook {html.escape(figure['notebook'] + lent)})"
        caption = f"<b>{figure['title']}.</b> {html.escape(figure['caption'])} {source}"
        shown.append(
            f'<figure><img src="figures/{name}.svg" alt="{html.escape(figure["caption"])}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    counts = values["counts"]
    tally = ", ".join(f"{counts[v.replace(' ', '_')]} {v}" for v in claims.VERDICTS)
    body = (
        f"<h1>ECHO in miniature: profile {html.escape(values['profile'])}</h1>"
        f"<p>{tally}: one judgement for each claim and starting policy. The text of all this is the "
        f'<a href="paper.pdf">PDF</a>.</p>'
        f"<h2>Verdicts</h2>{_verdicts(values['claims'], values['profile'])}{_left_out(values['left_out'])}"
        f"<h2>Figures</h2>{''.join(shown)}<h2>Notebooks</h2><ul>{''.join(entries)}</ul>"
    )
    index = out_dir / "index.html"
    index.write_text(page("ECHO in miniature", body, links), encoding="utf-8")
    missing = check_links([index, *pages])
    if missing:
        raise ValueError(f"the site names what it does not have: {', '.join(missing)}")
    return [index, *pages]


def finished(results: Path) -> list[str]:
    """Profiles whose paper is finished, the default one first."""
    names = {path.parts[-3] for path in results.glob("*/09_paper/values.json")}
    return sorted(names, key=lambda name: (name != "cpu", name))


def front(root: Path) -> Path:
    """The page that leads to the site of every profile in ``root``, with its verdicts counted."""
    entries = []
    for name in sorted(
        (path.parent.name for path in root.glob("*/index.html")), key=lambda n: (n != "cpu", n)
    ):
        tally = re.search(
            r"<p>(.*?): one judgement", (root / name / "index.html").read_text(encoding="utf-8")
        )
        entries.append(
            f'<li><a href="{name}/index.html">Profile {html.escape(name)}</a>: {tally[1] if tally else ""}</li>'
        )
    (root / "style.css").write_text(STYLE + "\n", encoding="utf-8")
    body = f"<h1>ECHO in miniature</h1><p>One site a profile; verdicts as judged there.</p><ul>{''.join(entries)}</ul>"
    (root / "index.html").write_text(page("ECHO in miniature", body, []), encoding="utf-8")
    return root / "index.html"


def main(names: Sequence[str]) -> None:
    """``make site``: the sites of these profiles, or of all that have results, below ``site/``, and their front."""
    wanted = list(names) or finished(Path("results"))
    if not wanted:
        sys.exit("error: no profile has a finished paper: run make repro first")
    for profile in wanted:
        paper = Path(f"results/{profile}/09_paper")
        if not (paper / "values.json").exists():
            sys.exit(f"error: {paper} holds no finished paper: run make repro PROFILE={profile} first")
        pages = build(paper, Path(f"executed/{profile}"), Path(f"site/{profile}"))
        print(f"profile {profile}: {len(pages)} pages")
    print(f"open {front(Path('site'))}")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href") and value]


def check_links(pages: list[Path]) -> list[str]:
    """Local addresses in ``pages`` that lead nowhere, as ``page: address``."""
    missing = []
    for path in pages:
        parser = _Links()
        parser.feed(path.read_text(encoding="utf-8"))
        for address in parser.found:
            target = address.split("#")[0]
            if target and not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                missing.append(f"{path.name}: {address}")
    return missing


if __name__ == "__main__":
    main(sys.argv[1:])
