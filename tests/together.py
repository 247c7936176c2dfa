"""One test for a whole table: ``@together(names, rows)`` runs it for each row, and reports all that fail."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.outcomes import Failed, Skipped


def together(names: str | tuple[str, ...], rows: Iterable[Any], **_: object) -> Callable[..., Any]:
    """Take the arguments of ``pytest.mark.parametrize``, but make one test instead of one for each row.

    Before each row, what the fixtures ``site``, ``monkeypatch`` and ``caplog`` have noted is forgotten.
    """
    parameters = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
    table = [row if len(parameters) > 1 else (row,) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            site = fixtures.get("site")
            answers = dict(getattr(site, "answers", {}))
            wrong = []
            for row in table:
                if site is not None:
                    site.answers = dict(answers)
                    site.requests.clear()
                if "caplog" in fixtures:
                    fixtures["caplog"].clear()
                try:
                    with pytest.MonkeyPatch.context() as patch:
                        given = {"monkeypatch": patch} if "monkeypatch" in fixtures else {}
                        test(**fixtures | given, **dict(zip(parameters, row, strict=True)))
                except Skipped:
                    continue
                except (Exception, Failed):  # noqa: BLE001 - whatever a row raises is reported
                    wrong.append(f"{str(row)[:500]}:\n{traceback.format_exc(limit=-2)}")
            assert not wrong, f"{len(wrong)} of {len(table)} fail\n" + "\n".join(wrong)

        left = [one for one in signature.parameters.values() if one.name not in parameters]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del run.__wrapped__  # type: ignore[attr-defined] # pytest looks at its signature
        return run

    return decorate
