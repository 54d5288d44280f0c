"""A linear-chain CRF as a layer of a network: the last one, whose scores of labels come from below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from crfkit.structures.chains.chain import Chain, is_chain
from crfkit.structures.constraints import Constraint
from crfkit.torch import functional
from crfkit.torch.gold import known_labels
from crfkit.torch.inputs import Edges, Lengths, Rows, Where, Within, check_labels, sequences
from crfkit.torch.queries import Reduction
from crfkit.torch.results import Paths
from crfkit.torch.states import States

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from crfkit.models.model import SequenceModel

__all__ = ["CRF"]


class CRF(nn.Module):
    """A conditional random field over label sequences: loss, best labels, probabilities.

    Parameters
    ----------
    labels : int, list of str, or Chain
        Labels, or their number; or a `crfkit.Chain`, which says order and constraints too.
    order : int
        How many labels before the current one a score looks at. Orders above 1 are slow.
    constraints : sequence of constraints
        See `crfkit.constraints`; all queries keep them, the loss too.
    device, dtype
        Device and type of the parameters; float32 by default. Autocast does not change them.

    Attributes
    ----------
    start, stop : Parameter [L]
    edge : Parameter [L, L]
        Scores of steps, ``edge[from, to]``; zeros at first, as all are.
    edges : ParameterList
        In place of `edge` where the order is 2 or more: [L, L], [L, L, L], ...
    chain : Chain

    Notes
    -----
    Every method takes ``node, mask`` in the forms that `crfkit.torch.functional` lists, and ``lengths`` or
    ``offsets`` in place of a mask. Calling the module returns the loss.

    Examples
    --------
    >>> from crfkit.constraints import Scheme
    >>> crf = CRF(["O", "B", "I"], constraints=[Scheme("BIO")])
    >>> node = torch.tensor([[[0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [3.0, 0.0, 0.0]]], requires_grad=True)
    >>> crf.loss(node, torch.tensor([[1, 2, 0]])).backward()
    >>> crf.decode(node).names()
    [['B', 'I', 'O']]
    >>> crf.decode(node, torch.tensor([[1, 1, 0]])).lists()
    [[1, 2]]
    """

    chain: Chain
    start: Tensor
    stop: Tensor

    def __init__(
        self,
        labels: int | Iterable[str] | Chain,
        order: int | None = None,
        constraints: Sequence[Constraint] | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.chain = _chain(labels, order, constraints)
        made = {"device": device, "dtype": dtype or torch.float32}
        self._count = L = len(self.chain.labels)
        self.start = nn.Parameter(torch.zeros(L, **made))
        self.stop = nn.Parameter(torch.zeros(L, **made))
        if self.chain.order == 1:
            self.edge = nn.Parameter(torch.zeros(L, L, **made))
        elif self.chain.order > 1:
            tables = [torch.zeros((L,) * (h + 1), **made) for h in range(1, self.chain.order + 1)]
            self.edges = nn.ParameterList([nn.Parameter(table) for table in tables])
        rules = self.chain.resolved
        expansion = None if rules is None else rules.expansion
        self.states = None if expansion is None else States(expansion, L, device)
        self.forbid(device)

    def forbid(self, device: torch.device | str | None = None) -> None:
        """Make the buffers that hold what constraints forbid, on the device of the parameters.

        They are in no file. Whoever makes the layer on the device "meta" and gives it memory later
        (`Module.to_empty`) calls this after that.
        """
        device, rules = device or self.start.device, self.chain.resolved
        if self.chain.order == 0:
            nothing = torch.zeros(self._count, self._count, dtype=self.start.dtype, device=device)
            self.register_buffer("_no_edge", nothing, persistent=False)
        if self.states is not None:
            self.states.forbid(device)
        elif rules is not None:
            for name in ("start", "transition", "stop"):
                forbidden = torch.from_numpy(~getattr(rules, name)).to(device)
                self.register_buffer(f"_forbidden_{name}", forbidden, persistent=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names."""
        return self.chain.labels

    def extra_repr(self) -> str:
        """Return what the module prints of itself."""
        rules = f", constraints={list(self.chain.constraints)}" if self.chain.constraints else ""
        return f"labels={len(self.labels)}, order={self.chain.order}{rules}"

    def tables(self) -> dict[str, Any]:
        """Return ``start``, ``edge`` and ``stop`` as `crfkit.torch.functional` takes them: -inf forbids."""
        start, stop = self.start, self.stop
        edge: Edges
        if self.chain.order == 1:
            edge = self.edge
        else:
            edge = self._no_edge if self.chain.order == 0 else list(self.edges)
        if self.states is not None:
            assert isinstance(edge, Tensor)
            return self.states.tables(start, edge, stop)
        if self.chain.resolved is not None:
            start = start.masked_fill(self._forbidden_start, -torch.inf)
            stop = stop.masked_fill(self._forbidden_stop, -torch.inf)
            if isinstance(edge, Tensor):
                edge = edge.masked_fill(self._forbidden_transition, -torch.inf)
            else:
                edge = [edge[0].masked_fill(self._forbidden_transition, -torch.inf), *edge[1:]]
        return {"start": start, "edge": edge, "stop": stop}

    def forward(
        self, node: Rows, labels: Rows | None = None, mask: Tensor | None = None, **how: Any
    ) -> Tensor:
        """Return the loss, as `loss` does."""
        return self.loss(node, labels, mask, **how)

    def loss(
        self,
        node: Rows,
        labels: Rows | None = None,
        mask: Tensor | None = None,
        *,
        lengths: Lengths | None = None,
        offsets: Lengths | None = None,
        allowed: Rows | None = None,
        weight: Tensor | None = None,
        reduction: Reduction = "mean",
        check: bool | None = None,
        label_smoothing: float = 0,
        label_weight: Tensor | None = None,
        position_weight: Rows | None = None,
    ) -> Tensor:
        """Return minus the log probability of what is known of the labels; `functional.chain_loss`.

        Labels of -1 and -100 in the mask are unknown and summed over; `allowed` holds sets of labels, or
        distributions over them. Gold that a constraint forbids is an error on the CPU; elsewhere, and with
        ``check=False``, it has the loss +inf and no gradient. ``check=True`` raises on all devices.
        """
        check_labels(node, self._count)
        if self.states is not None:
            if labels is not None:  # checked as labels, then sets of states
                rows = sequences(node, mask, lengths, offsets)
                known_labels(rows.like_node(labels, "labels"), rows)
            if label_weight is not None or position_weight is not None:
                raise ValueError("limits on segment lengths exclude weights of labels and positions")
            node, labels, allowed = self._sets_of_states(node, labels, allowed)
        return functional.chain_loss(
            node,
            labels=labels,
            mask=mask,
            lengths=lengths,
            offsets=offsets,
            allowed=allowed,
            weight=weight,
            reduction=reduction,
            check=check,
            label_smoothing=label_smoothing,
            label_weight=label_weight,
            position_weight=position_weight,
            **self.tables(),
        )

    def log_prob(
        self, node: Rows, labels: Rows, mask: Tensor | None = None, **where: Unpack[Where]
    ) -> Tensor:
        """Return log probabilities of labelings [B]."""
        if self.states is not None:
            ways: Any = where
            return -self.loss(node, labels, mask, reduction="none", check=False, **ways)
        check_labels(node, self._count)
        return functional.chain_log_prob(node, labels=labels, mask=mask, **where, **self.tables())

    def log_partition(self, node: Rows, mask: Tensor | None = None, **where: Unpack[Within]) -> Tensor:
        """Return log Z [B]."""
        return functional.chain_log_partition(
            self._scores(node), mask=mask, **self._where(where), **self.tables()
        )

    def entropy(self, node: Rows, mask: Tensor | None = None, **where: Unpack[Within]) -> Tensor:
        """Return entropies [B] in nats."""
        return functional.chain_entropy(self._scores(node), mask=mask, **self._where(where), **self.tables())

    def marginals(
        self, node: Rows, mask: Tensor | None = None, *, edges: bool = False, **where: Unpack[Within]
    ) -> Any:
        """Return probabilities of labels, shaped as `node`; with ``edges=True`` of steps too."""
        found = functional.chain_marginals(
            self._scores(node), mask=mask, edges=edges, **self._where(where), **self.tables()
        )
        if self.states is None:
            return found
        if edges:
            return self.states.summed(found[0]), self.states.summed(found[1], axes=2)
        return self.states.summed(found)

    def decode(self, node: Rows, mask: Tensor | None = None, **where: Unpack[Within]) -> Paths:
        """Return the best labeling of each sequence: labels [B, T] (-1 where masked) and score [B]."""
        found = functional.chain_best(self._scores(node), mask=mask, **self._where(where), **self.tables())
        return found._replace(labels=self._labels(found.labels), alphabet=self.labels)

    def kbest(self, node: Rows, k: int, mask: Tensor | None = None, **where: Unpack[Within]) -> Paths:
        """Return the k best labelings: labels [B, k, T] and scores [B, k]."""
        found = functional.chain_kbest(
            self._scores(node), k=k, mask=mask, **self._where(where), **self.tables()
        )
        return found._replace(labels=self._labels(found.labels), alphabet=self.labels)

    def sample(
        self,
        node: Rows,
        n: int = 1,
        mask: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
        **where: Unpack[Within],
    ) -> Tensor:
        """Return n draws from the distribution over labelings, [B, n, T]."""
        drawn = functional.chain_sample(
            self._scores(node), n=n, mask=mask, generator=generator, **self._where(where), **self.tables()
        )
        return self._labels(drawn)

    def warm_up(self, batch: int = 1, length: int = 2, dtype: torch.dtype = torch.float32) -> None:
        """Run loss, gradient and decoding once for these sizes, so that GPU kernels are compiled.

        Examples
        --------
        >>> CRF(3).warm_up()
        """
        shape = (batch, length, len(self.labels))
        node = torch.zeros(shape, dtype=dtype, device=self.start.device, requires_grad=True)
        labels = torch.full(shape[:2], -1, device=self.start.device)
        with torch.enable_grad():
            torch.autograd.grad(self.loss(node, labels), node)
        self.decode(node)

    # ---- where limits on segment lengths make states of labels

    def _scores(self, node: Rows) -> Rows:
        check_labels(node, self._count)
        return node if self.states is None else self.states.scores(node)

    def _where(self, where: Within) -> Within:
        sets = where.get("allowed")
        return (
            where if self.states is None or sets is None else {**where, "allowed": self.states.scores(sets)}
        )

    def _labels(self, found: Tensor) -> Tensor:
        return found if self.states is None else self.states.labels(found)

    def _sets_of_states(
        self, node: Rows, labels: Rows | None, allowed: Rows | None
    ) -> tuple[Rows, None, Rows | None]:
        assert self.states is not None
        sets = None if labels is None else self.states.of_labels(labels)
        if allowed is not None and not isinstance(allowed, Tensor | PackedSequence):
            raise ValueError(f"allowed is {type(allowed).__name__}, expected a tensor")
        if allowed is not None and allowed.data.dtype.is_floating_point:  # a PackedSequence has `data` too
            raise ValueError("limits on segment lengths and distributions over labels exclude each other")
        if allowed is not None and sets is not None:
            raise ValueError("with limits on segment lengths give labels or allowed, not both")
        return self.states.scores(node), None, self.states.scores(allowed) if sets is None else sets

    def to_model(self) -> SequenceModel:
        """Return a model that answers for the same scores without torch; it can be saved.

        Examples
        --------
        >>> CRF(["A", "B"]).to_model().predict([torch.tensor([[0.0, 1.0]]).numpy()])
        [['B']]
        """
        from crfkit.torch.serving import to_model

        return to_model(self.chain, self._by_slot())

    def _by_slot(self) -> dict[str, list[Tensor]]:
        """Return the parameters as `crfkit.linear` names their places."""
        steps = [] if self.chain.order == 0 else [self.edge] if self.chain.order == 1 else list(self.edges)
        return {"transition": steps, "start": [self.start], "stop": [self.stop]}

    def spans(
        self, node: Rows, mask: Tensor | None = None, **where: Unpack[Within]
    ) -> list[list[tuple[int, int, str, float]]]:
        """Return the segments that the best labels spell, as (start, end, label, probability).

        Labels such as B-X and I-X spell segments, others by runs of the same one. The probability is that of
        exactly this segment, with both ends and the label, over all labelings. Start and end count rows of
        `node` in a sequence, masked ones too. On the CPU and without a gradient; ``log_prob`` has one for
        given labels, with -1 at other positions.

        Examples
        --------
        >>> crf = CRF(["O", "B-X", "I-X"])
        >>> node = torch.tensor([[[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 2.0]]])
        >>> [(start, end, label, round(p, 3)) for start, end, label, p in crf.spans(node)[0]]
        [(1, 3, 'X', 0.787)]
        """
        from crfkit.torch.serving import spans

        return spans(self, node, mask, **where)

    @classmethod
    def from_model(
        cls,
        model: SequenceModel,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> CRF:
        """Return a layer with the labels, constraints and transitions of a trained model.

        ``model.potentials(batch).node`` are the scores of its attributes, which go in with those of
        a network.

        Examples
        --------
        >>> crf = CRF(["A", "B"])
        >>> with torch.no_grad():
        ...     crf.edge[0, 1] = 2.0
        >>> CRF.from_model(crf.to_model()).edge.tolist()
        [[0.0, 2.0], [0.0, 0.0]]
        """
        from crfkit.torch.serving import take_from

        structure = getattr(model, "structure", None)
        if not is_chain(structure):
            raise ValueError(
                f"{structure or model!r} is not a chain: expected a model with labels of positions"
            )
        crf = cls(structure, device=device, dtype=dtype)
        take_from(model, crf._by_slot())
        return crf


def _chain(
    labels: int | Iterable[str] | Chain, order: int | None, constraints: Sequence[Constraint] | None
) -> Chain:
    if isinstance(labels, Chain):
        if not is_chain(labels) or not labels.labels:
            raise ValueError(f"{labels!r} is not a chain with labels")
        if order is not None or constraints is not None:
            raise ValueError("a Chain has its own order and constraints: do not give them again")
        return labels
    if labels is None:
        raise ValueError("labels is None, expected their names, their number or a Chain")
    return Chain(labels, 1 if order is None else order, constraints or ())
