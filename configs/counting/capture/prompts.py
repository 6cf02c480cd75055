"""Questions of CAPTURe. `{objects}` is the plural of what is counted.

`total` quotes appendix D of the paper, which chose a prompt for each model, split and variant on
100 validation items. Its first box runs on into Molmo's prompt ("... count it. Molmo: Your task is
..."); the run-on is left out, as the next box prints that prompt by itself. For models without a
published prompt, `default` is Qwen2-VL's, the only one that is the same in all four settings.

The other prompts are this project's: the paper describes those tasks without printing theirs.
"""

_full = (
    "Count the exact number of {objects} in the image. Assume the pattern of {objects} continues "
    "behind any black box. Provide the total number of {objects} as if the black box were not "
    "there. Only count {objects} that are visible within the frame (or would be visible without "
    "the occluding box). If {objects} are partially in the frame (i.e. if any part of {objects} "
    "are visible), count it. If the {objects} would be partially in the frame without the "
    "occluding box, count it."
)
_continued = (
    "Your task is to count objects in the image. Assume the pattern of {objects} continues behind "
    "the black box. First, state what the pattern is, then give your final count."
)
_state = (
    "Your task is to count objects in the image. First, state what the pattern is, then give your "
    "final count."
)
_as_if = (
    "Count the exact number of {objects} in the image. Assume the pattern of {objects} continues "
    "behind any black box. Provide the total number of {objects} as if the black box were not "
    "there."
)
_in_frame = (
    "Count the exact number of {objects} in the image. Only count {objects} that are visible "
    "within the frame."
)
_partial = _in_frame + (
    " If {objects} are partially in the frame (i.e. if any part of {objects} are visible), count "
    "it."
)

total = {
    "real": {
        "occluded": {
            "default": _full,
            "gpt-4o": _full,
            "internvl2": _full,
            "qwen2-vl": _full,
            "molmo": _continued,
        },
        "original": {
            "default": _full,
            "gpt-4o": _as_if,
            "internvl2": _state,
            "qwen2-vl": _full,
            "molmo": _partial,
        },
    },
    "synthetic": {
        "occluded": {
            "default": _full,
            "gpt-4o": _continued,
            "internvl2": _full,
            "qwen2-vl": _full,
            "molmo": _continued,
        },
        "original": {
            "default": _full,
            "gpt-4o": _state,
            "internvl2": _partial,
            "qwen2-vl": _full,
            "molmo": _in_frame,
        },
    },
}

occluded_only = (
    "The black box in the image hides some of the {objects}. Assume the pattern of {objects} "
    "continues behind it. How many {objects} does the black box hide, wholly or in part? Do not "
    "count the {objects} that can be seen whole. Give your final count."
)

# {choices} lists the patterns of the split.
pattern = (
    "The {objects} in the image are arranged in a pattern. Which pattern is it: {choices}? Answer "
    "with one of these words."
)

# {question} is the `total` prompt, {coordinates} a list of (x, y).
oracle_all = (
    "{question} The centres of all {objects}, with those behind the black box, lie at these pixel "
    "coordinates (x, y): {coordinates}. Count the coordinates and give the total number."
)
oracle_visible = (
    "{question} The centres of the {objects} that the black box does not touch lie at these pixel "
    "coordinates (x, y): {coordinates}. First estimate how many {objects} the black box hides, "
    "then count the coordinates, and give the sum of both as your final count."
)

# Figure 5: a detector's count of what can be seen goes into the question of a language model.
hybrid = (
    "{question} A detector of objects finds {found} {objects} outside the black box; their centres "
    "lie at these pixel coordinates (x, y): {coordinates}. First estimate how many {objects} the "
    "black box hides, then give the sum of both as your final count."
)

confidence = (
    "{question} Then state how confident you are that the count is right, from 0 % to 100 %, on a "
    "last line of the form 'Confidence: N %'."
)

# For the answer extractor that is itself a language model; {answer} is what is read.
extract = (
    "Below is somebody's answer to a question that asks for a number. Reply with the number that "
    "the answer settles on, in digits and with nothing else. Reply with -1 if it does not settle "
    "on exactly one number.\n\n{answer}"
)
