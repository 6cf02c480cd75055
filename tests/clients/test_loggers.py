"""MLflow and Weights & Biases: the snippets of docs/how-to/python.md log a result's numbers."""

import pytest

import autoeval
from tests.commands.predicted_world import write_world
from tests.doc_pages import snippet

pytestmark = pytest.mark.clients
PAGE = "docs/how-to/python.md"


@pytest.fixture(scope="module")
def estimate(tmp_path_factory):
    """An estimate with targets at a score threshold, whose names have characters of their own."""
    folder = tmp_path_factory.mktemp("logged")
    val, new = (write_world(folder, name, seed=k, n_images=40) for k, name in enumerate("ab"))
    fitted = autoeval.fit(*val)
    return fitted.predict(new[1], images=new[0], score_thr=0.3)


def test_mlflow(estimate, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs the extra 'clients'")
    monkeypatch.chdir(tmp_path)
    exec(snippet(PAGE, "mlflow.log_metrics(est"), {"estimate": estimate})
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    assert run.data.metrics == estimate.to_dict()
    assert run.data.metrics["estimate/mAP"] == estimate.value
    assert "estimate/recall_0.3" in run.data.metrics
    assert (tmp_path / "mlflow.db").exists()


def test_wandb(estimate, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs the extra 'clients'")
    monkeypatch.chdir(tmp_path)
    logged = []
    monkeypatch.setattr(
        wandb.Run,
        "log",
        lambda run, numbers, log=wandb.Run.log: logged.append(numbers) or log(run, numbers),
    )
    exec(snippet(PAGE, "wandb.init"), {"estimate": estimate})
    assert logged == [estimate.to_dict()]
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
