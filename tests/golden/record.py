"""Record the results of flows anew: ``python tests/golden/record.py [NAME ...]``.

For a number that changes by intention: record it in a commit of its own that says why. What differs
from before is printed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

from flows import FLOWS, RECORDED, ROOT, differences, run

SHARED = ROOT.parent / "shared"


def main() -> None:
    """Run the flows named, or all, and write what they find."""
    for name in sys.argv[1:] or FLOWS:
        if FLOWS[name].needs_shared and not SHARED.is_dir():
            print(f"{name}: left as it is, it needs {SHARED.name}")
            continue
        with TemporaryDirectory() as folder:
            found = run(FLOWS[name], Path(folder), SHARED)
        path = RECORDED / f"{name}.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        changed = differences(found, before)
        print(f"{name}: {len(found)} values, {len(changed)} changed")
        print("".join(f"  {line}\n" for line in changed[:40] if before), end="")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
