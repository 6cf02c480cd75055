"""Does binning help training? A small density network on dot scenes with heavy-tailed counts.

Trains the network with and without bin sampling and bin loss, several seeds each. Prints the
tables of docs/results/binned_training.md and writes the figures of every run beside it, as CSV. Run
it with ``python examples/binned_training.py``; it takes about five minutes of one core.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import stats
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn
from torch.nn import functional

from autoeval.counting.bin_training import BinLoss, RandomBinSampler, RoundRobinSampler
from autoeval.counting.binning import CountBins, released_bins
from autoeval.counting.measures.count_errors import absolute_error, bin_table, pooled
from autoeval.report.page import to_markdown
from autoeval.runtime.files import atomic_path
from autoeval.runtime.progress import progress_bar

SIDE = 64  # of an image, pixels
STRIDE = 4  # pixels of an image beside those of its density map
MOST = 250  # objects in an image
BATCH = 16  # images
LEARNING_RATE = 2e-3
SAMPLERS = {"random bin": RandomBinSampler, "round robin": RoundRobinSampler}


@dataclass(frozen=True)
class Recipe:
    """One way to train."""

    name: str
    sampler: str | None
    bin_loss: bool


RECIPES = (
    Recipe("No binning", None, False),
    Recipe("RS", "random bin", False),
    Recipe("RR", "round robin", False),
    Recipe("Bin loss", None, True),
    Recipe("Bin loss (RS)", "random bin", True),
    Recipe("Bin loss (RR)", "round robin", True),
)


@dataclass(frozen=True)
class Scenes:
    """Images (N, 1, 64, 64), counts of their cells (N, 1, 16, 16), and counts (N,)."""

    images: Tensor
    cells: Tensor
    counts: np.ndarray


def draw_scenes(n: int, seed: int) -> Scenes:
    """Draw scenes of discs among bars, with log-normal counts of median 6 cut off at 250."""
    rng = np.random.default_rng([seed, n])
    counts = np.minimum(np.floor(rng.lognormal(np.log(6.5), 1.2, n)), MOST).astype(int)
    pairs = [_draw_scene(count, rng) for count in counts]
    images, cells = (
        torch.tensor(np.stack(part))[:, None].float() for part in zip(*pairs, strict=True)
    )
    return Scenes(images, cells, counts)


def _draw_scene(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[:SIDE, :SIDE]
    image = rng.normal(rng.uniform(0, 0.5), 0.1, (SIDE, SIDE))
    for _ in range(rng.integers(0, 6)):
        row, column = rng.integers(0, SIDE, 2)
        image[row : row + rng.integers(1, 4), column : column + rng.integers(8, 30)] += 0.6
    points = rng.uniform(0, SIDE, (count, 2))
    for (row, column), radius, light in zip(
        points, rng.uniform(1, 2.4, count), rng.uniform(0.4, 1, count), strict=True
    ):
        image[(y - row) ** 2 + (x - column) ** 2 <= radius**2] = light
    edges = np.linspace(0, SIDE, SIDE + 1)
    cells = np.histogram2d(points[:, 0], points[:, 1], bins=[edges, edges])[0]
    smooth = gaussian_filter(cells, 1.5, mode="reflect")
    side = SIDE // STRIDE
    return image, smooth.reshape(side, STRIDE, side, STRIDE).sum((1, 3))


def make_network() -> nn.Module:
    """Make a network of 14 thousand weights that maps an image to counts of cells."""

    def layer(before: int, after: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]

    head = nn.Conv2d(24, 1, 1)
    assert head.bias is not None
    nn.init.constant_(head.bias, -4.0)  # begins with almost no objects
    return nn.Sequential(
        *layer(1, 16, 2), *layer(16, 24, 2), *layer(24, 24, 1), *layer(24, 24, 1),
        head, nn.Softplus(),
    )  # fmt: skip


def train(recipe: Recipe, scenes: Scenes, bins: CountBins, seed: int, epochs: int) -> nn.Module:
    """Train a network; its own loss is |count error| plus the squared errors of the cells."""
    torch.manual_seed(seed)
    network = make_network()
    bin_loss = BinLoss(bins)
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    counts = torch.tensor(scenes.counts, dtype=torch.float32)
    for epoch in range(epochs):
        network.train()
        for batch in epoch_order(recipe, scenes.counts, bins, seed, epoch).split(BATCH):
            cells, target = network(_flip(scenes.images[batch], epoch)), counts[batch]
            pred = cells.sum((1, 2, 3))
            squared = (cells - _flip(scenes.cells[batch], epoch)).square().sum((1, 2, 3)).mean()
            loss = functional.l1_loss(pred, target) + squared
            if recipe.bin_loss:
                loss = loss + bin_loss(pred, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return network.eval()


def epoch_order(
    recipe: Recipe, counts: np.ndarray, bins: CountBins, seed: int, epoch: int
) -> Tensor:
    """Return the items of an epoch in the order of the recipe, as many as there are."""
    if recipe.sampler is None:
        return torch.tensor(np.random.default_rng([seed, epoch]).permutation(len(counts)))
    sampler = SAMPLERS[recipe.sampler](bins.assign_nearest(counts), seed=seed)
    sampler.set_epoch(epoch)
    return torch.tensor(list(sampler))


def _flip(batch: Tensor, epoch: int) -> Tensor:
    axes = [axis for axis, bit in ((2, 1), (3, 2)) if epoch & bit]
    return batch.flip(axes) if axes else batch


@torch.inference_mode()
def predict(network: nn.Module, scenes: Scenes) -> np.ndarray:
    """Return the predicted counts, (N,)."""
    return torch.cat([network(part).sum((1, 2, 3)) for part in scenes.images.split(100)]).numpy()


def measure(scenes: Scenes, pred: np.ndarray, bins: CountBins) -> dict[str, float]:
    """Return pooled and global errors, and the MAE of the lower and the upper half of the bins."""
    table = bin_table(scenes.counts, pred, bins)
    mean, std = pooled(table)
    half = bins.edges[len(bins) // 2]
    return {
        "pooled MAE": mean,
        "pooled std": std,
        "global std": absolute_error(scenes.counts, pred)["std"],
        f"MAE to {half:g}": pooled(table[table["hi"] <= half])[0],
        f"MAE above {half:g}": pooled(table[table["hi"] > half])[0],
    }


def run(seeds: int, epochs: int, n_train: int, n_test: int) -> pd.DataFrame:
    """Train every recipe with every seed; one row each."""
    bins = released_bins(0, MOST)
    test = draw_scenes(n_test, seed=10_000)
    rows = []
    with progress_bar(seeds * len(RECIPES), "Training", unit="run") as bar:
        for seed in range(seeds):
            scenes = draw_scenes(n_train, seed)
            for recipe in RECIPES:
                network = train(recipe, scenes, bins, seed, epochs)
                figures = measure(test, predict(network, test), bins)
                rows.append({"training": recipe.name, "seed": seed, **figures})
                bar.update()
    return pd.DataFrame(rows)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean ± standard deviation over seeds of every measure, one row for each recipe."""
    grouped = rows.drop(columns="seed").groupby("training", sort=False)
    means, deviations = grouped.mean(), grouped.std()
    return pd.DataFrame(
        {
            name: [f"{m:.2f} ± {d:.2f}" for m, d in zip(means[name], deviations[name], strict=True)]
            for name in means
        },
        index=means.index,
    ).reset_index()


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the paired difference from no binning, with its 95 % t interval over seeds."""
    wide = rows.pivot(index="seed", columns="training")
    table = []
    for recipe in RECIPES[1:]:
        row = {"training": recipe.name}
        for name in ("pooled MAE", "pooled std"):
            gain = wide[name][recipe.name] - wide[name][RECIPES[0].name]
            half = stats.t.ppf(0.975, len(gain) - 1) * gain.std() / np.sqrt(len(gain))
            row[name] = f"{gain.mean():+.2f} [{gain.mean() - half:+.2f}, {gain.mean() + half:+.2f}]"
        table.append(row)
    return pd.DataFrame(table)


def bin_sizes(scenes: Scenes) -> list[int]:
    """Return the number of images in each bin."""
    bins = released_bins(0, MOST)
    return np.bincount(bins.assign(scenes.counts), minlength=len(bins)).tolist()


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/results/binned_training.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--train-images", type=int, default=500)
    parser.add_argument("--test-images", type=int, default=1000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"Images in each bin, seed 0: {bin_sizes(draw_scenes(args.train_images, 0))}")
    started = time.process_time()
    rows = run(args.seeds, args.epochs, args.train_images, args.test_images)
    minutes = (time.process_time() - started) / 60
    print(f"{minutes:.1f} minutes of one core")
    print("\n\n".join(to_markdown(table) for table in (summarise(rows), differences(rows))))
    with atomic_path(args.out) as temporary:
        rows.round(4).to_csv(temporary, index=False)


if __name__ == "__main__":
    main()
