"""What an answer says beneath its markup: reasoning, tags, LaTeX, JSON, tables, points."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

_FLAGS = re.IGNORECASE | re.DOTALL
_REASONING = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_STAGES = r"summary|caption|reasoning"  # of LLaVA-CoT, before its <conclusion>
FINAL = "Final answer: "
_MOST_BRACKETS = 50  # that are tried as JSON; more are endless repetition
# Keys of JSON, those that state the whole first.
_COUNT_KEYS = (
    r"final[_ ]?(?:count|answer|number|total)",
    r"(?:overall[_ ]?)?total(?:[_ ]?(?:count|number|objects?|\w*))?|(?:count|number|num)[_ ]?total",
    r"answer|result|prediction|value",
    r"count|counts|quantity",
    r"number|num|n",
    r"num(?:ber)?[_ ]?(?:of)?[_ ]?\w+|\w+[_ ]?count",
)
_OF_KIND = _COUNT_KEYS[-1]  # "num_red", "apple_count": several of them are no whole
_NUMBER_OF = r"(?:num(?:ber)?[_ ]?(?:of[_ ])?|n[_ ])?"
_BOUND = r"(?:(?:min|max)(?:imum)?|lower|upper)(?:[_ ]\w+)?"
_BESIDE = (
    rf"confidence|probability|score|width|height|id|index|code|status|error|{_NUMBER_OF}(?:rows?|columns?|cols?|images?|"
    rf"questions?)(?:[_ ]?(?:count|number|num|id))?|{_BOUND}|\w*[_ ]per[_ ]\w+|"
    r"\w*(?:visible|hidden|occluded)\w*"
)
_HIDDEN = (  # "hidden_dots", "num_occluded"; not "unoccluded", "covered_area", "hidden_rows"
    r"(?!\w*(?:un|non_?|not_?)(?:hidden|occluded|covered|obscured))"
    r"(?!\w*(?:rows|columns|cols|positions|pixels|status)$)"
    r"\w*(?:hidden|occluded|covered|obscured)(?:\w*(?:s|count|number|total))?"
)
_PLACES = (
    r"point\w*|bbox\w*|box\w*|coord\w*|location|position|center|centre|polygon|mask|x|y|x1|y1|"
    r"xmin|ymin"
)
_PAIR = r"[(\[]\s*-?\d+(?:\.\d+)?\s*,\s*-?\d+(?:\.\d+)?(?:\s*,\s*-?\d+(?:\.\d+)?){0,2}\s*[)\]]"
CUT_OFF = "cut off"
UNFINISHED = "unfinished reasoning"


@dataclass(frozen=True)
class Unmarked:
    """An answer without its markup.

    Parameters
    ----------
    text : str
        Plain text.
    located : int, optional
        How many points or boxes the answer lists; None where it lists none.
    fault : str
        `CUT_OFF` or `UNFINISHED`; empty where nothing is amiss.
    """

    text: str
    located: int | None = None
    fault: str = ""


def read_markup(answer: str, *, hidden: bool = False) -> Unmarked:
    """Take the markup off an answer in the styles of language models that see.

    Parameters
    ----------
    answer : str
        As the model gave it.
    hidden : bool
        Whether the question is how many objects are hidden, which a key of JSON may name.

    Examples
    --------
    >>> read_markup('<points x1="9" y1="8" x2="7" y2="6" alt="eggs">eggs</points>').located
    2
    >>> read_markup('{"visible": 9, "total": 12}').text.strip()
    'Final answer: 12'
    """
    text = without_reasoning(answer)
    if text is None:
        return Unmarked("", fault=UNFINISHED)
    text, located = _without_tags(text)
    text, in_json, fault = _without_json(text, hidden=hidden)
    located = _joined(located, in_json)
    text, tuples = _without_tuples(text)
    located = _joined(located, tuples)
    return Unmarked(_shorten_spaces(_plain(_shorten_spaces(text))), located, fault)


def _shorten_spaces(text: str) -> str:
    """Shorten long runs of space: a rule that begins with space reads them from each place on."""
    return re.sub(r"\s{20,}", lambda match: "\n\n" if "\n" in match[0] else " " * 10, text)


def _joined(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second


def without_reasoning(answer: str) -> str | None:
    """Drop what a model thinks before it answers.

    Parameters
    ----------
    answer : str
        As the model gave it.

    Returns
    -------
    str or None
        None where it never stops.
    """
    if "<|channel|>" in answer:
        parts = re.split(r"<\|channel\|>\s*final\s*<\|message\|>", answer)
        return None if len(parts) == 1 else parts[-1]
    text = re.sub(r"◁(/?)think▷", r"<\1think>", answer)
    text = re.sub(r"\[(/?)THINK\]", r"<\1think>", text)
    if "</" in text:
        text = re.sub(rf"<({_REASONING}|{_STAGES})>.*?</\1>", " ", text, flags=_FLAGS)
    if re.search(rf"</(?:{_REASONING})>", text, _FLAGS):  # opened by the prompt
        text = re.split(rf"</(?:{_REASONING})>", text, flags=_FLAGS)[-1]
    return None if re.search(rf"<(?:{_REASONING})>", text, _FLAGS) else text


def _without_tags(text: str) -> tuple[str, int | None]:
    """Count points and boxes in the tags of Molmo, InternVL, Qwen-VL and DeepSeek-VL."""
    n: int | None = None

    def add(more: int) -> str:
        nonlocal n
        n = (n or 0) + more
        return " "

    def points(match: re.Match[str]) -> str:
        listed = re.search(r'\bcoords\s*=\s*"([^"]*)"', match[0])
        if listed:  # of Molmo 2: a frame, then number, x and y of each
            return add(sum((len(part.split()) - 1) // 3 for part in re.split(r"[;\t]", listed[1])))
        return add(len(re.findall(r"\bx\d*\s*=", match[0])) or 1)

    if corners := re.findall(r"<loc\d+>", text):  # of PaliGemma: four for each box
        text = re.sub(r"<loc\d+>", " ", text)
        add(len(corners) // 4)
    bare = r"<(bbox|bounding_box|box_2d|location|coordinates?)>[\d\s.,;()\[\]-]+</\1>"
    text = re.sub(bare, lambda match: add(1), text, flags=_FLAGS)
    text = re.sub(r"<points?\b[^<>]*>(?:[^<>]*</points?>)?", points, text, flags=_FLAGS)
    boxes = r"(?:<\|?ref\|?>.*?<\|?/ref\|?>\s*)?<\|?(box|det|quad)\|?>(.*?)<\|?/\1\|?>"

    def box(match: re.Match[str]) -> str:
        pairs = len(re.findall(_PAIR, match[2]))
        corners = re.search(r"\(\s*\d+\s*,\s*\d+\s*\)\s*,\s*\(", match[2])
        return add(pairs // 2 if corners else pairs)

    # <|begin_of_box|> of GLM holds the answer itself.
    text = re.sub(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>", rf"\n{FINAL}\1\n", text, flags=_FLAGS)
    text = re.sub(
        r"<\|(?:object_ref|box)_(start|end)\|>", lambda m: f"<{'/' * (m[1] == 'end')}box>", text
    )
    return re.sub(boxes, box, text, flags=_FLAGS), n


def _without_json(text: str, *, hidden: bool) -> tuple[str, int | None, str]:
    """Put what JSON states in words, and count the places that it lists."""
    located, fault = None, ""
    text = re.sub(r"```\w*\n?", "\n", text)
    start = tries = 0
    while (tries := tries + 1) < _MOST_BRACKETS and (
        opening := re.search(r"[\[{]", text[start:])
    ) is not None:
        begin = start + opening.start()
        end = _closing(text, begin)
        if end is None:
            if re.search(rf'["\'](?:{_PLACES})["\']\s*:', text[begin:], _FLAGS):
                text, fault = text[:begin], CUT_OFF
                break
            start = begin + 1
            continue
        value = _parsed(text[begin:end])
        if not isinstance(value, (dict, list)):
            start = begin + 1
            continue
        words, places = _said(value, hidden=hidden)
        if words is None and places is None:
            start = end
            continue
        located = _joined(located, places)
        words = f"\n{words}\n" if words else " "
        text, start = text[:begin] + words + text[end:], begin + len(words)
    return text, located, fault


def _closing(text: str, begin: int) -> int | None:
    """Return where the bracket at `begin` is closed, outside of quotes; None where it is not."""
    depth, quote, k = 0, "", begin
    while k < len(text):
        character = text[k]
        if quote:
            k += character == "\\"
            quote = "" if character == quote else quote
        elif character == '"' or (character == "'" and not text[k - 1].isalnum()):
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == 0:
                return k + 1
        k += 1
    return None


def _parsed(text: str) -> Any:
    text = re.sub(r",(\s*[\]}])", r"\1", text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _said(value: Any, *, hidden: bool = False) -> tuple[str | None, int | None]:
    """Return a sentence with the count that a value states, or the number of places it lists."""
    if isinstance(value, dict):
        of_hidden = [n for key, n in value.items() if re.fullmatch(_HIDDEN, str(key), _FLAGS)]
        if hidden and len(of_hidden) == 1 and not isinstance(of_hidden[0], (dict, list, bool)):
            return FINAL + ("unknown" if of_hidden[0] is None else str(of_hidden[0])), None
        named = {k: v for k, v in value.items() if not re.fullmatch(_BESIDE, str(k), _FLAGS)}
        for pattern in _COUNT_KEYS:
            entries = [v for k, v in named.items() if re.fullmatch(pattern, str(k), _FLAGS)]
            if pattern == _OF_KIND and len({str(entry) for entry in entries}) > 1:
                return FINAL + "unknown", None
            for entry in entries:
                if isinstance(entry, dict):
                    words, places = _said(entry, hidden=hidden)
                    if words is not None or places is not None:
                        return words, places
                elif isinstance(entry, (list, tuple)):
                    if (places := _said(list(entry))[1]) is not None:
                        return None, places
                else:
                    return FINAL + ("unknown" if entry is None else str(entry)), None
        for entry in value.values():
            if isinstance(entry, (list, dict)):
                words, places = _said(entry, hidden=hidden)
                if words is not None or places is not None:
                    return words, places
        if any(re.fullmatch(_PLACES, str(key), _FLAGS) for key in value):
            return None, 1
        numbers = [
            v for v in named.values() if isinstance(v, (int, float)) and not isinstance(v, bool)
        ]
        if len(numbers) == 1:
            return f"{FINAL}{numbers[0]}", None
        bounds = [key for key in value if re.fullmatch(_BOUND, str(key), _FLAGS)]
        several = max(len(numbers), len(bounds)) > 1
        failed = {"error", "code"} & {str(key).lower() for key in value}  # of a server, not a count
        return (FINAL + "unknown", None) if several or failed else (None, None)
    if all(isinstance(entry, (int, float)) for entry in value):
        if not value:
            return None, 0
        return (f"{FINAL}{value[0]}", None) if len(value) == 1 else (None, None)
    counted = [entry for entry in value if isinstance(entry, dict)]
    if counted and all(
        any(re.fullmatch(r"count|number|quantity", str(k), _FLAGS) for k in e) for e in counted
    ):
        return _said(counted[0]) if len(counted) == 1 else (f"{FINAL}unknown", None)
    return None, len(value)  # points, boxes or labels, one each


def _without_tuples(text: str) -> tuple[str, int | None]:
    """Count the coordinates in running text, but for those of a centre or of a distance."""
    text = re.sub(rf"\bfrom\s*{_PAIR}\s*to\s*{_PAIR}", " ", text, flags=_FLAGS)
    text = re.sub(
        rf"\b(?:cent(?:er|re)\w*|origin|size|canvas)\b[^.\n]{{0,20}}?{_PAIR}",
        " ",
        text,
        flags=_FLAGS,
    )
    n = len(re.findall(_PAIR, text))
    alone = re.search(
        rf"\b(?:at|located|found|box|point|position)\b\W*{_PAIR}|^\W*{_PAIR}\W*$", text, _FLAGS
    )
    return re.sub(_PAIR, " ", text), n if n > 1 or alone else None


def _plain(text: str) -> str:
    """Take off Markdown, LaTeX and HTML; rows of tables and lists become lines with a bullet."""
    text = re.sub("[\ufe0e\ufe0f\u20e3\ue000\ue001]", "", text)
    text = re.sub(r"~~.*?~~", " ", text)
    text = re.sub(r"(?<=\w) \* (?=\w)", " × ", text)
    text = re.sub(r"(\d)\s*\{,\}\s*(?=\d{3})", r"\1,", text)
    text = re.sub(r"(?<=\d)\\[,;:!]\s*(?=\d{3})", ",", text)
    text = re.sub(r"\\(?:times|cdot|ast)\b", " × ", text)
    text = re.sub(r"\\(?:approx|sim)\b", " about ", text)
    text = re.sub(r"\\pm\b", " ± ", text)
    text = re.sub(r"\\(?:geq?|leq?|[gl]eqslant|gt|lt)\b", " > ", text)
    text = re.sub(r"\\(?:d?frac)\s*\{(\d+)\}\s*\{(\d+)\}", r" \1/\2 ", text)
    text = re.sub(r"\\(?:text|mathrm|mathbf|mathit|textbf|bf|rm)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}", rf"\n{FINAL}\1\n", text)
    stated = r"(?:answer|final_answer|final|conclusion|count|total|result|number|output|response)"
    text = re.sub(rf"<{stated}>|\[{stated}\]", f"\n{FINAL}", text, flags=_FLAGS)
    text = re.sub(rf"</{stated}>|\[/{stated}\]", "\n", text, flags=_FLAGS)
    text = re.sub(r"<\|[^<>|]*\|>|</?[a-z][^<>]*>", " ", text, flags=_FLAGS)
    text = "\n".join(_rows(text.split("\n")))
    text = _without_list_numbers(text)
    text = re.sub(r"^\s*(?:[-*•–—]|>)\s+(?=\S)", "• ", text, flags=re.MULTILINE)
    text = re.sub(
        r"[*`$\"“”#{}]|\\[()\[\]]|_{2,}|\\\\|(?<!\w)_|_(?!\w)",
        lambda m: "#" if m[0] == "#" and re.match(r"#\d", m.string[m.start() :]) else " ",
        text,
    )
    text = re.sub(r"(?<=\d)\s*[xX*·⋅]\s*(?=\d)", " × ", text)
    # "Total:", and the number on a line of its own.
    return re.sub(r":[ \t]*\n\s*(?=•?\s*[\w,.]{1,15}[ \t.!]*(?:\n|$))", ": ", text)


def _rows(lines: list[str]) -> list[str]:
    """Turn the rows of a Markdown table into "• first cell: number"."""
    rows: list[str] = []
    in_table, column, names = False, -1, [""]
    for k, line in enumerate(lines):
        cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        if line.count("|") < 2 or not line.strip().startswith("|"):
            in_table = False
            rows.append(line)
        elif re.fullmatch(r"[\s|:-]+", line):
            in_table = True
        elif not in_table:
            if k + 1 < len(lines) and re.fullmatch(r"[\s|:-]+", lines[k + 1]):
                names = cells
                named = [
                    i
                    for i, c in enumerate(cells)
                    if re.search(r"count|number|total|how many", c, _FLAGS)
                ]
                column = named[-1] if named else -1
            else:
                rows.append("• " + ": ".join(cells))
        else:
            if len(cells) == 1:
                rows.append(f"{names[0]}: {cells[0]}")
                continue
            first = f"row {cells[0]}" if re.fullmatch(r"\d+", cells[0]) else cells[0]
            rows.append(f"• {first}: {cells[column]}" if -len(cells) <= column < len(cells) else "")
    return rows


def _without_list_numbers(text: str) -> str:
    """Put bullets in the place of the numbers of a list that starts at 1."""
    numbered = re.compile(r"^\s*\(?(\d{1,3})[.)]\s+(?=\S)", re.MULTILINE)
    if 1 not in (int(match[1]) for match in numbered.finditer(text)):
        return text
    return numbered.sub("• ", text)


def enumerated(text: str) -> int | None:
    """Return how many things the lines with a bullet name.

    None where there are fewer than two such lines, or one of them is a sentence.

    Parameters
    ----------
    text : str
        Plain, see `read_markup`.
    """
    items = re.findall(r"^• *(.+)$", text, re.MULTILINE)
    says = (
        r"\b(?:is|are|was|has|have|there|count|identify|look|find|determine|multiply|add|estimate|"
        r"total|so|pattern|row|column|not)\b"
    )
    if len(items) < 2 or any(re.search(says, words, _FLAGS) for words in items):
        return None
    return len(items)
