"""One optimiser step: the gradient of an update, computed in parts that fit in memory, then the change of weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.config.sections import TrainConfig
from nmt.data.batch import Batch
from nmt.errors import ConfigError
from nmt.machine.allocator import lacks_memory
from nmt.machine.device import autocast
from nmt.machine.peers import ALONE, Peers
from nmt.machine.threads import workers_on
from nmt.model.dropout import drawing_from
from nmt.model.seq2seq import Seq2Seq
from nmt.training.batches import RowNumbers
from nmt.training.loss import batch_loss
from nmt.training.optim import Optimiser
from nmt.training.tree_sum import Node, TreeSum, nodes_left

BatchPart = tuple[RowNumbers, Batch]  # rows of the training split, and the part of a batch with them


class NoRoom(Exception):  # noqa: N818 (the trainer makes an error of it)
    """A step over a single sentence pair does not fit in memory."""

    def __init__(self, part: BatchPart) -> None:
        self.rows, self.batch = part


@dataclass(frozen=True)
class Step:
    """The result of a step. Means are per real target token; tensors are on the model's device."""

    tokens: int
    loss: Tensor  # as trained on, nats
    nll: Tensor
    norm: Tensor  # gradient norm, before clipping
    fine: Tensor  # are loss and norm finite? If not, weights and optimiser have not changed
    halved: int  # how often a part was halved


@dataclass(frozen=True)
class _Sum:
    """The sum over some parts: a gradient per parameter (None: it has no gradient), and loss and nll per token."""

    gradients: list[Tensor | None]
    means: Tensor
    halved: int

    def plus(self, other: "_Sum") -> "_Sum":
        """The sum of both. Its gradients overwrite those of `self`."""
        gradients = list(map(_added, self.gradients, other.gradients))
        return _Sum(gradients, self.means + other.means, self.halved + other.halved)


class Stepper:
    """Takes optimiser steps. Nothing in a step waits for the device."""

    def __init__(
        self, model: Seq2Seq, optimiser: Optimiser, settings: TrainConfig, device: torch.device,
        dtype: torch.dtype, peers: Peers = ALONE,
    ) -> None:  # fmt: skip
        self.model = model
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.settings = settings
        self.device = device
        self.dtype = dtype
        self.peers = peers
        self.workers = workers_on(device, settings.workers)
        self.shards = _shards(self.parameters, optimiser, self.workers.count)

    def __call__(self, parts: Mapping[int, BatchPart], count: int, rate: float, seed_of: Callable[[int], int]) -> Step:
        """Takes a step at the learning rate `rate` over `count` parts, as if they were one large batch.

        `parts` are those of this process, by number; `seed_of` gives a part's dropout seed. The sum has the same
        bits, whichever process computes a part. A part that does not fit in memory is computed again in two halves.
        Raises `NoRoom` if a single pair does not fit.
        """
        [tokens] = self.peers.total(sum(batch.tokens for _, batch in parts.values()))
        for parameter in self.parameters:
            parameter.grad = None
        halves = self._sums(parts, count, tokens, seed_of)
        norm = self._take_gradients(halves)
        means = halves[0].means if len(halves) == 1 else halves[0].means + halves[1].means
        loss, nll = means.unbind()
        fine = loss.isfinite() & norm.isfinite()
        self._update(fine, norm, rate)
        return Step(tokens, loss, nll, norm, fine, sum(half.halved for half in halves))

    def _sums(
        self, parts: Mapping[int, BatchPart], count: int, tokens: int, seed_of: Callable[[int], int]
    ) -> list[_Sum]:
        """The gradient over all parts, as one sum or as two sums that the caller adds."""
        tree = TreeSum(count, _Sum.plus)
        side_by_side = self.workers.count > 1 and len(parts) > 1
        drawn = torch.get_rng_state()

        def work(number: int) -> None:
            tree.put(self._part(parts[number], tokens, seed_of(number), not side_by_side), number)

        self.workers.each(work, list(parts))
        if side_by_side and not torch.equal(torch.get_rng_state(), drawn):
            raise ConfigError(
                "a part of the model draws from torch's own generator, which threads would share in any order; "
                "draw with nmt.model.dropout, or set train.workers=1"
            )
        if self.peers.count == 1:
            return list(tree.left().values())
        return self.workers.each(lambda sums: self._exchanged(sums, count), [tree.left()])  # `each`: one torch thread

    def _exchanged(self, sums: Mapping[Node, _Sum], count: int) -> _Sum:
        """The sum over all processes. Each process adds up one stretch of the numbers, in the order of the tree."""
        sizes = [parameter.numel() for parameter in self.parameters]
        length = sum(sizes) + len(sizes) + 3
        stretch = -(-length // self.peers.count)
        rows = torch.empty(len(sums), stretch * self.peers.count, device=self.device)
        rows[:, length:] = 0
        for row, each in zip(rows, sums.values(), strict=True):
            self._flatten(each, row[:length])
        nodes = [nodes_left(count, self.peers.block_of(rank, count)) for rank in range(self.peers.count)]
        mine = [chunk.reshape(-1) for chunk in torch.split(rows, stretch, 1)]
        received = self.peers.dealt(mine, [len(each) * stretch for each in nodes])
        tree = TreeSum(count, torch.Tensor.add_)
        for chunk, there in zip(received, nodes, strict=True):
            for (level, number), value in zip(there, torch.split(chunk, stretch), strict=False):
                tree.put(value, number, level)
        first, *second = tree.left().values()
        whole = self.peers.joined_up(first.add_(second[0]) if second else first)[:length]
        *gradients, means, rest = torch.split(whole, [*sizes, 2, len(sizes) + 1])
        *is_there, halved = rest.tolist()
        return _Sum(
            [
                gradient.view_as(parameter) if there else None
                for gradient, parameter, there in zip(gradients, self.parameters, is_there, strict=True)
            ],
            means,
            int(halved),
        )

    def _flatten(self, each: _Sum, row: Tensor) -> None:
        """Writes all numbers of a sum into `row`. A parameter without gradient gets -0 there, which changes no sum."""
        numbers = [
            torch.full_like(parameter, -0.0) if gradient is None else gradient
            for gradient, parameter in zip(each.gradients, self.parameters, strict=True)
        ]
        there = [float(gradient is not None) for gradient in each.gradients]
        rest = torch.tensor([*there, float(each.halved)], device=self.device)
        torch.cat([*(number.reshape(-1) for number in numbers), each.means, rest], out=row)

    def _part(self, part: BatchPart, tokens: int, seed: int, alone: bool) -> _Sum:
        """The gradient of one part, computed in pieces that fit in memory. Its dropout masks follow from `seed` alone.

        `alone`: no other part is computed at the same time.
        """
        pieces, halved = [part], 0
        while isinstance(found := self._gradient(pieces, tokens, seed, alone), int):
            pieces[found : found + 1] = _halves(pieces[found])
            halved += 1
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        return _Sum(found.gradients, found.means, halved)

    def _gradient(self, pieces: Sequence[BatchPart], tokens: int, seed: int, alone: bool) -> _Sum | int:
        """The sum of the gradients of all pieces, or the number of the piece that does not fit in memory."""
        own = torch.Generator().manual_seed(seed) if self.device.type == "cpu" else None
        if alone:  # for parts of a model that draw from torch's own generator
            torch.manual_seed(seed)
        total: _Sum | None = None
        with drawing_from(own):
            for number, (_, batch) in enumerate(pieces):
                try:
                    with autocast(self.device, self.dtype, keeps_casts=self.device.type != "cpu"):
                        loss, nll = batch_loss(
                            self.model, batch.to(self.device), self.settings.label_smoothing, self.settings.consistency
                        )
                    gradients = torch.autograd.grad(loss / tokens, self.parameters, allow_unused=True)
                    found = _Sum(list(gradients), torch.stack([loss.detach(), nll]) / tokens, 0)
                    total = found if total is None else total.plus(found)
                except (MemoryError, RuntimeError) as error:
                    if not lacks_memory(error):
                        raise
                    return number
        assert total is not None
        return total

    def _take_gradients(self, halves: Sequence[_Sum]) -> Tensor:
        """Sets the parameters' gradients to the sum of the halves; returns the gradient norm."""
        first, *second = (half.gradients for half in halves)
        norms: dict[int, Tensor] = {}

        def take(shard: _Shard) -> None:
            there: dict[int, Tensor] = {}
            for number in shard.numbers:
                gradient = _added(first[number], second[0][number]) if second else first[number]
                self.parameters[number].grad = gradient
                if gradient is not None:
                    there[number] = gradient
            if there:
                norms.update(zip(there, torch._foreach_norm(list(there.values())), strict=True))

        self.workers.each(take, self.shards)
        norm: Tensor = torch.linalg.vector_norm(torch.stack([norms[number] for number in sorted(norms)]))
        return norm

    def _update(self, fine: Tensor, norm: Tensor, rate: float) -> None:
        """Clips the gradient, and updates the weights if the step is `fine`."""
        limit = self.settings.clip_norm
        clip = None if limit is None else (limit / (norm + 1e-6)).clamp(max=1.0)

        def update(shard: _Shard) -> None:
            gradients = [p.grad for number in shard.numbers if (p := self.parameters[number]).grad is not None]
            if clip is not None and gradients:
                torch._foreach_mul_(gradients, clip)
            for group in shard.optimiser.param_groups:
                group["lr"] = rate
            if shard.optimiser.defaults.get("fused"):  # changes nothing if found_inf is 1, as for a GradScaler
                shard.optimiser.found_inf = (~fine).float()  # type: ignore[attr-defined]
                shard.optimiser.step()
            elif bool(fine):
                shard.optimiser.step()

        self.workers.each(update, self.shards)


@dataclass(frozen=True)
class _Shard:
    """Some of the parameters, for one worker, and an optimiser for these parameters alone."""

    numbers: list[int]
    optimiser: Optimiser


def _added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum of two gradients, which overwrites the first; None counts as 0."""
    if one is None or other is None:
        return one if other is None else other
    return one.add_(other)


def _shards(parameters: Sequence[nn.Parameter], optimiser: Optimiser, count: int) -> list[_Shard]:
    """Divides the parameters into at most `count` groups of about equal size, which share the optimiser's state."""
    if count == 1:
        return [_Shard(list(range(len(parameters))), optimiser)]
    groups: list[list[int]] = [[] for _ in range(min(count, len(parameters)))]
    sizes = [0] * len(groups)
    for number in sorted(range(len(parameters)), key=lambda number: -parameters[number].numel()):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(number)
        sizes[smallest] += parameters[number].numel()
    return [_Shard(sorted(group), _only(optimiser, {parameters[number] for number in group})) for group in groups]


def _only(optimiser: Optimiser, parameters: set[nn.Parameter]) -> Optimiser:
    """A view of the optimiser that updates these parameters alone."""
    view = object.__new__(type(optimiser))  # copy.copy would leave out attributes of a subclass
    view.__dict__.update(optimiser.__dict__)
    view.param_groups = [
        group | {"params": [each for each in group["params"] if each in parameters]} for group in optimiser.param_groups
    ]
    return view


def _halves(part: BatchPart) -> list[BatchPart]:
    """Two parts, each with half the pairs; raises `NoRoom` for a single pair."""
    rows, batch = part
    if len(rows) == 1:
        raise NoRoom(part)
    middle = len(rows) // 2
    every = torch.arange(len(rows))
    return [(rows[:middle], batch.select(every[:middle])), (rows[middle:], batch.select(every[middle:]))]
