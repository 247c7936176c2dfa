"""Links to other languages: what a code is, which pages are versions of each other, which link back.

The pages of one group usually all name the same versions, so they are gathered by these: a group whose
members have all been read is complete, and forgotten. What is left at the end is looked at link by
link. Groups that wait for their members are kept in memory while they are few, and then in a temporary
database.
"""

from __future__ import annotations

import marshal
import re
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from usp._base.display import get_logger
from usp._base.seen_urls import SeenUrls, UrlFingerprints
from usp.checks.page_urls import normal_all

if TYPE_CHECKING:
    import sqlite3

    from usp.checks.page_columns import PageColumns

# Characters of groups that wait in memory; their pages are not counted, and take as much again.
MOST_CHARACTERS = 16 * 1024 * 1024

_log = get_logger(__name__)
_TABLES = """
    PRAGMA journal_mode = OFF;
    PRAGMA cache_size = -16384;
    CREATE TABLE waiting (members BLOB, pages BLOB);
    CREATE TABLE links (page BLOB, link BLOB, sitemap INTEGER, line INTEGER, PRIMARY KEY (page, link))
        WITHOUT ROWID;
"""
_NOT_RETURNED = """
    SELECT page, link, sitemap, line FROM links AS one
    WHERE NOT EXISTS (SELECT 1 FROM links WHERE page = one.link AND link = one.page)
    ORDER BY sitemap, line, page, link
"""


class Version(NamedTuple):
    """A page with links to other languages: codes in lower case, URLs in their normal form."""

    at: int
    url: str
    codes: tuple[str, ...]
    links: tuple[str, ...]


def versions_of(
    alternates: Sequence[tuple[int, list[tuple[str, str]]]], urls: Sequence[str]
) -> Iterator[Version]:
    """Yield pages with their links; ``urls`` are those of the block, in their normal form."""
    hrefs = iter(normal_all([href for _, links in alternates for _, href in links]))
    lowered = {code: code.strip().lower() for _, links in alternates for code, _ in links}
    for at, links in alternates:
        codes = tuple([lowered[code] for code, _ in links])
        yield Version(at, urls[at], codes, tuple(islice(hrefs, len(links))))


class HreflangGroups:
    """The links between languages of all sitemaps."""

    def __init__(self) -> None:
        # Pages that name the same versions: these in one text, the pages with their sitemap and line.
        self._groups: dict[int, tuple[str, dict[str, tuple[int, int]]]] = {}
        self._size = 0
        self._pages = SeenUrls()
        self._repeated = SeenUrls()  # pages that name versions twice: these may differ
        self._database: sqlite3.Connection | None = None
        self._is_full = False  # there was no room for all of them

    def add(self, block: PageColumns) -> None:
        """Add the links of the pages of a block."""
        if not (versions := block.versions):
            return
        lines = block.examined.lines
        urls = [version.url for version in versions]
        new = self._pages.add_all(urls)
        self._repeated.add_all([url for at, url in enumerate(urls) if new and not new[at]])
        sitemap, groups = block.sitemap.number, self._groups
        for at, url, _, links in versions:
            members = frozenset(links)
            key = hash(members)
            if key not in groups:
                groups[key] = "\n".join(sorted(members)), {}
                self._size += len(groups[key][0])
            joined, pages = groups[key]
            pages.setdefault(url, (sitemap, lines[at] or 0 if lines else 0))
            if url not in members:
                self._size += len(url)
            elif len(pages) == len(members) and members.issuperset(pages):
                del groups[key]
                self._size -= len(joined)
        if self._size > MOST_CHARACTERS:
            self._spill()

    def _spill(self) -> None:
        """Put all groups into the database."""
        import sqlite3  # noqa: PLC0415 - pages about rules need none

        if self._database is None:
            # A check on asyncio goes on in one thread after another.
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._database.close)
            self._database.executescript(_TABLES)
        groups = self._groups.values()
        rows = ((_encoded(members), marshal.dumps(pages)) for members, pages in groups)
        try:
            self._database.executemany("INSERT INTO waiting VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            _log.warning("Links between languages are not checked: no room for them: %s", error)
            self._is_full = True
        self._groups.clear()
        self._size = 0

    def missing_returns(
        self, listed: UrlFingerprints
    ) -> Iterator[tuple[str, str, int, int | None]]:
        """Yield the links that are not returned by a page that is listed too, in the order of pages.

        A link is the page, its version, and the number of the sitemap and the line where it is.
        """
        if self._groups or self._database is not None:
            self._spill()
        database = self._database
        if database is None or self._is_full:
            return
        rows = database.execute("SELECT members, pages FROM waiting ORDER BY members")
        for joined, parts in groupby(rows, key=lambda row: row[0]):
            pages: dict[str, tuple[int, int]] = {}
            for _, part in parts:
                pages |= marshal.loads(part)  # noqa: S302 - written by this process
            members = set(_decoded(joined).split("\n"))
            database.executemany(
                "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)",
                (
                    (_encoded(url), _encoded(link), sitemap, line)
                    for url, (sitemap, line) in pages.items()
                    for link in members
                    if link != url and not (link in pages and url in members) and link in listed
                ),
            )
        for page, link, sitemap, line in database.execute(_NOT_RETURNED):
            url = _decoded(page)
            if url not in self._repeated:
                yield url, _decoded(link), sitemap, line or None


_encoded = methodcaller("encode", "utf-8", "surrogatepass")
_decoded = methodcaller("decode", "utf-8", "surrogatepass")


# Codes: ISO 639, ISO 15924, ISO 3166-1 and UN M.49, without what is reserved, withdrawn or private ---


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGES = [
    one.split(":")
    for one in _codes("""
    aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak
    be:bel bg:bul bi:bis bm:bam bn:ben bo:bod:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre
    cs:ces:cze cu:chu cv:chv cy:cym:wel da:dan de:deu:ger dv:div dz:dzo ee:ewe el:ell:gre en:eng
    eo:epo es:spa et:est eu:eus:baq fa:fas:per ff:ful fi:fin fj:fij fo:fao fr:fra:fre fy:fry
    ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun
    hy:hye:arm hz:her ia:ina id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl:ice it:ita iu:iku
    ja:jpn jv:jav ka:kat:geo kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas
    ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav
    mg:mlg mh:mah mi:mri:mao mk:mkd:mac ml:mal mn:mon mr:mar ms:msa:may mt:mlt my:mya:bur na:nau
    nb:nob nd:nde ne:nep ng:ndo nl:nld:dut nn:nno no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm
    or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que rm:roh rn:run ro:ron:rum ru:rus rw:kin
    sa:san sc:srd sd:snd se:sme sg:sag si:sin sk:slk:slo sl:slv sm:smo sn:sna so:som sq:sqi:alb
    sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl
    tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie
    vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha zh:zho:chi zu:zul
    """)
]

LANGUAGES = frozenset(two for two, *_ in _LANGUAGES)  # languages with two letters
# The codes of three letters, in ISO 639-2, of languages that have one of two.
SHORTER = {three: two for two, *longer in _LANGUAGES for three in longer}

# Parts of the world, of UN M.49: es-419 is the Spanish of Latin America.
AREAS = _codes("""
    001 002 003 005 009 011 013 014 015 017 018 019 021 029 030 034 035 039 053 054 057 061 142 143
    145 150 151 154 155 202 419
""")

# The variants of languages that are written most often.
VARIANTS = _codes("""
    1901 1994 1996 arevela arevmda ekavsk ijekavsk monoton oxendict pinyin polyton scotland tarask
    valencia wadegile
""")

# Scripts with four letters.
SCRIPTS = _codes("""
    Adlm Afak Aghb Ahom Arab Aran Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Blis Bopo Brah
    Brai Bugi Buhd Cakm Cans Cari Cham Cher Chis Chrs Cirt Copt Cpmn Cprt Cyrl Cyrs Deva Diak Dogr
    Dsrt Dupl Egyd Egyh Egyp Elba Elym Ethi Gara Geok Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh
    Guru Hanb Hang Hani Hano Hans Hant Hatr Hebr Hira Hluw Hmng Hmnp Hrkt Hung Inds Ital Jamo Java
    Jpan Jurc Kali Kana Kawi Khar Khmr Khoj Kitl Kits Knda Kore Kpel Krai Kthi Lana Laoo Latf Latg
    Latn Leke Lepc Limb Lina Linb Lisu Loma Lyci Lydi Mahj Maka Mand Mani Marc Maya Medf Mend Merc
    Mero Mlym Modi Mong Moon Mroo Mtei Mult Mymr Nagm Nand Narb Nbat Newa Nkdb Nkgb Nkoo Nshu Ogam
    Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Pcun Pelm Perm Phag Phli Phlp Phlv Phnx Piqd Plrd
    Prti Psin Ranj Rjng Rohg Roro Runr Samr Sara Sarb Saur Sgnw Shaw Shrd Sidd Sidt Sind Sinh Sogd
    Sogo Sora Sund Sunu Sylo Syrc Syre Syrj Syrn Tagb Takr Tale Talu Taml Tang Tavt Tayo Telu Teng
    Tfng Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar Vaii Visp Vith Wara Wcho Wole Xpeo
    Xsux Yezi Yiii
""")

# Countries and territories with two letters.
REGIONS = _codes("""
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR
    BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ
    EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW
    GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY
    KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV
    MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY
    QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG
    TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM
    ZW
""")


DEFAULT = "x-default"
_CODE = re.compile(
    r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))?",
    re.IGNORECASE,
)
# x-default, and tags that follow no rule: RFC 5646, section 2.2.8
_REGISTERED = _codes("""
    x-default en-gb-oed i-ami i-bnn i-default i-enochian i-hak i-klingon i-lux i-mingo i-navajo i-pwn
    i-tao i-tay i-tsu sgn-be-fr sgn-be-nl sgn-ch-de art-lojban cel-gaulish no-bok no-nyn zh-guoyu
    zh-hakka zh-min zh-min-nan zh-xiang
""")
_PRIVATE = re.compile("q[a-t][a-z]|und|mul|mis|zxx")  # no language
_USED = frozenset({"XK"})  # not of ISO, but what everyone writes for Kosovo
_MEANT_LANGUAGES = {
    "jp": "ja", "cn": "zh", "kr": "ko", "gr": "el", "cz": "cs", "dk": "da", "ua": "uk", "iw": "he",
    "in": "id", "ji": "yi", "gb": "en", "us": "en", "br": "pt-BR", "at": "de-AT", "mx": "es-MX",
}  # fmt: skip
_MEANT_REGIONS = {"UK": "GB", "EL": "GR", "SP": "ES", "EN": "GB", "JA": "JP"}


@lru_cache(maxsize=4096)
def wrong_with(code: str) -> str | None:
    """Return what is wrong with a code, or None: then it is one.

    It is a language of ISO 639 with two letters, or with three if it has no code of two; after it may
    be a script of ISO 15924, a country of ISO 3166-1 or a part of the world of UN M.49, and a variant,
    in this order; or it is ``x-default``, or a tag that was registered before these rules. The case of
    letters does not matter. There are thousands of languages with three letters: no such code is taken
    for wrong.
    """
    code = code.strip()
    found, is_registered = _CODE.fullmatch(code), code.lower() in _REGISTERED
    if found is None or is_registered:
        return None if is_registered else f"{code!r} is not a valid code{_instead(code)}"
    language, script, region, variant = found.groups()
    short = language.lower()
    is_two = len(short) == 2  # noqa: PLR2004 - letters
    if short not in LANGUAGES if is_two else short in SHORTER or _PRIVATE.fullmatch(short):
        meant = (_MEANT_LANGUAGES | SHORTER).get(short)
        where = "" if language == code else f" in {code!r}"
        return f"{language!r}{where} is not a language code{_did_you_mean(meant)}"
    if script and script.title() not in SCRIPTS:
        return f"{script!r} in {code!r} is not a script code"
    if variant and variant.lower() not in VARIANTS:
        return f"{variant!r} in {code!r} is not a variant of a language"
    if region and region.upper() not in REGIONS | AREAS | _USED:
        meant = _MEANT_REGIONS.get(region.upper())
        return f"{region!r} in {code!r} is not a country code{_did_you_mean(meant)}"
    return None


def _instead(code: str) -> str:
    """Return what is meant by a code that is written with underscores."""
    language, *more = code.replace("_", "-").split("-")
    language = _MEANT_LANGUAGES.get(language.lower(), language)
    other = "-".join([language, *(_MEANT_REGIONS.get(part.upper(), part) for part in more)])
    return _did_you_mean(other if "_" in code and wrong_with(other) is None else None)


def _did_you_mean(other: str | None) -> str:
    return "" if other is None else f"; did you mean {other!r}?"
