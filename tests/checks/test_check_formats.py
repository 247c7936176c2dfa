"""Findings as SARIF, JUnit and GitHub annotations are what the readers of these formats expect."""

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

import usp
from usp.checks import RULES, Finding, Severity
from usp.checks.finding import docs_url
from usp.checks.formats import FORMATS, CheckReport

SCHEMAS = Path(__file__).with_name("schemas")
SARIF = jsonschema.Draft7Validator(
    json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text("utf-8")),
    format_checker=jsonschema.FormatChecker(),
)
JUNIT = xmlschema.XMLSchema(SCHEMAS / "jenkins-junit.xsd")
HOME = Path("/work space")
FILE = "file:///work%20space/public/site%20map.xml"
URL = "https://example.org/sitemap.xml"
HOSTILE = "]]>&<\"'%0A::error::x\r\n\x00\x1b[31m\u202e\ud800 é 😀 {0} [a](b)"


def finding(code="SM401", message="the URL is relative: '/tea'", sitemap=FILE, **more) -> Finding:
    rule = RULES[code]
    values = {"severity": rule.severity, "hint": rule.hint, **more}
    return Finding(code, rule.name, message=message, sitemap=sitemap, **values)


SOME = [
    finding(page="/tea", line=4, column=6),
    finding(page="/milk", line=5),
    finding("SM407", "the URL has a fragment", URL, page="https://example.org/#a"),
    finding("SM550", "lastmod cannot be read", URL, line=9, times=1200),
    finding("SM407", "the URL has a fragment", "-", severity=Severity.INFO),
]


def written(form: str, findings: list[Finding], **more) -> str:
    values = {"rules": [RULES["SM407"]], "sitemaps": [URL, "https://example.org/good.xml"], **more}
    return "\n".join(FORMATS[form](CheckReport(findings, folder=HOME, **values)))


def results(findings: list[Finding], **more) -> list[dict]:
    log = json.loads(written("sarif", findings, **more))
    SARIF.validate(log)
    return log["runs"][0]["results"]


def suites(findings: list[Finding], **more) -> list[ET.Element]:
    text = written("junit", findings, **more)
    JUNIT.validate(io.StringIO(text))
    return list(ET.fromstring(text.encode("utf-8")))


# SARIF ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("findings", [[], SOME, [finding(message=HOSTILE, page=HOSTILE)]])
def test_sarif_is_valid(findings):
    assert len(results(findings)) == len(findings)


def test_sarif_tells_where_in_files_of_the_folder_and_in_urls():
    first, _, third, *_ = results(SOME)
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "public/site%20map.xml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 4, "startColumn": 6},
    }
    assert third["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": URL}}
    outside = results([finding(sitemap="file:///elsewhere/a.xml")])[0]["locations"][0]
    assert outside["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/a.xml"}


def test_sarif_has_every_rule_with_its_help():
    log = json.loads(written("sarif", SOME, rules=list(RULES.values())))
    SARIF.validate(log)
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert all(rule["help"]["text"] and rule["helpUri"].startswith("https://") for rule in rules)
    for result in log["runs"][0]["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert [result["level"] for result in log["runs"][0]["results"]] == [
        "error", "error", "warning", "error", "note",
    ]  # fmt: skip


def test_a_result_is_known_again_after_it_moved_and_not_taken_for_another():
    same = [finding(page="/tea", line=1), finding(page="/tea", line=2)]
    tea, moved, milk = (
        one["partialFingerprints"]["finding/v1"] for one in results([*same, finding(page="/milk")])
    )
    assert tea == moved != milk


def test_many_results_of_one_rule_are_counted_in_one():
    many = [finding(page=f"/{number}", line=number + 1) for number in range(300)]
    folded = results(many)
    assert len(folded) == 101
    assert folded[-1]["occurrenceCount"] == 200
    assert len(results(many, everything=True)) == 300


@settings(max_examples=40)
@given(message=st.text(max_size=40), url=st.text(max_size=40), page=st.text(max_size=20))
def test_whatever_a_website_writes_sarif_and_junit_stay_valid(message, url, page):
    findings = [finding("SM407", message, f"https://example.org/{url}", page=page)]
    results(findings)
    suites(findings)


@pytest.fixture
def docs(monkeypatch):
    """The address of the documentation."""
    monkeypatch.setenv("USP_DOCS_URL", "https://docs.example")
    docs_url.cache_clear()
    yield "https://docs.example/reference"
    docs_url.cache_clear()


def test_every_rule_links_to_its_own_page_the_same_everywhere(docs):
    for one in RULES.values():
        assert one.scope.value == "parser" or f"{one.code.lower()}-{one.name}" in _link(one.code)
    assert _link("SM407") == f"{docs}/rules/sm4.html#sm407-url-fragment"
    assert _link("SM354") == f"{docs}/problems.html#truncated"
    assert json.loads(written("jsonl", [finding()]))["help"] == _link("SM401")
    assert f"({_link('SM401')})" in written("markdown", [finding()])


def _link(code: str) -> str:
    driver = json.loads(written("sarif", [], rules=[RULES[code]]))["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == "https://docs.example/"
    return driver["rules"][0]["helpUri"]


def test_without_an_address_of_the_documentation_links_are_those_of_the_protocol(monkeypatch):
    monkeypatch.setattr("usp.checks.finding.docs_url", str)
    assert json.loads(written("jsonl", [finding()]))["help"] is None


# JUnit ----------------------------------------------------------------------------------------------


def test_junit_has_a_suite_for_each_sitemap_and_a_test_for_each_rule():
    found = {suite.get("name"): suite for suite in suites(SOME)}
    assert list(found) == [URL, "https://example.org/good.xml", "public/site map.xml", "-"]
    assert [case.get("name") for case in found[URL].iter("testcase")] == [
        "SM550 bad-lastmod", "SM407 url-fragment",
    ]  # fmt: skip
    assert found[URL].get("failures") == "2"
    assert "1,200 findings" in found[URL].find(".//failure").get("message")
    good = found["https://example.org/good.xml"]
    assert (good.get("tests"), good.get("failures")) == ("1", "0")
    assert list(good.iter("failure")) == []


def test_what_does_not_fail_passes_in_junit_too_and_is_told():
    *_, last = suites(SOME)
    assert (last.get("tests"), last.get("failures")) == ("1", "0")
    assert last.find("system-out").text == "the URL has a fragment"
    failures = [suite.get("failures") for suite in suites(SOME, fail_on=None)]
    assert set(failures) == {"0"}


def test_junit_survives_hostile_texts_and_counts_what_is_in_too_many_sitemaps():
    suite = suites([finding("SM407", HOSTILE, page=HOSTILE)])[-1]
    assert "]]>&<\"'" in suite.find(".//failure").text
    last = suites([finding("SM407", "x", f"https://example.org/{n}.xml") for n in range(600)])[-1]
    assert last.get("name") == "other sitemaps"
    assert last.find(".//failure").get("message") == "100 findings in 100 sitemaps"


# GitHub ---------------------------------------------------------------------------------------------

COMMAND = re.compile(r"::(error|warning|notice) ([^\r\n]*?)::([^\r\n]*)")


def annotations(findings: list[Finding], **more) -> list[tuple[str, dict, str]]:
    """Return annotations as the runner of GitHub Actions reads them."""
    found = []
    for line in written("github", findings, **more).split("\n"):
        match = COMMAND.fullmatch(line)
        if match:
            pairs = (pair.split("=", 1) for pair in match[2].split(","))
            told = {name: _unescaped(value) for name, value in pairs}
            found.append((match[1], told, _unescaped(match[3])))
    return found


def _unescaped(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_annotations_are_on_files_with_their_lines_or_name_the_url():
    (kind, told, message), *others = annotations(SOME)
    assert kind == "error"
    place = {"file": "public/site map.xml", "line": "4", "col": "6"}
    assert told == place | {"title": "SM401 relative-url"}
    assert message.startswith("the URL is relative: '/tea' (and 1 more)\n")
    titles = [told["title"] for _, told, _ in others if "file" not in told]
    assert f"SM550 bad-lastmod: {URL}" in titles


def test_no_more_annotations_than_github_shows_and_every_rule_first():
    many = [finding("SM407", "x", f"file:///work%20space/{n}.xml") for n in range(15)]
    many.append(finding("SM404", "y", FILE, severity=Severity.WARNING))
    found = annotations(many)
    assert len(found) == 10
    assert {told["title"][:5] for _, told, _ in found} == {"SM407", "SM404"}
    assert "6 of them are not annotated" in written("github", many)


def test_a_message_cannot_write_commands_of_its_own():
    lines = written("github", [finding(message=HOSTILE, page=HOSTILE)]).split("\n")
    assert len(lines) == 2
    assert "\r" not in lines[0]
    ((_, told, _),) = annotations([finding(message="x", sitemap="file:///work%20space/a,b:c.xml")])
    assert told["file"] == "a,b:c.xml"


ROOT = Path(usp.__file__).parents[2]


def test_the_problem_matcher_reads_each_line_of_the_text():
    matchers = json.loads((ROOT / ".github" / "usp-check.json").read_text())["problemMatcher"]
    patterns = [one["pattern"][0] for one in matchers]
    local = [one for one in SOME if one.sitemap == FILE]
    local += [finding("SM414", "'é' is not escaped", FILE), finding("SM106", "no sitemap", FILE)]
    lines = written("text", local, everything=True).split("\n")[: len(local)]
    for line, one in zip(lines, local, strict=True):
        (found, pattern), *more = [
            (match, pattern)
            for pattern in patterns
            if (match := re.fullmatch(pattern["regexp"], line))
        ]
        assert not more
        told = {name: found[at] for name, at in pattern.items() if name != "regexp"}
        assert (told["file"], told["code"]) == ("public/site map.xml", one.code)
        assert told["line"] == (one.line and str(one.line))
        assert told.get("severity", "info") == one.severity.value


def test_rules_come_first_with_their_counts_if_they_are_many():
    many = [finding(code, "x") for code in list(RULES)[:11]]
    assert written("text", many).count(f"{many[0].code} {many[0].name}  ") == 1
    assert f"{many[0].code} {many[0].name}  " not in written("text", many[:10])


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("everything", [False, True])
def test_no_format_has_control_characters_or_bidirectional_marks(form, everything):
    hostile = "\x1b[31m\x9b2J\x07\x7f\u202e\u2066\x85\r"
    found = [
        finding(message=hostile, page=f"https://example.org/{hostile}", sitemap=f"{URL}?{hostile}"),
        finding("SM407", hostile, severity=Severity.INFO),
    ]
    text = written(form, found, everything=everything)
    assert all(line.isprintable() for line in text.split("\n")), ascii(text)
