import json

import numpy as np
import pytest
from pictures import seed_set

from autoeval.errors import InputError
from autoeval.stability.metasets.recipe import (
    MetaSetConfig,
    Recipe,
    draw_recipes,
    load_metaset_config,
    load_recipes,
    own_images,
    sample_set_sizes,
    save_recipes,
)
from autoeval.stability.metasets.transforms import CORRUPTIONS, MILD, TransformStep, get_transform


def test_defaults_are_the_papers():
    recipes = draw_recipes(seed_set())
    assert len(recipes) == 50
    for recipe in recipes:
        assert recipe.seed_set == "street"
        assert len(set(recipe.image_ids)) == len(recipe.image_ids) == 250
        names = [step.name for step in recipe.steps]
        assert len(set(names)) == 3 and set(names) <= set(MILD)
        for step in recipe.steps:
            transform = get_transform(step.name)
            assert transform.low <= step.magnitude <= transform.high
    assert {step.name for recipe in recipes for step in recipe.steps} == set(MILD)
    assert len({recipe.recipe_id for recipe in recipes}) == 50


def test_small_seed_sets_give_all_they_have():
    ids = {recipe.image_ids for recipe in draw_recipes(seed_set(7), MetaSetConfig(n_sets=3))}
    assert ids == {tuple("0123456")}


def test_draws_depend_on_seed_name_and_number_alone():
    base = draw_recipes(seed_set(), MetaSetConfig(n_sets=5))
    assert draw_recipes(seed_set(), MetaSetConfig(n_sets=5)) == base
    assert draw_recipes(seed_set(), MetaSetConfig(n_sets=2)) == base[:2]
    with_another_seed = draw_recipes(seed_set(), MetaSetConfig(n_sets=5), seed=1)
    assert all(a != b for a, b in zip(with_another_seed, base, strict=True))
    other = draw_recipes(seed_set(name="field"), MetaSetConfig(n_sets=5))
    assert all(a.steps != b.steps or a.image_ids != b.image_ids for a, b in zip(other, base))  # noqa: B905


def test_magnitudes_can_vary_by_image():
    base = draw_recipes(seed_set(), MetaSetConfig(n_sets=3))
    varied = draw_recipes(seed_set(), MetaSetConfig(n_sets=3, per_image=True))
    for one, other in zip(base, varied, strict=True):
        assert [step.name for step in one.steps] == [step.name for step in other.steps]
        assert {step.magnitude for step in other.steps} == {None}


def in_turn(*, seed=0, **options):
    options = {"n_sets": 70, "n_images": 5, **options}
    config = MetaSetConfig(transforms=CORRUPTIONS, n_transforms=1, in_turn=True, **options)
    return draw_recipes(seed_set(), config, seed=seed)


def test_in_turn_each_transform_meets_each_magnitude_once():
    steps = [recipe.steps[0] for recipe in in_turn()]
    assert len({(step.name, step.magnitude) for step in steps}) == len(steps) == 14 * 5
    for first in range(70 - 13):  # any fourteen in a row
        assert {step.name for step in steps[first : first + 14]} == set(CORRUPTIONS)
    for first in (0, 14, 56):  # ten sample sets already are two of each severity
        counts = np.bincount([int(step.magnitude) for step in steps[first : first + 10]])
        assert counts.tolist() == [0, 2, 2, 2, 2, 2]
    assert [recipe.steps[0] for recipe in in_turn(n_sets=75)][70:] == steps[:5]


def test_in_turn_the_first_do_not_depend_on_the_rest_and_orders_differ_by_seed():
    base = in_turn()
    assert in_turn(n_sets=9) == base[:9]
    assert [recipe.steps for recipe in in_turn(seed=1)] != [recipe.steps for recipe in base]
    varied = [recipe.steps[0] for recipe in in_turn(per_image=True)]
    assert {step.magnitude for step in varied} == {None}
    assert [step.name for step in varied] == [recipe.steps[0].name for recipe in base]


def test_own_images_are_untransformed_and_capped():
    recipe = own_images(seed_set(20))
    assert recipe.steps == () and recipe.image_ids == tuple(map(str, range(20)))
    capped = own_images(seed_set(20), n_images=8)
    assert len(set(capped.image_ids)) == 8 and capped == own_images(seed_set(20), n_images=8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_sets": 0}, "at least 1"),
        ({"n_images": 0}, "at least 1"),
        ({"n_transforms": 8}, "between 1 and 7"),
        ({"n_transforms": -1}, "between 1 and 7"),
        # its rows would be those of own images, each source counted as often as it has sets
        ({"n_transforms": 0}, "between 1 and 7"),
        ({"transforms": ["Rotate", "Rotate"], "n_transforms": 2}, "between 1 and 1"),
        ({"transforms": ["Blur"]}, "No transform named 'Blur'"),
        ({"min_visibility": 1.5}, "min_visibility"),
        ({"in_turn": True}, "in turn need n_transforms = 1, got 3"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(InputError, match=message):
        draw_recipes(seed_set(), MetaSetConfig(**options))


def test_saved_recipes_come_back_and_are_one_a_line(tmp_path):
    recipes = [*draw_recipes(seed_set(), MetaSetConfig(n_sets=4)), own_images(seed_set())]
    recipes += draw_recipes(seed_set(), MetaSetConfig(n_sets=2, per_image=True))
    path = tmp_path / "deep" / "street.json"
    save_recipes(path, recipes)
    loaded = load_recipes(path)
    assert loaded == recipes
    assert [one.recipe_id for one in loaded] == [one.recipe_id for one in recipes]
    assert len(path.read_text().splitlines()) == len(recipes) + 2


def test_recipe_id_tells_every_field_apart():
    steps = (TransformStep("Rotate", 5.0), TransformStep("Solarize", 200.0))
    recipes = [
        Recipe("a", ("1", "2"), steps, 3),
        Recipe("b", ("1", "2"), steps, 3),
        Recipe("a", ("2", "1"), steps, 3),
        Recipe("a", ("1", "2"), steps[::-1], 3),
        Recipe("a", ("1", "2"), (TransformStep("Rotate", 5.5), steps[1]), 3),
        Recipe("a", ("1", "2"), steps, 4),
        Recipe("a", ("1", "2"), steps, 3, min_visibility=0.3),
    ]
    assert len({recipe.recipe_id for recipe in recipes}) == len(recipes)


GOOD = Recipe("a", ("1",), (TransformStep("Rotate", 5.0),), 3).to_dict()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "holds no recipes"),
        ("[]", "holds no recipes"),
        ('{"images": []}', "holds no recipes"),
        (json.dumps({"recipes": [{}]}), "Not a recipe"),
        (json.dumps({"recipes": [{**GOOD, "steps": [["Rotate", "much"]]}]}), "Not a recipe"),
        (json.dumps({"recipes": [{**GOOD, "steps": [["Blur", 1]]}]}), "No transform named 'Blur'"),
    ],
)
def test_files_that_are_no_recipes(tmp_path, content, message):
    path = tmp_path / "recipes.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_recipes(path)
    with pytest.raises(InputError, match="Cannot read recipes"):
        load_recipes(tmp_path / "missing.json")


def test_the_mild_meta_set_is_the_default(configs):
    assert load_metaset_config(configs / "metasets" / "mild.py") == MetaSetConfig()


def test_options_override_the_file(tmp_path):
    path = tmp_path / "metaset.py"
    path.write_text("transforms = ['Rotate']\nn_sets = 4\nn_transforms = 1\n")
    config = load_metaset_config(path, n_sets=7, n_images=None)
    assert config == MetaSetConfig(transforms=("Rotate",), n_sets=7, n_transforms=1)
    path.write_text("n_set = 4\n")
    with pytest.raises(InputError, match=r"'n_set', .*did you mean 'n_sets'"):
        load_metaset_config(path)


@pytest.mark.parametrize(
    "line",
    [
        'per_image = "no"',  # true, as a text
        "same_images = 0",
        'transforms = "Rotate"',  # of six letters
        'n_sets = "5"',
        "n_images = 2.5",
        "n_transforms = True",
        "min_visibility = None",
    ],
)
def test_values_of_another_type_are_refused(tmp_path, line):
    path = tmp_path / "metaset.py"
    path.write_text(f"min_visibility = 1\n{line}\n")
    with pytest.raises(InputError, match=rf"Expected {line.split()[0]} in .* in the form of"):
        load_metaset_config(path)
    path.write_text("min_visibility = 1\ntransforms = ('Rotate',)\nper_image = False\n")
    config = load_metaset_config(path)
    assert config == MetaSetConfig(transforms=("Rotate",), min_visibility=1)
    assert str(config.min_visibility) == "1.0"  # in the ids of recipes


def test_sizes_of_sample_sets_without_making_them():
    sets = [seed_set(300, "street"), seed_set(20, "yard")]
    assert sample_set_sizes(sets, None, n_sets=2, n_images=None) == [250, 250, 20, 20]


def test_a_transform_that_is_named_twice_is_applied_once():
    config = MetaSetConfig(transforms=("Rotate", "Rotate", "Sharpness"), n_transforms=2, n_sets=20)
    drawn = [[step.name for step in recipe.steps] for recipe in draw_recipes(seed_set(), config)]
    assert all(sorted(names) == ["Rotate", "Sharpness"] for names in drawn)


def test_in_turn_a_transform_that_is_named_twice_has_one_turn():
    """Else two of eight sample sets of the same images had one transform at one magnitude."""
    config = MetaSetConfig(
        transforms=("Rotate", "Rotate", "Sharpness"),
        n_transforms=1,
        n_sets=8,
        in_turn=True,
        same_images=True,
    )
    recipes = draw_recipes(seed_set(), config)
    assert len({(recipe.image_ids, recipe.steps) for recipe in recipes}) == 8
