"""Chinese instructions: common patterns, read with jieba and the bilingual tables of `chinese.yaml`."""

from __future__ import annotations

import importlib.util
import logging
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, cast

import yaml

from editgauge.instructions._phrases import SIDES, Phrase
from editgauge.instructions._steps import (
    NOT_UNDERSTOOD,
    Discourse,
    Value,
    add,
    add_to,
    build_step,
    describe,
    give,
    remove,
    set_background,
    swap,
)
from editgauge.instructions._words import Word
from editgauge.types import ParsedInstruction, ParsedStep, Position, Relation

ADVICE = "Chinese is read in common patterns only: use a judge, or give the edit type and its fields"
_HAN = re.compile(r"[\u4e00-\u9fff]")
_ENDS = re.compile(r"[，。；！？,;!?\s]+|然后|并且|同时|接着|(?<=[\u4e00-\u9fff])并(?=[\u4e00-\u9fff])")
_QUOTED = re.compile(r"[“\"「『‘']([^”\"」』’']+)[”\"」』’']")
_COMPLAINT = re.compile(r"(?P<x>.+?)(?:太|很|有点|不够|不太).+")
_PRONOUNS = {
    "他": "he",
    "她": "she",
    "它": "it",
    "他们": "they",
    "她们": "they",
    "它们": "they",
    "我": "i",
    "我们": "we",
}
_AND = re.compile(r"[和与跟、]|以及|还有")
_TEXT = "文字|字|文本|标题|标语|内容"
Steps = list[ParsedStep]


@cache
def _tables() -> dict[str, Any]:
    text = (resources.files(__package__) / "chinese.yaml").read_text(encoding="utf-8")
    tables: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - every value stays a text
    return tables


@cache
def _tokenizer() -> Any:
    with warnings.catch_warnings():  # jieba's source has invalid escape sequences, reported where it is compiled
        warnings.simplefilter("ignore")
        import jieba  # type: ignore[import-untyped]

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    for name in ("nouns", "places", "colors", "materials", "adjectives", "styles", "moods", "actions", "relations"):
        for word in _tables()[name]:
            tokenizer.add_word(word, freq=100_000)
    return tokenizer


@cache
def _verbs(*groups: str) -> str:
    """Return the verbs of some groups as a regular expression, longest first."""
    verbs = {verb for group in groups for verb in _tables()["verbs"][group]}
    return "|".join(sorted(verbs, key=len, reverse=True))


@cache
def _keys(name: str) -> str:
    return "|".join(sorted(_tables()[name], key=len, reverse=True))


def is_chinese(text: str) -> bool:
    """Tell whether most letters of a text are Chinese characters."""
    letters = [sign for sign in text if sign.isalpha()]
    return bool(letters) and len(_HAN.findall(text)) > len(letters) / 2


def parse_chinese(text: str) -> ParsedInstruction:
    """Parse a Chinese instruction; what matches no pattern is not understood."""
    if importlib.util.find_spec("jieba") is None:
        advice = f"'{text.strip()}' needs jieba (`pip install 'editgauge[lite]'`). {ADVICE}"
        return ParsedInstruction((ParsedStep(type=NOT_UNDERSTOOD),), "rules", advice)
    discourse, steps, left = Discourse(), Steps(), []
    for clause in filter(None, map(_stripped, _ENDS.split(text))):
        if (complaint := _COMPLAINT.fullmatch(clause)) and (about := _phrase(complaint["x"])).words:
            discourse.mentioned.append(about)
            continue
        new = _read(clause, discourse)
        if not new:
            left.append(clause)
        for step in new:
            comes = "addition" in step.type or step.type == "object_replacement"
            if name := step.to if comes else step.subject:
                discourse.mentioned.append(Phrase(words=tuple(map(Word, name.split()))))
        steps += new
    if not steps:
        return ParsedInstruction((ParsedStep(type=NOT_UNDERSTOOD),), "rules", f"'{text.strip()}': {ADVICE}")
    steps = [replace(step, sure=step.sure and not left) for step in steps]
    return ParsedInstruction(tuple(steps), "rules", "; ".join(left))


def _stripped(clause: str) -> str:
    """Drop politeness and words for the image; empty for requests to keep something."""
    if any(phrase in clause for phrase in _tables()["kept"]):
        return ""
    phrases = sorted(_tables()["polite"], key=len, reverse=True)
    changed = True
    while changed:
        before = clause
        for phrase in phrases:
            clause = clause.removeprefix(phrase).removesuffix(phrase)
            clause = (
                clause.replace(phrase, "") if len(phrase) > 3 or phrase.startswith(("图", "照片", "画面")) else clause
            )
        changed = clause != before
    return re.sub(r"^(?:并|再|然后|另外|也)+", "", re.sub(r"^(把|将)(图中|图里|照片里|画面里)的?", r"\1", clause))


def _read(clause: str, discourse: Discourse) -> Steps:
    for pattern, rule in _PATTERNS():
        if (pattern_match := re.fullmatch(pattern, clause)) and (steps := rule(pattern_match.groupdict(), discourse)):
            return steps
    return []


def _phrase(text: str | None) -> Phrase:
    """Translate a noun phrase; empty if any of its words is unknown."""
    if not text:
        return Phrase()
    if text in _PRONOUNS:
        return Phrase(determiner="the", pronoun=_PRONOUNS[text])
    text = re.sub(rf"^(?:{'|'.join(_PRONOUNS)})(?:们)?的", "", text)
    tables, phrase, names = _tables(), Phrase(determiner="the"), list[str]()
    if located := re.match(
        rf".*(?P<r>{_keys('relations')})(?:的|(?=[那这][个只条辆位]))(?=.)|.*(?P<s>左|右)[边侧](?:那|这)", text
    ):
        side = tables["relations"].get(located["r"] or f"{located['s']}边")
        phrase, text = replace(phrase, which=(side,) if side in {"left", "right"} else ()), text[located.end() :]
    if counted := re.match(rf"(?P<n>[{''.join(tables['numbers'])}]|\d+)(?:{'|'.join(tables['measures'])})(?=.)", text):
        count = tables["numbers"].get(counted["n"], counted["n"])
        phrase, text = replace(phrase, count=int(count), determiner=""), text[counted.end() :]
    for token in _tokenizer().cut(text, HMM=False):
        if token in {
            "那",
            "这",
            "那个",
            "这个",
            "那些",
            "这些",
            "所有",
            "的",
            "全部",
            "那只",
            "这只",
            "那辆",
            "这辆",
            "整个",
        }:
            continue
        if token in tables["measures"] and token not in tables["nouns"]:
            continue
        english = next((tables[name][token] for name in _NOUN_TABLES if token in tables[name]), None)
        if english is None:
            return Phrase()
        names.append(english)
    owner = ""
    if len(names) > 1 and "的" in text and Phrase(words=(Word(names[0]),)).is_alive and names[0].count(" ") == 0:
        owner, names = names[0], names[1:]
    words = tuple(Word(word) for name in names for word in name.split())
    return replace(phrase, words=words, owner=owner) if words else Phrase()


_NOUN_TABLES = ("nouns", "places", "colors", "materials", "adjectives", "styles", "moods")
Groups = dict[str, str | None]


def _removes(groups: Groups, discourse: Discourse) -> Steps:
    steps = Steps()
    for phrase in map(_phrase, _AND.split(groups["x"] or "")):
        if not phrase:
            return []
        step = remove(replace(phrase, which=()), [], discourse)
        if phrase.which:
            side = cast("Relation", phrase.which[0])
            step = replace(step, type="single_instance_removal", position=Position(side), count=phrase.count or 1)
        steps.append(step)
    return steps


def _removes_some(groups: Groups, discourse: Discourse) -> Steps:
    """Read 把三只鸟去掉一只."""
    count = int(_tables()["numbers"][groups["n"] or ""])
    return [replace(step, type="single_instance_removal", count=count) for step in _removes(groups, discourse)]


def _becomes(groups: Groups, discourse: Discourse) -> Steps:
    """Read 把 X 换成 Y."""
    x, y = (groups.get("x") or "").removesuffix("的"), (groups["y"] or "").removesuffix("的")
    tables = _tables()
    is_property = bool(re.search(r"颜色$", x))
    x = re.sub(r"的?(颜色|风格|材质)$", "", x)
    style = re.sub(r"(的?风格|风|的?效果|的?照片|的?画作)$", "", y)
    if (
        y in tables["moods"]
        or (style in tables["styles"] and not _phrase(x).words)
        or (style != y and style in tables["styles"])
    ):
        subject = "sky" if x == "天空" else None
        return [build_step("style", subject, tables["moods"].get(y) or tables["styles"][style], sure=True)]
    new = _phrase(y)
    if x.endswith("背景"):
        return [set_background(new)] if new.words else []
    old = _phrase(x)
    if not old.words and discourse.mentioned and not x:
        old = discourse.mentioned[-1]
    if old.pronoun and (name := discourse.resolve(old)):
        old = Phrase(words=tuple(map(Word, name.split())))
    if not old.words or not new.words:
        return []
    color = re.sub(r"的$", "", y)
    if color in tables["colors"] or is_property:
        return [describe(old, Value("color", tables["colors"].get(color, new.name)), old.name)]
    material = re.sub(r"(做的|制的|制|质)$", "", y)
    if material in tables["materials"] and (material != y or material not in tables["nouns"]):
        return [describe(old, Value("texture", tables["materials"][material]), old.name)]
    return [swap(old, replace(new, determiner="a", count=None if new.count == 1 else new.count), discourse)]


def _adds(groups: Groups, discourse: Discourse) -> Steps:
    """Read 在 L 上添加 Y, 添加 Y."""
    if (several := _AND.split(groups["y"] or ""))[1:]:
        parts = [_adds({**groups, "y": part}, discourse) for part in several]
        return [step for part in parts for step in part] if all(parts) else []
    new = _phrase(groups["y"])
    if not new.words:
        return []
    new = replace(new, determiner="", count=None if new.count == 1 else new.count)
    anchor = _phrase(groups.get("l"))
    if groups.get("l") and not anchor.words:
        return []
    relation = _tables()["relations"].get(groups.get("r") or "", "")
    if not relation or (groups.get("l") or "").endswith("背景"):
        return [add(new)]
    position = Position(cast("Relation", "in" if anchor.head == "sky" else relation), anchor.name or None)
    step = add(new, position=position)
    is_side = position.relation in SIDES
    return [replace(step, type="positional_addition", subject=position.anchor) if is_side else step]


def _gives(groups: Groups, discourse: Discourse) -> Steps:
    """Read 给 X 戴上 Y, X 穿着 Y."""
    owner, item = _phrase(groups["x"]), _phrase(groups["y"])
    if not owner or not item.words:
        return []
    item = replace(item, determiner="a", count=None if item.count == 1 else item.count)
    verb = groups.get("v") or ""
    how = next((group for group in ("wear", "hold", "have") if verb in _tables()["verbs"][group]), "")
    return [give(owner, item, discourse, how) if how else add_to(item, owner, discourse)]


def _acts(groups: Groups, _: Discourse) -> Steps:
    owner, action = _phrase(groups["x"]), _tables()["actions"].get(groups["a"] or "")
    return [build_step("action", owner.name, action, sure=True)] if owner.words and action else []


def _state(kind: str, table: str) -> Callable[[Groups, Discourse], Steps]:
    def rule(groups: Groups, _: Discourse) -> Steps:
        phrase, value = _phrase(groups["x"]), _tables()[table].get(groups["s"] or "")
        if value == "blurred" and (groups["x"] or "").endswith("背景"):
            return [build_step("background", to=value, sure=True)]
        return [build_step(kind, phrase.name, value, sure=True)] if phrase.words and value else []

    return rule


def _sized(to: str) -> Callable[[Groups, Discourse], Steps]:
    def rule(groups: Groups, _: Discourse) -> Steps:
        phrase = _phrase(groups["x"])
        return [build_step("size", phrase.name, to, sure=True)] if phrase.words else []

    return rule


def _made_of(groups: Groups, _: Discourse) -> Steps:
    phrase, material = _phrase(groups["x"]), _tables()["materials"].get(groups["y"] or "")
    return [build_step("texture", phrase.name, material, sure=True)] if phrase.words and material else []


def _moves(groups: Groups, _: Discourse) -> Steps:
    phrase, location = _phrase(groups["x"]), groups.get("l") or ""
    relation = _tables()["relations"].get(groups.get("r") or "", "")
    if not phrase.words:
        return []
    if location in _tables()["places"]:
        return [set_background(_phrase(location), phrase.name)]
    anchor = _phrase(location) if location else Phrase()
    if not relation or (location and not anchor.words):
        return []
    to = relation if not location else f"{relation} {anchor.name}"
    position = Position(cast("Relation", relation), anchor.name or None)
    return [build_step("position_replacement", phrase.name, to, position=position, sure=not location)]


def _views(groups: Groups, _: Discourse) -> Steps:
    phrase = _phrase(groups["x"])
    to = _tables()["views"].get(groups["v"] or "")
    return [build_step("viewpoint", phrase.name or None, to, sure=True)] if to else []


def _located(groups: Groups, _: Discourse) -> Steps:
    location, phrase = _tables()["places"].get(groups["l"] or ""), _phrase(groups.get("x"))
    return [build_step("background", phrase.name or None, location, sure=True)] if location else []


def _writes(groups: Groups, _: Discourse) -> Steps:
    """Read 把 X 上的文字改成 "B", 在 X 上写 "B"."""
    where = re.sub(rf"(上|里)?(面)?的?({_TEXT})?$", "", groups.get("x") or "")
    phrase = _phrase(where)
    if where and not phrase.words:
        return []
    position = Position("on", phrase.name) if phrase.words and groups.get("v") else None
    old = groups.get("old")
    return [build_step("text", phrase.name or None, groups["new"], from_=old, position=position, sure=True)]


@cache
def _PATTERNS() -> tuple[tuple[str, Callable[[Groups, Discourse], Steps]], ...]:  # noqa: N802
    """Return the patterns in order; the first that matches a whole clause is used."""
    removes, becomes = _verbs("remove"), _verbs("replace", "paint")
    adds, gives = _verbs("add"), _verbs("wear", "hold", "have", "add")
    relations, states, shapes, actions = (_keys(name) for name in ("relations", "states", "shapes", "actions"))
    quote, unquote = "[“\"「『‘']", "[”\"」』’']"
    text = rf"{quote}(?P<new>[^”\"」』’']+){unquote}"
    old = rf"{quote}(?P<old>[^”\"」』’']+){unquote}"
    return (
        (rf"(?:把|将)?(?:(?P<x>.*?)的?)?{old}(?:这.{{1,3}}字)?(?:{becomes}){text}", _writes),
        (rf"(?:把|将)?(?P<x>.+?)(?:{becomes}|写着|显示){text}", _writes),
        (
            rf"(?:在|给)?(?P<x>.*?)(?:上|里)?(?:面)?(?P<v>{_verbs('write', 'add')})(?:{_TEXT})?{text}(?:这.{{1,3}}字)?",
            _writes,
        ),
        (
            rf"(?:把|将)?(?P<x>.+?)(?:{removes})(?P<n>[一两二三四五])(?:{'|'.join(_tables()['measures'])})",
            _removes_some,
        ),
        (rf"(?:把|将|让)(?P<x>.+?)(?:{removes})", _removes),
        (rf"(?:{removes})(?P<x>.+)", _removes),
        (r"(?:让|把|将)?(?P<x>.+?)(?:看起来)?像?是?用(?P<y>.+?)(?:做成?的?|制成的?)", _made_of),
        (rf"(?:把|将)(?P<x>.+?)(?P<s>{shapes})", _state("shape", "shapes")),
        (rf"(?:把|将|让)?(?P<x>.+?)(?:{_verbs('enlarge')})", _sized("large")),
        (rf"(?:{_verbs('enlarge')})(?P<x>.+)", _sized("large")),
        (rf"(?:把|将|让)?(?P<x>.+?)(?:{_verbs('reduce')})", _sized("small")),
        (rf"(?:{_verbs('reduce')})(?P<x>.+)", _sized("small")),
        (rf"(?:把|将|让)(?P<x>.+?)(?P<s>{states})", _state("action", "states")),
        (rf"(?P<s>{states})(?P<x>.+)", _state("action", "states")),
        (rf"(?:把|将)(?P<x>.+?)(?:移动到|移到|移至|挪到|放到|放在|移)(?P<l>.*?)(?P<r>{relations})?", _moves),
        (rf"(?:让|使)?(?P<x>.+?)(?:正在|在)?(?P<a>{actions})", _acts),
        (
            rf"(?:给|为|让|在)?(?P<x>.+?)(?:手上|手里|手中|头上|身上)(?P<v>{_verbs('wear', 'hold', 'have')})(?P<y>.+)",
            _gives,
        ),
        (rf"(?:给|为|让|在)(?P<x>.+?)(?:上|里)?(?P<v>{_verbs('wear', 'hold', 'have')})(?P<y>.+)", _gives),
        (rf"(?:给|为)(?P<x>.+?)(?P<v>{gives})(?P<y>.+)", _gives),
        (rf"在?(?P<l>.*?)的?(?P<r>{relations})(?:{adds}|有)(?P<y>.+)", _adds),
        (rf"(?:{adds}|有)(?P<y>.+?)在(?P<l>.+?)(?P<r>{relations})", _adds),
        (rf"(?:{adds}|有)(?P<y>.+)", _adds),
        (rf"(?:把|将|让)?(?P<x>.*?)(?:{becomes})(?P<y>.+)", _becomes),
        (rf"(?:让|把|将)?(?P<x>)(?P<y>{_keys('moods')})", _becomes),
        (rf"(?P<x>.+?)(?P<v>{_verbs('wear', 'hold')})(?P<y>.+)", _gives),
        (rf"从(?P<v>{_keys('views')})(?:角度|视角)?(?:看|拍摄|拍)(?P<x>.*)", _views),
        (rf"(?:一张)?(?:让|把)?(?P<x>.*?)在(?P<l>{_keys('places')})(?:{relations})?(?:的?(?:照片|图片))?", _located),
    )
