"""Writes ``docs/problems.md``: a section for each code of a problem or a failure.

    python tools/problem_docs.py

What it says stands beside the codes: ``usp.objects.problem_codes``, ``usp.objects.failure_codes``.
"""

# ruff: noqa: INP001 - a script
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from usp.objects.problem import FailureCode, ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.objects.failure_codes import Code

PAGE = Path(__file__).parents[1] / "docs" / "problems.md"

_BEGIN = """\
# Problems and failures

<!-- Made by tools/problem_docs.py; change the texts beside the codes, then run it. -->

Whatever is wrong with a sitemap has a code: a short word that stays the same when its message is
reworded. Programs decide by codes; messages are for people.

- A **failure** (`node.failure`, `tree.failures()`) says that a sitemap is missing, or a part of it.
- A **problem** (`node.problems`) is something wrong inside a document that was read all the same. A
  problem that kept the rest of the document from being read has the code of a failure.

```python
from usp.objects.problem import FailureCode, ProblemCode

for failure in tree.failures():
    if failure.code is FailureCode.NOT_FOUND:  # or: failure.code == "not-found"
        print(failure.url, failure.status)
for node in tree.all_sitemaps():
    for problem in node.problems:
        print(problem.code, problem.line, problem.excerpt, problem.lost)
```

No code is used twice: problems and failures share one namespace. Codes are added, never renamed. They
are in the column `code` of `usp ls -f sitemaps` and of a dataset's tables, and in the JSON of `usp tree
-f json` and `--json`.
"""


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            _BEGIN,
            *_part("Failures", FailureCode),
            *_part("Problems", ProblemCode),
        ]
    )


def _part(title: str, codes: Iterable[Code]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| code | message |"
    yield "|---|---|"
    for code in codes:
        yield f"| [`{code}`](#{code}) | {_text(code.message)} |"
    yield ""
    for code in codes:
        yield f"### {code}\n"
        yield f"{_text(code.meaning)}\n"
        yield f"```text\n{code.example}\n```\n"
        yield f"*What to do:* {_text(code.remedy)}\n"


def _text(text: str) -> str:
    """Return text as Markdown shows it, tags included."""
    for mark in "\\<>[]*_|":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("&", "&amp;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
