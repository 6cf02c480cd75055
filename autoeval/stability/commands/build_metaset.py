"""Make a meta-set: recipes of sample sets from labelled, COCO-format seed sets."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from typing_extensions import Unpack

from autoeval.api.options import check_names
from autoeval.errors import InputError
from autoeval.stability.commands import road_world
from autoeval.stability.commands.meta_set_options import MetaSetOptions, named_task
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.io.tasks.seed_set import SeedSet
    from autoeval.io.tasks.task import Task
    from autoeval.runtime.files import PathLike
    from autoeval.stability.metasets import Recipe

COMMAND = "build-metaset"
ON_ROAD_WORLD = {
    "n_sets": road_world.N_SETS,
    "n_images": road_world.N_IMAGES,
}


def build_metaset(
    *,
    task: PathLike | None = None,
    data_root: PathLike | None = None,
    seed_set: Sequence[Sequence[str]] | None = None,
    mapping: Sequence[str] = (),
    n_transforms: int | None = None,
    seed: int = 0,
    work_dir: PathLike | None = None,
    materialise: bool = False,
    contact_sheet: bool = True,
    overwrite: bool = False,
    **sizes: Unpack[MetaSetOptions],
) -> None:
    """Make a meta-set: recipes of sample sets from labelled, COCO-format seed sets.

    Writes DIR/recipes/<seed set>.json, a contact sheet and, where asked for, the images themselves.
    The same arguments give the same files. Without seed sets, those of the rendered road world.

    Parameters
    ----------
    task : path-like, optional
        Such as configs/tasks/vehicle.py (default: the road world, rendered on first use).
    data_root : path-like, optional
        Folder with the data of the task.
    seed_set : sequence of sequence of str, optional
        NAME ANNOTATIONS IMAGE_FOLDER [FROM=TO ...]: a seed set and, where it needs one of its own,
        the mapping of its categories to the task's; repeat for more seed sets.
    mapping : sequence of str
        FROM=TO ...: mapping of the seed sets that bring none, such as car=vehicle bus=vehicle.
    n_transforms : int, optional
        Transforms of each image.
    seed : int
        Of all draws.
    work_dir : path-like, optional
        Where to write (default: work_dirs/build_metaset).
    materialise : bool
        Write the images, too: DIR/images/....
    contact_sheet : bool
        Draw no sample of each set; by default DIR/contact_sheet.png.
    overwrite : bool
        Remove what another call left in DIR.
    **sizes
        See `MetaSetOptions`.
    """
    from autoeval.stability.metasets import draw_recipes, load_metaset_config, save_recipes

    check_names(sizes, MetaSetOptions)
    options: dict[str, Any] = dict(sizes)
    options |= {"task": task, "seed_set": seed_set, "data_root": data_root, "work_dir": work_dir}
    if mapping and not seed_set:
        raise InputError(
            "--mapping is for --seed-set NAME ANNOTATIONS IMAGE_FOLDER: give that, too."
        )
    if task and seed_set:
        raise InputError("Expected either --task or --seed-set: leave one out.")
    if not task:
        refuse_given({"data_root": data_root}, "goes with --task: give that, too.")
    if road_world.serves(options):
        road_world.assume(options, ON_ROAD_WORLD, command=COMMAND)
    folder = Path(options.get("work_dir") or road_world.default_work_dir(COMMAND))
    sources = _task_of_words(seed_set, mapping) if seed_set else named_task(options)
    config = load_metaset_config(
        options.get("metaset"),
        n_sets=options.get("n_sets"),
        n_images=options.get("n_images"),
        n_transforms=n_transforms,
    )
    seed_sets = sources.load_seed_sets()
    recipes = [draw_recipes(labelled_set, config, seed=seed) for labelled_set in seed_sets]
    paths = [_recipes_of(folder, labelled_set.name) for labelled_set in seed_sets]
    _clear(folder, dict(zip(paths, recipes, strict=True)), overwrite=overwrite)
    for path, set_recipes in zip(paths, recipes, strict=True):
        save_recipes(path, set_recipes)
    _print_summary(sources, seed_sets, recipes)
    print(f"Recipes: {folder / 'recipes'}")
    if materialise:
        _materialise(folder, seed_sets, recipes)
    if contact_sheet:
        from autoeval.runtime.files import write_figure
        from autoeval.runtime.progress import progress_bar
        from autoeval.stability.fitting.materialise import contact_sheet as drawn_sheet

        path = folder / "contact_sheet.png"
        with progress_bar(None, "Drawing the contact sheet") as bar:
            write_figure(path, drawn_sheet(seed_sets, recipes, bar=bar), dpi=100)
        print(f"Contact sheet: {path}")


def _recipes_of(folder: Path, name: str) -> Path:
    return folder / "recipes" / f"{quote(name, safe='')}.json"


def _images_of(folder: Path, name: str, number: int, recipe: Recipe) -> Path:
    return folder / "images" / quote(name, safe="") / f"{number:03}-{recipe.recipe_id}"


def _clear(folder: Path, wanted: Mapping[Path, Sequence[Recipe]], *, overwrite: bool) -> None:
    """Refuse recipes of another call in a folder, or remove them with what was made by them.

    What the same call left stays: a run that was interrupted goes on.
    """
    from autoeval.stability.metasets import load_recipes

    present = sorted((folder / "recipes").glob("*.json"))
    stale_paths = [path for path in present if load_recipes(path) != list(wanted.get(path, ()))]
    if stale_paths and not overwrite:
        raise InputError(
            f"{folder} holds recipes of another call, such as {stale_paths[0]}: name another "
            "--work-dir, or give --overwrite to remove them and their images."
        )
    for path in stale_paths:
        for number, recipe in enumerate(load_recipes(path)):
            shutil.rmtree(_images_of(folder, recipe.seed_set, number, recipe), ignore_errors=True)
        path.unlink()
    if stale_paths:
        (folder / "contact_sheet.png").unlink(missing_ok=True)


def _task_of_words(seed_sets: Sequence[Sequence[str]], mapping: Sequence[str]) -> Task:
    from autoeval.io.tasks.task import SeedSetFiles, Task

    files = []
    for words in seed_sets:
        if len(words) < 3:
            raise InputError(
                "--seed-set expects NAME ANNOTATIONS IMAGE_FOLDER [FROM=TO ...], "
                f"got {' '.join(words)!r}."
            )
        categories_of = _parse_mapping(words[3:] or mapping)
        files.append(SeedSetFiles(words[0], Path(words[1]), Path(words[2]), categories_of))
    names = [seed_set.name for seed_set in files]
    if len(set(names)) < len(names):
        raise InputError(f"Seed sets need different names, got {', '.join(names)}.")
    categories = dict.fromkeys(
        category for seed_set in files for category in (seed_set.mapping or {}).values()
    )
    return Task("given on the command line", tuple(categories), tuple(files))


def _parse_mapping(words: Sequence[str]) -> dict[str, str]:
    pairs = [word.split("=") for word in words]
    if not pairs or any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise InputError(
            f"Expected a category mapping such as car=vehicle, got {' '.join(words) or 'none'!r}. "
            "Give it behind each --seed-set, or for all with --mapping."
        )
    return {source: target for source, target in pairs}


def _print_summary(
    task: Task, seed_sets: Sequence[SeedSet], recipes: Sequence[Sequence[Recipe]]
) -> None:
    width = max(len(seed_set.name) for seed_set in seed_sets)
    print(f"Task {task.name}: {', '.join(task.categories)}")
    for seed_set, set_recipes in zip(seed_sets, recipes, strict=True):
        print(
            f"  {seed_set.name:{width}}  {len(seed_set.images):5} images, "
            f"{seed_set.n_boxes:6} boxes: {len(set_recipes)} sample sets of "
            f"{len(set_recipes[0].image_ids)} images"
        )
        for warning in seed_set.warnings:
            print(f"    warning: {warning}")


def _materialise(
    folder: Path, seed_sets: Sequence[SeedSet], recipes: Sequence[Sequence[Recipe]]
) -> None:
    from autoeval.runtime.progress import progress_bar
    from autoeval.stability.fitting.materialise import materialise
    from autoeval.stability.metasets import SampleSet

    warnings: dict[str, None] = {}
    total = sum(len(recipe.image_ids) for set_recipes in recipes for recipe in set_recipes)
    with progress_bar(total, "Writing images") as bar:
        for seed_set, set_recipes in zip(seed_sets, recipes, strict=True):
            for number, recipe in enumerate(set_recipes):
                place = _images_of(folder, seed_set.name, number, recipe)
                done = materialise(SampleSet(seed_set, recipe), place, bar)
                warnings.update(dict.fromkeys(done))
    for warning in warnings:
        print(f"  left out: {warning}")
    left = f" ({total} less those left out)" if warnings else ""
    print(f"Images: {folder / 'images'}{left}")
