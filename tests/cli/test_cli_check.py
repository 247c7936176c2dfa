"""``usp check``: what is wrong, for people and programs; the exit status tells whether anything is."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import usp
from usp.checks import RULES
from website import robots, urlset

ROOT = Path(usp.__file__).parents[2]
TWO = ("--select", "SM401,SM407")  # whatever other rules find in the same document
FINE = (
    "green: All sitemaps were read, and nothing wrong was found.\nNo findings; 1 sitemap checked.\n"
)
RELATIVE = [f"/{word}" for word in ("tea", "milk", "sugar", "cake", "cups")]


def relative(*paths: str) -> list[str]:
    return [f"<url><loc>{path}</loc></url>" for path in paths]


@pytest.fixture
def folder(put, here):
    """A folder with a sitemap that is fine, and one that is not."""
    bad = urlset(*relative(*RELATIVE), "https://example.org/tea#green")
    put({"public/bad.xml": bad, "public/good.xml": urlset("https://example.org/")})
    return here


def found(run, *argv: str) -> list[dict]:
    ended = run("check", *argv, "-f", "jsonl", "-q")
    return [json.loads(line) for line in ended.lines]


def codes(run, *argv: str) -> set[str]:
    return {finding["code"] for finding in found(run, *argv)}


# Text -----------------------------------------------------------------------------------------------


def test_findings_are_folded_by_rule_or_lines_that_editors_can_open(run, folder):
    written = (folder / "public" / "bad.xml").read_text()
    at = [f"1:{entry.start() + 1}" for entry in re.finditer("<loc>", written)]
    ended = run("check", "public", *TWO)
    assert ended.lines == [
        "error SM401 relative-url: 5 findings",
        "  Write the full URL, with its scheme and host.",
        f"public/bad.xml:{at[0]}: error SM401 the URL is relative: '/tea'",
        f"public/bad.xml:{at[1]}: error SM401 the URL is relative: '/milk'",
        f"public/bad.xml:{at[2]}: error SM401 the URL is relative: '/sugar'",
        "    and 2 more",
        "",
        "warning SM407 url-fragment: 1 finding",
        "  Leave out the # and what follows it.",
        f"public/bad.xml:{at[5]}: warning SM407 the URL has a fragment: https://example.org/tea#green",
        "",
        "red: All sitemaps were read; 5 errors.",
        "6 findings (5 errors, 1 warning); 2 sitemaps checked.",
        "'usp rule SM401' explains a rule; --all lists every finding.",
    ]
    assert (ended.status, ended.err) == (1, "")
    by_sitemap = run("check", "public", "--by-sitemap", *TWO).lines
    assert by_sitemap[:3] == [
        "public/bad.xml",
        "  error SM401 relative-url: 5 findings",
        f"    {at[0]:>5}  the URL is relative: '/tea'",
    ]
    assert by_sitemap[-3:] == ended.lines[-3:]
    ended = run("check", "public/bad.xml", "--all", "--select", "SM401")
    assert [line.partition(": error SM401 ")[0] for line in ended.lines[:-2]] == [
        f"public/bad.xml:{place}" for place in at[: len(RELATIVE)]
    ]


def test_a_finding_in_many_sitemaps_is_shown_for_some_and_counted_for_all(run, put):
    put({f"{number}.xml": urlset("https://example.org/#a") for number in range(50)})
    assert "warning SM407 url-fragment: 50 findings in 50 sitemaps" in run("check", ".").lines
    ended = run("check", ".", "--select", "SM407", "--by-sitemap")
    assert sum(line.endswith("warning SM407 url-fragment: 1 finding") for line in ended.lines) == 20
    assert "  warning SM407 url-fragment: 30 findings in 30 sitemaps" in ended.lines
    assert "50 findings (50 warnings); 50 sitemaps checked." in ended.lines


def test_the_first_findings_of_a_rule_name_their_pages_and_robots_txt_is_counted_too(run, serve):
    bad = "<url><loc>{base}/%s</loc><lastmod>never</lastmod></url>"
    minified = urlset(*(bad % at for at in range(9))).replace("\n", "")
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": minified})
    ended = run("check", site, "--select", "SM550")
    assert [number for number in range(9) if f"{site}/{number}" in ended.out] == [0, 1, 2]
    assert "    and 6 more" in ended.lines
    assert "9 findings (9 errors); 1 sitemap and robots.txt checked." in ended.lines


def test_nothing_wrong_is_said_in_a_line(run, folder):
    run("check", "public/good.xml").ends(0, out=FINE)
    assert "2 sitemaps checked." in run("check", "public/bad.xml", "public/good.xml").out


def test_programs_read_one_object_or_one_per_line_or_a_file(run, folder):
    whole = json.loads(run("check", "public", "-f", "json", *TWO).out)
    assert whole["findings"] == found(run, "public", *TWO)
    assert whole["counts"]["findings"] == len(whole["findings"]) == 6
    assert whole["counts"]["severities"] == {"error": 5, "warning": 1, "info": 0}
    nothing = json.loads(run("check", "public/good.xml", "-f", "json").out)
    assert (nothing["findings"], nothing["counts"]["checked"]) == ([], 1)
    assert (whole["verdict"]["color"], nothing["verdict"]["color"]) == ("red", "green")
    assert whole["verdict"]["first"][0] in whole["counts"]["rules"]
    ended = run("check", "public", "-f", "json", "-o", "found.json", *TWO).ends(1, out="")
    assert ended.err == "usp: wrote 6 findings (5 errors, 1 warning) to found.json\n"
    assert len(json.loads((folder / "found.json").read_text())["findings"]) == 6


def test_github_gets_a_summary_of_the_job_which_a_suffix_writes_too(run, folder, monkeypatch):
    run("check", "public", "-o", "found.md", *TWO).ends(1)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "job.md"))
    run("check", "public", *TWO).ends(1)
    assert not (folder / "job.md").exists()
    run("check", "public", "-f", "github", *TWO).ends(1)
    summary = (folder / "job.md").read_text()
    assert summary == (folder / "found.md").read_text()
    assert "| error | SM401 relative-url | 5 | 1 | public/bad.xml:" in summary


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="the action is a script for bash")
@pytest.mark.parametrize(
    ("path", "status"), [("public/", 1), ("public/good.xml\n\n", 0), ("no/", 2)]
)
def test_the_action_annotates_sums_up_writes_sarif_and_ends_like_the_command(folder, path, status):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    programs = folder / "usp-check" / "bin"
    programs.mkdir(parents=True)
    (programs / "usp").write_text(f'#!{BASH}\nexec "{sys.executable}" -m usp "$@"\n')
    (programs / "usp").chmod(0o755)
    inputs = {"path": path, "options": "--select SM401\n--select SM407", "sarif": "found.sarif"}
    given = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)
        for name, text in step["env"].items()
    }
    assert action["inputs"].keys() >= inputs.keys()
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    more = {name: str(folder / file) for name, file in files.items()}
    more |= {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT)}
    given |= {"USP_REPOSITORY": "Tea/usp"}
    ended = subprocess.run(
        [BASH, "-c", step["run"]],
        check=False,
        env=os.environ | given | more,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == status, ended.stderr
    assert (folder / "output").read_text() == f"status={status}\n"
    assert ("::error file=public/bad.xml,line=" in ended.stdout) == (status == 1)
    if status < 2:
        driver = json.loads((folder / "found.sarif").read_text())["runs"][0]["tool"]["driver"]
        assert driver["informationUri"] == "https://tea.github.io/usp/"
        assert (folder / "summary").read_text().startswith("## Sitemaps\n")


# The exit status ------------------------------------------------------------------------------------


def test_the_status_tells_whether_something_severe_enough_was_found(run, folder):
    for options, status in [
        ([], 1),
        (["--fail-on", "never"], 0),
        (["--select", "SM407", "--fail-on", "error"], 0),
        (["--select", "SM407", "--fail-on", "warning"], 1),
        (["--select", "SM407", "--severity", "SM407=info"], 0),
        (["--select", "SM407", "--severity", "SM407=info", "--fail-on", "info"], 1),
        (["--select", "SM407", "--severity", "SM407=off", "--fail-on", "info"], 0),
        (["--select", "SM407", "--severity", "url-fragment=error", "--fail-on", "error"], 1),
        (["--select", "SM407", "--min-severity", "error", "--fail-on", "info"], 0),
    ]:
        assert run("check", "public", *options).status == status


def test_a_document_that_is_not_a_sitemap_is_a_finding(run, put):
    put({"page.xml": "<html><body>Hello</body></html>"})
    assert "SM350" in codes(run, "page.xml")
    assert run("check", "page.xml").status == 1


def test_what_could_not_be_checked_is_not_a_success(run, here):
    run("check", ".").ends(2, "no sitemaps were found")
    run("check", "http://127.0.0.1:9/sitemap.xml").ends(2, "connection refused", out="")


def test_a_website_is_checked_with_its_missing_sitemaps(run, site):
    assert {"SM150", "SM402"} <= codes(run, site)
    assert run("check", site).status == 1


def test_some_of_the_pages_are_fetched_if_asked(run, serve):
    site = serve(
        {
            "/robots.txt": "User-agent: *\nAllow: /\nSitemap: {site}/sitemap.xml\n",
            "/sitemap.xml": urlset("/here", "/gone"),
            "/here": "<!doctype html><title>Here</title>",
        }
    )
    assert "SM901" not in codes(run, site)
    found_there = found(run, site, "--fetch-pages", "10", "--select", "SM901")
    assert [finding["page"] for finding in found_there] == [f"{site}/gone"]


OTHERS = {
    "browserconfig.xml": '<?xml version="1.0"?><browserconfig><msapplication/></browserconfig>',
    "index.html": "<!DOCTYPE html><html><body>https://example.org/</body></html>",
    "llms.txt": "# Tea\n\nhttps://example.org/tea\n",
    "opensearch.xml": "<OpenSearchDescription><ShortName>Tea</ShortName></OpenSearchDescription>",
    "page.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
}


def test_other_files_of_a_static_website_are_not_taken_for_sitemaps(run, put):
    robots = "User-agent: *\nAllow: /\nSitemap: https://a.example/s.xml\n"
    put(OTHERS | {"robots.txt": robots, "s.xml": urlset("https://a.example/")})
    run("check", ".").ends(0, out=FINE.replace("1 sitemap", "1 sitemap and robots.txt"))


def test_pages_that_were_built_are_files_and_no_sitemaps(run, put):
    page = "<!DOCTYPE html><title>Tea</title>"
    put(
        {
            "a.xml": urlset("https://a.example/"),
            **{f"{name}.html": page for name in ("index", *"xy")},
        }
    )
    assert "SM931 unlisted-page: 2 findings in 2 files\n" in run("check", ".").out


def test_a_file_that_is_called_or_declared_a_sitemap_must_be_one(run, put, here):
    for name, is_declared in [("sitemap.xml", False), ("all.xml", True), ("all.txt", True)]:
        put({name: "<browserconfig/>" if name.endswith("xml") else "no URL\n"})
        put({"good.xml": urlset("https://a.example/")})
        if is_declared:
            put({"robots.txt": f"Sitemap: https://a.example/{name}\n"})
        assert run("check", ".").status == 1
        (here / "good.xml").unlink()
        assert run("check", ".").status == 1


# Which rules ----------------------------------------------------------------------------------------


def test_the_more_precise_choice_counts(run, folder):
    for options, expected in [
        (["--select", "SM401"], {"SM401"}),
        (["--select", "sm401"], {"SM401"}),
        (["--select", "relative-url"], {"SM401"}),
        (["--select", "SM401,SM407"], {"SM401", "SM407"}),
        (["--select", "SM401", "--select", "SM407"], {"SM401", "SM407"}),
        (["--select", "SM401", "--extend-select", "SM407"], {"SM401", "SM407"}),
        (["--select", "SM4", "--ignore", "SM401"], {"SM407"}),
        (["--select", "SM401", "--ignore", "SM4"], {"SM401"}),
        (["--select", "SM401", "--ignore", "SM401"], set()),
        (["--select", "SM401,SM407", "--extend-ignore", "url-fragment"], {"SM401"}),
        (["--ignore", "ALL"], set()),
        (["--ignore", "ALL", "--select", "SM407"], {"SM407"}),
        (["--severity", "ALL=off", "--severity", "SM407=info"], {"SM407"}),
        (["--severity", "SM4=off", "--ignore", "SM1,SM2,SM3,SM5"], set()),
    ]:
        assert codes(run, "public", *options) & {"SM401", "SM407"} == expected


HINTS = [f"<url><loc>https://example.org/{n}</loc><priority>.9</priority></url>" for n in range(20)]


def test_a_profile_chooses_rules_and_how_severe_they_are_unless_that_is_said(run, put, here):
    put({"sitemap.xml": urlset(*HINTS), "fragment.xml": urlset("https://example.org/#a")})
    for options, expected in [
        ([], {"SM506": "info", "SM407": "warning"}),
        (["--profile", "strict"], {"SM506": "warning", "SM407": "error"}),
        (["--profile", "google"], {"SM407": "warning"}),
        (["--profile", "google", "--select", "ALL,SM506"], {"SM506": "info", "SM407": "warning"}),
        (["--profile", "strict", "--severity", "SM4=info"], {"SM506": "warning", "SM407": "info"}),
        (["--select", "SM508,SM407", "--ignore", "url-fragment"], {"SM506": "info"}),
        (["--ignore", "same-priority,default-priority"], {"SM407": "warning"}),
    ]:
        given = found(run, "sitemap.xml", "fragment.xml", *options)
        assert {one["code"]: one["severity"] for one in given} == expected, options
    put({"usp.toml": '[check]\nprofile = "bing"\nselect = ["SM6", "SM506"]\n'})
    assert codes(run, "sitemap.xml") == {"SM506"}
    run("check", "sitemap.xml", "--profile", "yahoo").ends(
        2, "unknown profile 'yahoo'; choose from google, bing"
    )


def test_each_rule_says_who_asks_for_it_and_is_in_the_profiles_that_follow_from_that():
    for rule in RULES.values():
        assert rule.asked_by, rule.code
        assert "strict" in rule.profiles
        assert ("bing" in rule.profiles) is (rule.asked_by != ("Google",)), rule.code
    assert {*RULES["SM551"].profiles} == {"bing", "strict"}


def test_the_configuration_file_chooses_rules_and_severities(run, put, folder):
    chosen = '[tool.usp.check]\nselect = ["SM401", "SM407"]\nignore = "SM401"\n'
    put({"pyproject.toml": f'{chosen}[tool.usp.check.severity]\nSM407 = "error"\n'})
    assert [(one["code"], one["severity"]) for one in found(run, "public")] == [("SM407", "error")]
    assert codes(run, "public", "--ignore", "SM406") >= {"SM401", "SM407"}
    put({"usp.toml": '[check]\nselect = ["nonsense"]\n'})
    run("check", "public").ends(2, f"set in {folder / 'usp.toml'}")


def test_robots_are_named_on_the_command_line_or_in_the_configuration_file(run, serve, put):
    rules = "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nUser-agent: Bingbot\nAllow: /\n"
    site = serve({"/robots.txt": f"{rules}{robots('/a.xml')}", "/a.xml": urlset("/tea")})
    assert codes(run, site) == {"SM115"}
    assert codes(run, site, "--agent", "googlebot,Applebot", "--agent", "Slurp") == {
        "SM104",
        "SM411",
    }
    put({"usp.toml": '[check]\nagent = ["Applebot"]\n'})
    assert codes(run, site) == {"SM104", "SM411"}
    run("check", site, "--agent", "Mozilla/5.0").ends(2, "is not the name of a robot")


def test_a_path_in_the_configuration_file_is_relative_to_it(run, folder, monkeypatch):
    (folder / "usp.toml").write_text('[check]\nbaseline = "known.json"\n')
    assert run("check", "public", "--write-baseline", "known.json").status == 0
    assert run("check", "public").status == 0
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    run("check", "../public").ends(0, "known findings left out by the baseline")


IGNORES = """
[[tool.usp.check.ignores]]
rules = ["relative-url", "SM4"]
sitemap = "bad.xml"
url = "*/[mc]*"
reason = "they are gone soon"
until = 2999-12-31

[[tool.usp.check.ignores]]
rules = "SM407"
until = 2020-01-31

[[tool.usp.check.ignores]]
rules = "SM401"
sitemap = "*/good.xml"
"""


def test_ignores_leave_findings_out_until_a_day_and_say_when_they_are_of_no_use(run, put, folder):
    put({"pyproject.toml": IGNORES})
    ended = run("check", "public", *TWO, "-f", "jsonl").ends(1)
    left = [json.loads(line)["page"] for line in ended.lines]
    assert left == ["/tea", "/sugar", "https://example.org/tea#green"]
    assert "the ignore of SM407 ended on 2020-01-31; its findings are shown again" in ended.err
    assert "the ignore of SM401 in */good.xml fits no finding; remove it" in ended.err
    assert "3 findings left out by ignores of the configuration" in ended.err
    for wrong, reason in [
        ({"rule": "SM401"}, "an ignore has no 'rule', only rules, sitemap"),
        ({"reason": "no idea"}, "neither rules nor a sitemap nor a url"),
        ({"rules": "SM999"}, "no rule has the code or name 'SM999'"),
        ({"rules": "SM4", "until": "soon"}, "until 'soon' is not a day such as 2030-01-31"),
        ({"rules": 4}, "an ignore is a table of texts and a date"),
        ({"url": "re:("}, "url 're:(' is not a valid regular expression"),
        ([], "an ignore is a table"),
    ]:
        run("check", "public", "--ignores", json.dumps(wrong)).ends(2, reason)
        with pytest.raises(ValueError, match=re.escape(reason)):
            usp.check("public", ignores=[wrong])
    run("check", "public", "--ignores", "rules=SM4").ends(
        2, 'an ignore is not JSON, such as {"rules"'
    )
    put({"pyproject.toml": '[tool.usp.check]\nignores = "SM4"\n'})
    run("check", "public").ends(2, "ignores must be a list of tables: [[tool.usp.check.ignores]]")


# The baseline ---------------------------------------------------------------------------------------


def test_known_findings_are_left_out_although_their_lines_moved(run, folder):
    run("check", "public", "--write-baseline", "known.json", *TWO).ends(
        0, "wrote 6 findings to known.json", out=""
    )
    bad = folder / "public" / "bad.xml"
    bad.write_text(bad.read_text().replace("<url>", "\n\n<url>", 1))
    ended = run("check", "public", "--baseline", "known.json", *TWO)
    ended.ends(0, err="usp: 6 known findings left out by the baseline\n")
    assert ended.out == (
        "green: All sitemaps were read, and nothing new was found.\n"
        "No new findings; 2 sitemaps checked.\n"
    )


def test_new_findings_are_told_and_so_is_how_many_are_gone(run, folder):
    run("check", "public", "--write-baseline", "known.json")
    (folder / "public" / "bad.xml").write_text(urlset(*relative("/tea", "/bread", "/bread")))
    ended = run("check", "public", "--baseline", "known.json", "--select", "SM401", "-f", "jsonl")
    assert [json.loads(line)["page"] for line in ended.lines] == ["/bread", "/bread"]
    assert ended.status == 1
    assert "4 findings of the baseline no longer found" in ended.err


def test_what_is_gone_with_its_file_is_told(run, folder):
    (folder / "elsewhere").mkdir()
    bad = folder / "public" / "bad.xml"
    text = bad.read_text()
    for given in [".", "public", "public/..", "./"]:
        for known in ["known.json", "public/known.json", "elsewhere/known.json"]:
            bad.write_text(text)
            run("check", given, "--write-baseline", known, *TWO)
            bad.unlink()
            ended = run("check", given, "--baseline", known, *TWO)
            (folder / known).unlink()
            assert ended.status == 0, ended.err
            assert "6 findings of the baseline no longer found" in ended.err


def test_a_baseline_survives_renaming_the_folder_and_the_rules_that_became_one(run, folder):
    run("check", "public", "--write-baseline", "known.json", *TWO)
    (folder / "public").rename(folder / "dist")
    for given in ("dist", "./dist/"):
        run("check", given, "--baseline", "known.json", *TWO).ends(0, "6 known findings left out")
    (folder / "copy").mkdir()
    shutil.copy(folder / "dist" / "bad.xml", folder / "copy")
    assert run("check", "dist", "copy", "--baseline", "known.json", *TWO).status == 1
    (folder / "dist" / "bad.xml").write_text(urlset(*HINTS))
    run("check", "dist", "--write-baseline", "known.json", "--select", "SM506")
    known = folder / "known.json"
    known.write_text(known.read_text().replace("SM506", "SM507"))
    run("check", "dist", "--baseline", "known.json", "--select", "SM507").ends(0, "1 known finding")


def test_a_baseline_is_the_same_on_another_machine_and_each_time(run, folder):
    run("check", "public", "--write-baseline", "known.json")
    text = (folder / "known.json").read_text()
    assert "public/bad.xml" in text
    assert str(folder) not in text
    run("check", str(folder / "public" / "bad.xml"), "--write-baseline", "known.json")
    assert (folder / "known.json").read_text() == text


def test_what_is_not_a_baseline_is_refused(run, folder):
    for content in ["", "[]", '{"version": 2}', '{"version": 1, "findings": [1]}']:
        (folder / "known.json").write_text(content)
        run("check", "public", "--baseline", "known.json").ends(2, "is not a baseline")
        ended = run("check", "public", "--baseline", "nothing.json")
        assert "--write-baseline nothing.json creates it" in ended.err


def test_a_rule_is_explained_by_code_or_name_and_all_are_listed(run):
    by_code = run("rule", "SM401").ends(0)
    for other in (["rule", "relative-url"], ["help", "SM401"], ["help", "relative-url"]):
        assert run(*other).out == by_code.out
    assert "SM401 relative-url\nerror, about the URLs of pages" in by_code.out
    assert all(one in by_code.out for one in ("/tea</loc>", "Write the full URL", "sitemaps.org"))
    listed = run("rule", "--all").lines
    assert all(
        any(one in line for line in listed) for one in ("error", "relative-url", "is relative.")
    )
    assert [line.split()[0] for line in listed if line.startswith("  SM")] == list(RULES)
    told = json.loads(run("rule", "--all", "-f", "json").out)
    assert [rule["code"] for rule in told] == list(RULES)
    assert all(rule["summary"] and rule["hint"] for rule in told)


# What is fixed --------------------------------------------------------------------------------------

BROKEN = urlset("https://tea.example/a b")
DIFF = """\
--- s.xml
+++ s.xml
@@ -{line},1 +{line},1 @@
-{was}
+{now}
"""


def test_a_fix_is_shown_and_written_only_if_that_is_asked_for(run, put, here):
    put({"s.xml": BROKEN})
    file = here / "s.xml"
    lines = BROKEN.splitlines()
    line = next(at for at, text in enumerate(lines) if "a b" in text)
    was, now = lines[line], lines[line].replace("a b", "a%20b")
    diff = DIFF.format(line=line + 1, was=was, now=now)
    run("check", ".", "--fix").ends(1, "1 document can be fixed", out=diff)
    run("check", ".", "--fix", "--write-to", "to").ends(0, "1 document fixed", out=diff)
    assert file.read_text() == BROKEN
    assert (here / "to" / "s.xml").read_text() == BROKEN.replace("a b", "a%20b")
    run("check", "s.xml", "--fix", "--write", "-o", "s.patch").ends(0, "1 document fixed", out="")
    assert (here / "s.patch").read_text() == diff
    assert file.read_text() == BROKEN.replace("a b", "a%20b")
    run("check", "s.xml", "--fix").ends(0, "nothing can be fixed", out="")


def test_the_sitemaps_of_a_website_are_fixed_in_a_folder(run, serve, here):
    site = serve({"/a/s.xml": BROKEN, "/robots.txt": "Sitemap: {site}/a/s.xml\n"})
    run("check", site, "--fix", "--write").ends(2, "--write is for files")
    run("check", site, "--fix", "--write-to", "to").ends(0, "1 document fixed")
    assert (here / "to" / "a" / "s.xml").read_text() == BROKEN.replace("a b", "a%20b")
    run("check", "to", "--write").ends(2, "--write and --write-to need --fix")
    run("check", "to", "--fix", "--json").ends(2, "--fix writes a diff")
