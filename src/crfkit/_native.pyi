"""Made by `make stubs` from the native module."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__version__: str
compiler: str

def simd_levels() -> list[str]: ...
def settled(array: object) -> bool: ...

class Alphabet:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, arg: int, /) -> str: ...
    def strings(self) -> list[str]: ...
    def add(self, arg: str, /) -> int: ...
    def find(self, arg: str, /) -> int: ...
    def add_all(self, arg: list[str], /) -> NDArray[np.int32]: ...
    def find_all(self, arg: list[str], /) -> NDArray[np.int32]: ...
    def hashed(self, arg: int, /) -> NDArray[np.int32]: ...
    def add_spans(self, text: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]) -> int: ...
    def merge(self, arg: Alphabet, /) -> NDArray[np.int32]: ...
    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]: ...

class FrozenAlphabet:
    @staticmethod
    def from_arrays(
        bytes: NDArray[np.uint8], begin: NDArray[np.uint64], slots: NDArray[np.uint64]
    ) -> FrozenAlphabet: ...
    @staticmethod
    def of_database(
        file: NDArray[np.uint8], at: int, count: int, threads: int = 1
    ) -> FrozenAlphabet | None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, arg: int, /) -> str: ...
    def strings(self) -> list[str]: ...
    def find(self, arg: str, /) -> int: ...
    def find_all(self, arg: list[str], /) -> NDArray[np.int32]: ...
    def merge(self, arg: Alphabet, /) -> NDArray[np.int32]: ...
    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]: ...

def cqdb_hashes(text: NDArray[np.uint8], begin: NDArray[np.int64]) -> NDArray[np.uint32]: ...
def crfsuite_rows(
    file: NDArray[np.uint8],
    features: int,
    feature_count: int,
    lists: int,
    list_bytes: int,
    attributes: int,
    labels: int,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]] | None: ...

class ColumnParser:
    def __init__(
        self, separator: str | None, comment: str, skip_docstart: bool, blank_starts_end: bool
    ) -> None: ...
    def feed(self, arg: bytes, /) -> tuple[int, str] | None: ...
    def finish(self) -> tuple[int, str] | None: ...
    def take(self) -> tuple[list[NDArray[np.int32]], NDArray[np.int64], NDArray[np.int64]]: ...
    @property
    def columns(self) -> int: ...
    def alphabet(self, arg: int, /) -> Alphabet: ...

class Features:
    def __init__(
        self,
        views: Sequence[tuple[int, str, str, bool]],
        templates: Sequence[tuple[str, Sequence[tuple[str, int, int, str]]]],
        padding: str,
    ) -> None: ...
    def freeze(self, arg0: FrozenAlphabet, arg1: FrozenAlphabet, arg2: FrozenAlphabet, /) -> None: ...
    def update(self, view: int, tokens: Alphabet) -> list[str]: ...
    def supply(self, view: int, tokens: Alphabet, values: list[Any]) -> None: ...
    def expand(
        self, columns: Sequence[NDArray[np.int32]], seq_ptr: NDArray[np.int64], threads: int, longest: int = 0
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]: ...
    @property
    def node_names(self) -> Alphabet: ...
    @property
    def edge_names(self) -> Alphabet: ...
    @property
    def segment_names(self) -> Alphabet: ...

class Conjunctions:
    def __init__(self, ptr: NDArray[np.int64], right: NDArray[np.int32], made: NDArray[np.int32]) -> None: ...
    def conjoin(
        self, ptr: NDArray[np.int64], id: NDArray[np.int32], value: NDArray[np.float64] | None, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...

class GainSearch:
    def __init__(
        self,
        p: NDArray[np.float64],
        gold: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        labels: int,
        l2: float,
        ptr: NDArray[np.int64],
        id: NDArray[np.int32],
        value: NDArray[np.float64] | None,
    ) -> None: ...
    def single(
        self, least: float, threads: int
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.uint64],
        NDArray[np.float64],
        NDArray[np.float64],
    ]: ...
    def pairs(
        self, left: NDArray[np.bool_], right: NDArray[np.bool_], least: float, threads: int
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.uint64],
        NDArray[np.float64],
        NDArray[np.float64],
    ]: ...
    def diverse(
        self,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        label: NDArray[np.int32],
        mu: NDArray[np.float64],
        most: int,
        share: float,
    ) -> NDArray[np.int64]: ...

def handle_signals_in(thread: int) -> None: ...

class Stop:
    def __init__(self) -> None: ...
    def ask(self) -> None: ...
    @property
    def asked(self) -> bool: ...
    def run(self, call: Callable[[], object]) -> object: ...

def set_most_memory(bytes: int) -> None: ...
def most_memory() -> int: ...
def check_memory(what: str, bytes: int) -> None: ...
def xxh64(bytes: NDArray[np.uint8]) -> int: ...

class Hasher:
    def __init__(self, size: int) -> None: ...
    def freeze(self) -> None: ...
    @property
    def collisions(self) -> int: ...

class ItemWalk:
    @staticmethod
    def growing(names: Alphabet) -> ItemWalk: ...
    @staticmethod
    def hashing(names: Hasher) -> ItemWalk: ...
    @staticmethod
    def frozen(names: FrozenAlphabet) -> ItemWalk: ...
    def append(self, sequence: object | None, n: int) -> int: ...
    def append_labels(self, sequence: object | None, n: int) -> int: ...
    def append_rows(
        self, ptr: NDArray[np.int64], ids: NDArray[np.int32], values: NDArray[np.float64] | None
    ) -> None: ...
    @property
    def seen(self) -> tuple[int, int]: ...
    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]: ...

class Rows:
    def __init__(
        self, width: int, ptr: NDArray[np.int64], column: NDArray[np.int32], table_bytes: int
    ) -> None: ...
    @property
    def table_bytes(self) -> int: ...
    @staticmethod
    def most_table_bytes(weights: int) -> int: ...

    narrow: Final[int] = ...

class Transpose:
    @staticmethod
    def of(
        ptr: NDArray[np.int64],
        attr: NDArray[np.int32],
        value: NDArray[np.float64] | None,
        attributes: int,
        width: int,
    ) -> Transpose: ...
    def observed(
        self,
        cell: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        width: int,
        minimum: float,
        ptr: NDArray[np.int64] | None,
        threads: int,
    ) -> NDArray[Any]: ...

def seen_pairs(
    ptr: NDArray[np.int64],
    attr: NDArray[np.int32],
    cell: NDArray[np.int32],
    attributes: int,
    width: int,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def take_rows(
    ptr: NDArray[np.int64], chosen: NDArray[np.int32], weights: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...
def add_rows(
    ptr: NDArray[np.int64], chosen: NDArray[np.int32], part: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...

class ReadyRows:
    @staticmethod
    def of(
        kernels: Kernels, rows: Rows, weights: NDArray[np.float64], offset: int, threads: int
    ) -> ReadyRows: ...

def score(
    kernels: Kernels,
    rows: ReadyRows,
    ptr: NDArray[np.int64],
    attr: NDArray[np.int32],
    value: NDArray[np.float64] | None,
    base: NDArray[np.float64] | None,
    first: int,
    last: int,
    out: NDArray[np.float64],
    threads: int,
) -> bool: ...
def scatter(
    kernels: Kernels,
    rows: Rows,
    transpose: Transpose,
    credit: NDArray[np.float64],
    gradient: NDArray[np.float64],
    offset: int,
    add: bool,
    threads: int,
) -> None: ...

class Segmented:
    def __init__(
        self,
        position_ptr: NDArray[np.int64],
        begin: NDArray[np.int32],
        place: NDArray[np.int32],
        length_cell: NDArray[np.int32],
        longest: int,
        begins: bool,
        ends: bool,
    ) -> None: ...

class EdgeOccurrences:
    def __init__(
        self,
        ptr: NDArray[np.int64],
        attr: NDArray[np.int32],
        value: NDArray[np.float64] | None,
        row_ptr: NDArray[np.int64],
        cell: NDArray[np.int32],
    ) -> None: ...

class Labeled:
    def __init__(
        self,
        seq_ptr: NDArray[np.int64],
        attr_ptr: NDArray[np.int64],
        attr: NDArray[np.int32],
        value: NDArray[np.float64] | None,
        label: NDArray[np.int32],
        labels: int,
        row_ptr: NDArray[np.int64],
        column: NDArray[np.int32],
        transition_cell: NDArray[np.int32],
        start: bool,
        stop: bool,
        weight: NDArray[np.float64] | None,
        forbidden: NDArray[np.float64] | None,
        segments: Segmented | None,
        before: int = 1,
        edges: EdgeOccurrences | None = None,
    ) -> None: ...

class CompiledSequences:
    pass

class StochasticTrainer:
    def __init__(self, layout: Labeled, rule: int) -> None: ...
    def compile(self, data: Labeled) -> CompiledSequences: ...
    def run(
        self,
        kernels: Kernels,
        sequences: CompiledSequences,
        order: NDArray[np.int64],
        rate: NDArray[np.float64],
        strengths: NDArray[np.float64],
        offset: float,
        due: NDArray[np.float64],
    ) -> float: ...
    def settle(self, kernels: Kernels) -> None: ...
    def read(self, out: NDArray[np.float64]) -> None: ...
    def write(self, weights: NDArray[np.float64]) -> None: ...
    def read_memory(self, out: NDArray[np.float64]) -> None: ...
    def write_memory(self, memory: NDArray[np.float64]) -> None: ...

class MistakeTrainer:
    def __init__(
        self,
        data: Labeled,
        remedy: int,
        averaged: bool,
        margin: int,
        kbest: int,
        most: float,
        slack: float,
        gamma: float,
    ) -> None: ...
    def run(
        self,
        kernels: Kernels,
        order: NDArray[np.int64],
        seen: int,
        spent: NDArray[np.float64],
        right: NDArray[np.float64],
    ) -> float: ...
    def read(self, out: NDArray[np.float64]) -> None: ...
    def write(self, weights: NDArray[np.float64]) -> None: ...
    def read_memory(self, out: NDArray[np.float64]) -> None: ...
    def write_memory(self, memory: NDArray[np.float64]) -> None: ...

class MarginTrainer:
    def __init__(self, data: Labeled, inverse: float, small_inverse: float) -> None: ...
    def run(
        self, kernels: Kernels, order: NDArray[np.int64], seen: int, learns: bool, gaps: NDArray[np.float64]
    ) -> bool: ...
    def read(self, out: NDArray[np.float64]) -> None: ...
    def read_memory(self, out: NDArray[np.float64]) -> None: ...
    def cost(self) -> float: ...
    def state(self) -> dict[str, Any]: ...
    def restore(
        self,
        w: NDArray[np.float64],
        memory: NDArray[np.float64],
        count: NDArray[np.int32],
        room: NDArray[np.int32],
        path: NDArray[np.int32],
        share: NDArray[np.float64],
        cost: NDArray[np.float64],
        gram: NDArray[np.float64],
    ) -> None: ...

class CoordinateTrainer:
    def __init__(self, data: Labeled) -> None: ...
    def run(
        self, kernels: Kernels, w: NDArray[np.float64], strengths: NDArray[np.float64], kappa: float
    ) -> None: ...

class DualTrainer:
    def __init__(
        self,
        data: Labeled,
        strengths: NDArray[np.float64],
        exponentiated: bool,
        threads: int,
        pair_ptr: NDArray[np.int32] | None = None,
        pair_from: NDArray[np.int32] | None = None,
    ) -> None: ...
    def run(
        self,
        kernels: Kernels,
        order: NDArray[np.int64],
        relax: float,
        threshold: float,
        ramp: bool,
        threads: int,
    ) -> tuple[float, float, int, int]: ...
    def begin(
        self,
        kernels: Kernels,
        node: NDArray[np.float64],
        edge: NDArray[np.float64],
        ends: NDArray[np.float64] | None,
        order: NDArray[np.int64],
        threads: int,
    ) -> tuple[float, float, int, int]: ...
    def read(self, out: NDArray[np.float64]) -> None: ...
    def write(self, v: NDArray[np.float64]) -> None: ...
    def exact(self, out: NDArray[np.float64], threads: int) -> None: ...
    def diagonal(self, out: NDArray[np.float64], threads: int) -> None: ...
    def entropy(self) -> float: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, v: NDArray[np.float64], parts: dict[str, Any]) -> None: ...

def combine(
    kernels: Kernels,
    coefficients: NDArray[np.float64],
    vectors: Sequence[NDArray[np.float64]],
    briefs: Sequence[NDArray[np.uint16]],
    out: NDArray[np.float64],
    threads: int,
) -> None: ...
def shorten(kernels: Kernels, x: NDArray[np.float64], out: NDArray[np.uint16], threads: int) -> None: ...
def brief_dots(
    kernels: Kernels,
    briefs: Sequence[NDArray[np.uint16]],
    others: Sequence[NDArray[np.float64]],
    threads: int,
) -> NDArray[np.float64]: ...
def dots(
    kernels: Kernels,
    vectors: Sequence[NDArray[np.float64]],
    others: Sequence[NDArray[np.float64]],
    threads: int,
) -> NDArray[np.float64]: ...
def add_l2(
    kernels: Kernels,
    l2: NDArray[np.float64],
    w: NDArray[np.float64],
    gradient: NDArray[np.float64],
    direction: NDArray[np.float64] | None,
    threads: int,
) -> list[float]: ...
def pseudo_gradient(
    kernels: Kernels,
    l1: NDArray[np.float64],
    w: NDArray[np.float64],
    gradient: NDArray[np.float64],
    out: NDArray[np.float64],
    threads: int,
) -> list[float]: ...
def move_in_orthant(
    kernels: Kernels,
    l1: NDArray[np.float64],
    w: NDArray[np.float64],
    pseudo: NDArray[np.float64],
    direction: NDArray[np.float64],
    length: float,
    out: NDArray[np.float64],
    threads: int,
) -> list[float]: ...
def downhill_within(
    kernels: Kernels,
    s: Sequence[NDArray[np.float64]],
    y: Sequence[NDArray[np.float64]],
    length: NDArray[np.float64],
    l1: NDArray[np.float64],
    w: NDArray[np.float64],
    pseudo: NDArray[np.float64],
    out: NDArray[np.float64],
) -> float: ...
def brief_downhill_within(
    kernels: Kernels,
    s: Sequence[NDArray[np.uint16]],
    y: Sequence[NDArray[np.uint16]],
    length: NDArray[np.float64],
    l1: NDArray[np.float64],
    w: NDArray[np.float64],
    pseudo: NDArray[np.float64],
    out: NDArray[np.float64],
) -> float: ...
def solve_upper(
    matrix: NDArray[np.float64], right: NDArray[np.float64], transposed: bool
) -> NDArray[np.float64]: ...

class Problem:
    @staticmethod
    def chain(
        node: NDArray[np.float64],
        tables: Sequence[NDArray[np.float64]],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...
    @staticmethod
    def segments(
        segment: NDArray[np.float64],
        edge: NDArray[np.float64],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...
    @staticmethod
    def tree(
        node: NDArray[np.float64],
        node_ptr: NDArray[np.int64],
        edge: NDArray[np.float64],
        edge_ptr: NDArray[np.int64],
        parent: NDArray[np.int32],
        width: NDArray[np.int32],
        seq_ptr: NDArray[np.int64],
    ) -> Problem: ...

class Kernels:
    @staticmethod
    def named(name: str) -> Kernels: ...
    @property
    def name(self) -> str: ...
    def log_partition(self, problem: Problem, log_space: bool, threads: int) -> NDArray[np.float64]: ...
    def expected_score(
        self, problem: Problem, log_space: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def marginals(
        self,
        problem: Problem,
        edges: bool,
        log_space: bool,
        threads: int,
        weight: NDArray[np.float64] | None = None,
        steps: bool = True,
    ) -> dict[str, Any]: ...
    def reach(self, problem: Problem, edges: bool, threads: int) -> dict[str, Any]: ...
    def best(
        self, problem: Problem, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def kbest(
        self, problem: Problem, k: int, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def sample(
        self, problem: Problem, n: int, seed: int, log_space: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8] | None]: ...
    def count(self, problem: Problem, prime: int, threads: int) -> NDArray[np.uint64]: ...

class Evaluator:
    @staticmethod
    def of(
        kernels: Kernels,
        order: int,
        rows: Rows,
        seq_ptr: NDArray[np.int64],
        attr_ptr: NDArray[np.int64],
        attr: NDArray[np.int32],
        value: NDArray[np.float64] | None,
        weight: NDArray[np.float64] | None,
        label: NDArray[np.int32] | None,
        soft: NDArray[np.float64] | None,
        allowed: NDArray[np.bool_] | None,
        edge_rows: Rows | None,
        edge_ptr: NDArray[np.int64] | None,
        edge_attr: NDArray[np.int32] | None,
        edge_value: NDArray[np.float64] | None,
        longest: int,
        begins: bool,
        ends: bool,
        place: NDArray[np.int64] | None,
        pair_ptr: NDArray[np.int32] | None,
        pair_from: NDArray[np.int32] | None,
        table_bytes: int,
        row_bytes: int,
    ) -> Evaluator: ...
    @staticmethod
    def unpack(
        kernels: Kernels,
        order: int,
        width: int,
        ptr: NDArray[np.int64],
        column: NDArray[np.int32],
        edge_row_ptr: NDArray[np.int64] | None,
        edge_column: NDArray[np.int32] | None,
        soft: NDArray[np.float64] | None,
        allowed: NDArray[np.bool_] | None,
        packed: NDArray[np.uint8],
    ) -> Evaluator: ...
    @property
    def packed_size(self) -> int: ...
    def pack(self, out: NDArray[np.uint8]) -> None: ...
    @property
    def rows_left(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    def evaluate(
        self,
        weights: NDArray[np.float64],
        edge: NDArray[np.float64],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        gradient: NDArray[np.float64],
        start_credit: NDArray[np.float64],
        stop_credit: NDArray[np.float64],
        edge_credit: NDArray[np.float64],
        length: NDArray[np.float64] | None,
        length_credit: NDArray[np.float64] | None,
        threads: int,
    ) -> tuple[float, bool, int]: ...

class Reading:
    def __len__(self) -> int: ...
    def tag(self) -> list[str]: ...
    def log_partition(self) -> float: ...
    def path_score(self, path: Sequence[int]) -> float: ...
    def marginals(self) -> NDArray[np.float64]: ...

class TokenReader:
    def __init__(
        self,
        features: Features,
        names: Sequence[FrozenAlphabet | Hasher],
        columns: Sequence[str],
        places: Sequence[int],
        widths: Sequence[int],
        sources: Sequence[tuple[int, object]],
        functions: Sequence[object] | None,
        margin: int,
        made: int,
    ) -> None: ...

def span_shares(
    node: NDArray[np.float64],
    edge: NDArray[np.float64],
    seq_ptr: NDArray[np.int64],
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    among: NDArray[np.bool_],
    enter: NDArray[np.bool_],
    stay: NDArray[np.bool_],
    leave: NDArray[np.bool_],
) -> NDArray[np.float64]: ...

class SpanNames:
    def __init__(
        self, flags: Sequence[int], kind: Sequence[int], kinds: Sequence[object], type: object
    ) -> None: ...

class Decoder:
    def __init__(
        self,
        kernels: Kernels,
        names: FrozenAlphabet | Hasher,
        rows: ReadyRows,
        tables: Sequence[NDArray[np.float64]],
        start: NDArray[np.float64] | None,
        stop: NDArray[np.float64] | None,
        labels: tuple[str, ...],
        reader: TokenReader | None = None,
        steps: ReadyRows | None = None,
        base: NDArray[np.float64] | None = None,
    ) -> None: ...
    def tag(self, items: object | None) -> list[str]: ...
    def answer(self, items: object | None) -> tuple[list[str], Reading]: ...
    def read(self, items: object | None) -> Reading: ...
    def read_rows(
        self, ptr: NDArray[np.int64], attr: NDArray[np.int32], value: NDArray[np.float64] | None
    ) -> Reading: ...
    def labels_of(self, sequence: object | None, doubt: int) -> list[str] | None: ...
    def reading_of(self, sequence: object | None, doubt: int) -> Reading | None: ...
    def spans_of(
        self, sequence: object | None, doubt: int, spans: SpanNames
    ) -> tuple[list[str], list[Any]] | None: ...

class Dictionary:
    def __init__(self, tokens: list[str], ptr: NDArray[np.int64], source: NDArray[np.int32]) -> None: ...
    def best(
        self,
        tokens: list[str],
        ptr: NDArray[np.int64],
        exclude: NDArray[np.int32],
        similarity: str,
        threads: int,
    ) -> NDArray[np.float64]: ...
    def every(self, tokens: list[str], similarity: str) -> NDArray[np.float64]: ...

class RowReader:
    def __init__(self, format: str) -> None: ...
    def read(
        self, chunk: bytes, at: int, threads: int, least: int
    ) -> tuple[int, bytes, int, str, tuple[str, str]] | None: ...
    def finish(self) -> tuple[int, bytes, int, str, tuple[str, str]] | None: ...
    def add(
        self, labels: list[str | None], ends: list[int], names: list[str], values: list[float], weight: float
    ) -> None: ...
    def take(
        self,
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.float64] | None,
        NDArray[np.float64],
    ]: ...
    @property
    def labels(self) -> Alphabet: ...
    @property
    def attributes(self) -> Alphabet: ...

def render_lines(
    alphabets: list[Alphabet | FrozenAlphabet], ids: Sequence[NDArray[np.int32]], seq_ptr: NDArray[np.int64]
) -> bytes: ...

class Factors:
    def __init__(
        self, width: NDArray[np.int32], graph: NDArray[np.int32], constant: NDArray[np.float64]
    ) -> None: ...
    def add(
        self,
        name: str,
        scope: NDArray[np.int32],
        shape: Sequence[int],
        table: NDArray[np.float64],
        which: NDArray[np.int32] | None = None,
        scale: NDArray[np.float64] | None = None,
    ) -> None: ...
    def labeling_scores(self, label: NDArray[np.int32], rows: int) -> NDArray[np.float64]: ...
    @property
    def variables(self) -> int: ...
    @property
    def groups(self) -> int: ...

def components(variables: int, scopes: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]: ...

class Incidence:
    def __init__(self, factors: Factors) -> None: ...

def conditional_loss(
    kernels: Kernels,
    factors: Factors,
    incidence: Incidence | None,
    label: NDArray[np.int32],
    weight: NDArray[np.float64],
    terms: str,
    threads: int,
) -> tuple[float, list[NDArray[np.float64]]]: ...
def max_flow(
    excess: NDArray[np.float64],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    capacity: NDArray[np.float64],
    reverse: NDArray[np.float64],
) -> tuple[float, NDArray[np.int32]]: ...
def min_cut(problem: Factors) -> tuple[NDArray[np.int32], tuple[str, int, int]]: ...
def roof_dual(
    problem: Factors,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], tuple[str, int, int]]: ...
def ordered_cut(problem: Factors) -> tuple[NDArray[np.int32], tuple[str, int, int]]: ...
def moves(
    problem: Factors, start: NDArray[np.int32] | None, swap: bool, cycles: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8], int, tuple[str, int, int]]: ...

class Elimination:
    def __init__(self, budget: float) -> None: ...
    def sum(
        self, kernels: Kernels, factors: Factors, marginals: bool, cliques: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], list[NDArray[Any]]]: ...
    def best(
        self, kernels: Kernels, factors: Factors, threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
    def kbest(
        self, kernels: Kernels, factors: Factors, k: int, label: NDArray[np.int32], threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def sample(
        self, kernels: Kernels, factors: Factors, n: int, seed: int, label: NDArray[np.int32], threads: int
    ) -> NDArray[np.float64]: ...
    def count(
        self, factors: Factors, prime: int, threads: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]: ...
    def cells(self, factors: Factors, threads: int) -> NDArray[np.float64]: ...

class MessagePlan:
    def __init__(self, factors: Factors, schedule: int) -> None: ...
    @property
    def schedule(self) -> int: ...
    @property
    def forests(self) -> int: ...

class MessageRun:
    def __init__(
        self,
        kernels: Kernels,
        factors: Factors,
        plan: MessagePlan,
        maxima: bool,
        sweeps: int,
        tolerance: float,
        damping: float,
        weight_seed: int | None,
        threads: int,
    ) -> None: ...
    @property
    def converged(self) -> NDArray[np.uint8]: ...
    @property
    def acyclic(self) -> NDArray[np.uint8]: ...
    @property
    def sweeps(self) -> NDArray[np.int64]: ...
    def marginals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def clique(self, group: int, node: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def counts(
        self, group: int, node: NDArray[np.float64], each: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...
    def slack(self, node: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def labels(self) -> NDArray[np.int32]: ...

class Blocks:
    def __init__(self, factors: Factors, trees: bool) -> None: ...
    @property
    def blocks(self) -> int: ...
    @property
    def classes(self) -> int: ...

def first_labeling(
    factors: Factors, random: bool, seed: int, budget: int
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]: ...
def gibbs_marginals(
    kernels: Kernels,
    factors: Factors,
    blocks: Blocks,
    start: NDArray[np.int32],
    chains: int,
    burn: int,
    sweeps: int,
    seed: int,
    cliques: bool,
    threads: int,
) -> dict[str, Any]: ...
def gibbs_sample(
    kernels: Kernels,
    factors: Factors,
    blocks: Blocks,
    start: NDArray[np.int32],
    chains: int,
    burn: int,
    thin: int,
    n: int,
    seed: int,
    threads: int,
) -> dict[str, Any]: ...
def anneal(
    kernels: Kernels,
    factors: Factors,
    blocks: Blocks,
    start: NDArray[np.int32],
    restarts: int,
    temperature: NDArray[np.float64],
    most: int,
    seed: int,
    threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.uint8]]: ...
def mean_field(
    kernels: Kernels,
    factors: Factors,
    blocks: Blocks,
    start: NDArray[np.float64],
    tolerance: float,
    most: int,
    cliques: bool,
    threads: int,
) -> dict[str, Any]: ...

unicode_version: str = "15.0.0"

def text_breaks(text: str, rule: str) -> NDArray[np.int64]: ...
def text_parts(text: str, rule: str, alone: str) -> NDArray[np.int64]: ...

class SmallGraphs:
    def __init__(self, factors: Factors, least_share: int, threads: int) -> None: ...
    def covered(self) -> NDArray[np.bool_]: ...
    def cells(self, factors: Factors) -> NDArray[np.float64]: ...
    @property
    def covers_all(self) -> bool: ...
    @property
    def components(self) -> int: ...
    @property
    def patterns(self) -> int: ...
    def log_partition(
        self, kernels: Kernels, factors: Factors, value: NDArray[np.float64], threads: int
    ) -> None: ...
    def marginals(
        self,
        kernels: Kernels,
        factors: Factors,
        value: NDArray[np.float64],
        node: NDArray[np.float64],
        clique: Sequence[NDArray[np.float64]],
        threads: int,
    ) -> None: ...
    def best(
        self,
        kernels: Kernels,
        factors: Factors,
        value: NDArray[np.float64],
        label: NDArray[np.int32],
        threads: int,
    ) -> None: ...

class Slices:
    def __init__(self, factors: Factors, steps: Sequence[int], budget: float) -> None: ...
    def covered(self) -> NDArray[np.bool_]: ...
    def cells(self, factors: Factors) -> NDArray[np.float64]: ...
    @property
    def components(self) -> int: ...
    def sum(
        self,
        kernels: Kernels,
        factors: Factors,
        weight: NDArray[np.float64] | None,
        value: NDArray[np.float64],
        threads: int,
    ) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]: ...

class TensorChains:
    def __init__(
        self,
        node: object,
        length: object,
        first: object | None,
        index: object | None,
        start: object,
        stop: object,
        tables: Sequence[object],
    ) -> None: ...

def sum_tensors(
    kernels: Kernels,
    chains: TensorChains,
    labels: object | None,
    weight: object | None,
    scale: float,
    gradient: Sequence[object] | None,
    value: object,
    in_logs: object,
    total: object | None,
    threads: int,
) -> None: ...
def hessian_of_tensors(
    kernels: Kernels,
    chains: TensorChains,
    along: TensorChains,
    weight: object,
    gradient: Sequence[object],
    dot: object,
    value: object,
    threads: int,
) -> None: ...
def best_of_tensors(
    kernels: Kernels, chains: TensorChains, seed: int, labels: object, score: object, threads: int
) -> None: ...
def kbest_of_tensors(
    kernels: Kernels, chains: TensorChains, seed: int, labels: object, score: object, threads: int
) -> None: ...
def sample_tensors(
    kernels: Kernels, chains: TensorChains, seed: int, labels: object, score: object, threads: int
) -> None: ...
def tree_ep(
    factors: Factors, tolerance: float, most: int, budget: float, cliques: bool, threads: int
) -> dict[str, Any]: ...
def sum_trees(
    kernels: Kernels,
    shape: int,
    scores: object,
    height: object,
    width: object,
    value: object,
    marginals: object | None,
    threads: int,
) -> None: ...
def find_trees(
    kernels: Kernels,
    shape: int,
    query: int,
    scores: object,
    height: object,
    width: object,
    seed: int,
    chosen: object,
    score: object,
    threads: int,
) -> None: ...

class VisitOrder:
    def __init__(self, factors: Factors) -> None: ...
    @property
    def levels(self) -> int: ...

class Visits:
    def __init__(
        self, kernels: Kernels, factors: Factors, order: VisitOrder, forests: bool, both: bool
    ) -> None: ...
    def sweep(self, active: NDArray[np.uint8], choose: bool, threads: int) -> None: ...
    def improve(self, active: NDArray[np.uint8], rounds: int, threads: int) -> bool: ...
    def bound(self) -> NDArray[np.float64]: ...
    def score(self) -> NDArray[np.float64]: ...
    def label(self) -> NDArray[np.int32]: ...
    def set_label(self, label: NDArray[np.int32]) -> None: ...
    def left(self) -> NDArray[np.float64]: ...
    def given(self, group: int) -> NDArray[np.float64]: ...
