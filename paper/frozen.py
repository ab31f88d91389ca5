"""Train a routing's head on the frozen features of a trained network, as the published code does with `--pre_model`.

The features are the pooled states of a network that was trained with k-means routing. They are computed once, without
dropout. The head is trained like the head of that network: the same loss, optimiser, batch size and epochs.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paired import pack
from capsulet.config import ModelOptions, Options, build_options, head_rate
from capsulet.text.batch import pad
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.split import stratified_split
from paper.claiming import claimed
from paper.network import network_of
from paper.rows import TABLES
from paper.runs import Result, Run, digest, measure, model_folder
from paper.stability import pooled_states

if TYPE_CHECKING:
    from torch import Tensor

    from capsulet.model.heads import CapsuleHead

BATCH = 64


def measure_frozen(run: Run, work: Path, threads: int = 1) -> Result:
    """Train the network with k-means routing if it is not there, then the head of this run, and test it."""
    import torch

    base = dataclasses.replace(
        run,
        row=next(row for row in TABLES["routing"].rows if row.name == "kmeans"),
        options={**run.options, "routing": "kmeans"},
    )
    with claimed(model_folder(base, work), wait=True):
        measure(base, work, threads, keep=True)
    started, before = time.perf_counter(), time.process_time()
    torch.set_num_threads(threads)
    folder, options = model_folder(base, work), build_options(run.recipe, **run.options)
    states, targets, labels = features(folder, run.files.train)
    train, valid = stratified_split(targets.numpy(), options.training.valid_fraction or 0.05)
    head, epochs, best = train_head((states, targets), (train, valid), options, len(labels), run.seed)
    states, targets, _ = features(folder, run.files.test)
    right = answers(head, states).eq(targets).tolist()
    return {
        "row": run.row.name,
        **run.key,
        "source": digest(),
        "parameters": sum(one.numel() for one in head.parameters()),
        "best_epoch": best,
        "epochs": epochs,
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - before, 1),
        "continued": False,
        "warnings": [],
        "accuracy": sum(right) / len(right),
        "rows": [len(train) + len(valid), len(right)],
        "valid_accuracy": epochs[best - 1]["valid_accuracy"],
        "right": pack(right),
        "labels": list(labels),
    }


def features(folder: Path, file: Path) -> tuple[Tensor, Tensor, tuple[str, ...]]:
    """Pooled states (R, H) and targets (R,) of the rows of a file, and the labels."""
    import torch

    from capsulet import load

    network, config = network_of(folder)
    session = load(folder, threads=1).session
    rows = list(read_rows([file], labelled=True, options=ReadOptions(), allow_empty=True))
    encoded = [session.word_ids.read_as(np.asarray(ids)) for ids in session.encode([row.text for row in rows])]
    order = sorted(range(len(rows)), key=lambda place: len(encoded[place]))
    hidden = config.options.model.hidden_size or 0
    found = torch.zeros(len(rows), hidden)
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            ids, lengths = (torch.from_numpy(part) for part in pad([encoded[place] for place in places]))
            found[places] = pooled_states(network, ids, lengths)
    numbers = {label: number for number, label in enumerate(config.labels)}
    return found, torch.tensor([numbers[str(row.label)] for row in rows]), config.labels


def new_head(options: ModelOptions, classes: int, hidden: int) -> CapsuleHead:
    """A head with the routing of these options."""
    from capsulet.model.heads import CapsuleHead
    from capsulet.model.routing import Routing

    routing = Routing(options.routing, options.iterations, options.scale_coupling, options.agreement)
    return CapsuleHead(hidden, classes, options.primary_length, options.class_length, routing)


def train_head(
    data: tuple[Tensor, Tensor], parts: tuple[NDArray[Any], NDArray[Any]], options: Options, classes: int, seed: int
) -> tuple[CapsuleHead, list[dict[str, float]], int]:
    """Train a head; return it as it was after its best epoch on the validation rows, the epochs, and which was best."""
    import torch

    from capsulet.model.losses import Variants, total_loss
    from capsulet.training.optimiser import DenseAdam, learning_rate_factor

    (states, targets), (train, valid), training = data, map(torch.from_numpy, parts), options.training
    head = new_head(options.model, classes, states.shape[1])
    torch.manual_seed(seed)
    head.initialise(training.transform_scale, training.transforms)
    adam = DenseAdam([(head.parameters(), head_rate(training))])
    variants = Variants(training.sum_margin, training.focal, training.linear_margin)
    epochs, size = training.epochs or 10, training.batch_size or 32
    steps, step, best, kept, found = -(-len(train) // size), 0, 0, {}, []
    for epoch in range(1, epochs + 1):
        total = 0.0
        for rows in train[torch.randperm(len(train))].split(size):
            factor = learning_rate_factor(training.schedule, training.warmup, step, epochs * steps)
            adam.zero()
            loss = total_loss(training.loss, head(states[rows]), targets[rows], variants)
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step(factor)
            total, step = total + loss.item() * len(rows), step + 1
        with torch.no_grad():
            valid_loss = total_loss(training.loss, head(states[valid]), targets[valid], variants).item()
        accuracy = answers(head, states[valid]).eq(targets[valid]).float().mean().item()
        found.append({"loss": total / len(train), "valid_loss": valid_loss, "valid_accuracy": accuracy})
        if not best or (accuracy, -valid_loss) > (found[best - 1]["valid_accuracy"], -found[best - 1]["valid_loss"]):
            best, kept = epoch, {name: value.clone() for name, value in head.state_dict().items()}
    head.load_state_dict(kept)
    return head, found, best


def answers(head: CapsuleHead, states: Tensor) -> Tensor:
    """The class of each text: (R, H) -> (R,)."""
    import torch

    with torch.no_grad():
        return torch.cat([head(part).lengths.argmax(-1) for part in states.split(1024)])
