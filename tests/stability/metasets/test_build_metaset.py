import pytest

from autoeval.cli import main
from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.stability.metasets import load_recipes


def files(folder):
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def words(make_coco):
    """Two seed sets, each with its own words for the same thing."""
    street = make_coco([(1, "car", 5, 5, 10, 10), (2, "person", 5, 5, 10, 10)], name="street")
    lake = make_coco([(1, "boat", 5, 5, 0, 10)], categories=("boat",), name="lake")
    return [
        *("--seed-set", "street", *map(str, street), "car=vehicle"),
        *("--seed-set", "lake", *map(str, lake), "boat=vehicle"),
        *("--n-sets", "2", "--n-images", "2"),
    ]


def test_twice_gives_the_same_files(words, tmp_path, capsys):
    for out in ("one", "two"):
        arguments = [*words, "--work-dir", str(tmp_path / out), "--materialise"]
        assert main(["build-metaset", *arguments]) == 0
    one = files(tmp_path / "one")
    assert one == files(tmp_path / "two")
    assert {"contact_sheet.png", "recipes/street.json", "recipes/lake.json"} < set(one)
    assert sum(name.endswith(".png") and name.startswith("images/") for name in one) == 2 * 2 * 2
    assert sum(name.endswith("annotations.json") for name in one) == 4


def test_says_what_was_made_and_what_was_wrong(words, tmp_path, capsys):
    assert main(["build-metaset", *words, "--work-dir", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "Task given on the command line: vehicle" in said
    assert "3 images,      1 boxes: 2 sample sets of 2 images" in said
    assert "left out: 1 (person 1)" in said
    assert "boxes without area (zero or negative width or height), dropped: 1" in said
    made = {"contact_sheet.png", "recipes/street.json", "recipes/lake.json"}
    assert files(tmp_path / "out").keys() == made
    recipes = load_recipes(tmp_path / "out" / "recipes" / "lake.json")
    assert [len(recipe.steps) for recipe in recipes] == [3, 3]


def test_what_another_call_left_is_refused_or_removed(words, tmp_path, capsys):
    out = ["--work-dir", str(tmp_path / "out"), "--no-contact-sheet"]
    first = [*words[:-4], "--n-sets", "3", "--n-images", "2", "--materialise", *out]
    first = ["build-metaset", *first]
    assert main(first) == 0
    before = files(tmp_path / "out")
    assert main(first) == 0 and files(tmp_path / "out") == before  # the same call goes on
    few = ["build-metaset", *words, *out]
    assert main(few) == 2
    assert "holds recipes of another call" in capsys.readouterr().err
    assert files(tmp_path / "out") == before
    assert main([*few, "--overwrite"]) == 0
    assert files(tmp_path / "out").keys() == {"recipes/street.json", "recipes/lake.json"}
    assert len(load_recipes(tmp_path / "out" / "recipes" / "lake.json")) == 2


def test_one_mapping_for_all(make_coco, tmp_path):
    ann_file, img_dir = map(str, make_coco())
    arguments = ["--seed-set", "a", ann_file, img_dir, "--mapping", "car=vehicle", "person=human"]
    arguments += ["--n-sets", "1", "--n-images", "1", "--work-dir", str(tmp_path / "out")]
    assert main(["build-metaset", *arguments, "--materialise"]) == 0
    (written,) = (tmp_path / "out" / "images").rglob("annotations.json")
    mapping = {"vehicle": "vehicle", "human": "human"}
    seed_set = load_seed_set("x", written, written.parent, tuple(mapping), mapping)
    assert len(seed_set.images) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed-set", "a", "b"], "--seed-set expects NAME"),
        (["--seed-set", "a", "b", "c"], "Expected a category mapping such as car=vehicle"),
        (["--seed-set", "a", "b", "c", "car"], "Expected a category mapping such as car=vehicle"),
        (
            ["--seed-set", "a", "b", "c", "x=y", "--seed-set", "a", "d", "e", "x=y"],
            "need different",
        ),
        (["--seed-set", "a", "b", "c", "x=y"], "No labels b"),
        (["--task", "typo.py"], "No configuration file typo.py"),
    ],
)
def test_bad_input_ends_with_status_2_and_a_sentence(tmp_path, capsys, arguments, message):
    assert main(["build-metaset", *arguments, "--work-dir", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
