"""The example of docs/how-to/python.md that needs no detector says what it does."""

import re
from pathlib import Path

DOC = Path(__file__).parents[1] / "docs" / "how-to" / "python.md"


def test_the_example_of_fitting(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "DataFrame" in block]
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(DOC), "exec"), {})
    # mAP is twice the score less .5, and the score is .45
    assert capsys.readouterr().out.startswith("estimated mAP: 40.0 ± 0.0")
