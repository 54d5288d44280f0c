"""What model files of other programs may cost: no more than their bytes can mean."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit.models.files.crfpp import read_crfpp
from crfkit.models.files.crfsuite import read_crfsuite
from crfkit.models.files.mallet import read_mallet
from crfkit.models.files.wapiti import read_wapiti
from tests.cases.growing_models import crfpp_chain, crfpp_model, crfsuite_model, mallet_model, wapiti_model
from tests.cases.growth import peak_of


def test_many_labels_need_many_bytes() -> None:
    names = "".join(f"{len(str(i))}:{i},\n" for i in range(3000))
    text = f"#mdl#2#0\n#rdr#0/0/0\n#qrk#3000\n{names}#qrk#0\n"
    with pytest.raises(ValueError, match="its 3,000 labels have 9,000,000 steps, too many for a file of"):
        read_wapiti(text.encode())
    with pytest.raises(ValueError, match="its 3,000 labels have 9,000,000 steps"):
        read_crfpp(crfpp_model(1, labels=3000))


def test_a_maxent_model_has_no_steps() -> None:
    names = "".join(f"{len(str(i))}:{i},\n" for i in range(3000))
    model = read_wapiti(f"#mdl#0#0\n#rdr#0/0/0\n#qrk#3000\n{names}#qrk#0\n".encode())
    assert len(model.names.labels) == 3000


def test_shared_weight_sets_do_not_multiply() -> None:
    states = {f"S{i}": {"S0": ["t"] if i == 0 else ["s", "t"]} for i in range(300)}
    text = mallet_model(states, {"s": 3000, "t": 3000})
    with pytest.raises(ValueError, match="shared by too many steps for the size of the file"):
        read_mallet(text)


def test_missing_steps_between_many_states_are_refused() -> None:
    text = mallet_model({f"S{i}": {"S0": ["s"]} for i in range(600)}, {"s": 1})
    with pytest.raises(ValueError, match="it lacks 359,400 steps between 600 states"):
        read_mallet(text)
    names = [str(i) + "S" * 20_000 for i in range(100)]
    with pytest.raises(ValueError, match="it lacks 9,900 steps"):
        read_mallet(mallet_model({name: {names[0]: ["s"]} for name in names}, {"s": 1}))


def test_a_string_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="strings without end"):
        read_crfpp(crfpp_chain(100_000))


def test_a_number_of_weights_must_be_one() -> None:
    text = crfpp_model(2).replace(b"maxid: ", b"maxid: " + b"1" * 5000)
    with pytest.raises(ValueError, match="its maxid is b'1111"):
        read_crfpp(text)


def test_plain_transitions_add_up() -> None:
    """A pattern that stands there twice counts twice, whatever the number of others."""
    text = wapiti_model(["b0", "b1"], patterns=["b0", "b1", "b1"], weights={0: 1.0, 5: 2.0})
    model = read_wapiti(text)
    assert model.w[model.layout.parts["transition"]].tolist() == [1.0, 4.0]


@pytest.mark.parametrize("kind", ["crfpp", "wapiti", "mallet", "crfsuite"])
def test_memory_is_bounded_by_the_size_of_a_file(kind: str) -> None:
    n = 50_000
    data, read = {
        "crfpp": (crfpp_model(n), read_crfpp),
        "wapiti": (wapiti_model([f"u:{i}" for i in range(n)]), read_wapiti),
        "mallet": (mallet_model({"O": {"O": ["s"]}}, {"s": n}), read_mallet),
        "crfsuite": (crfsuite_model(n), read_crfsuite),
    }[kind]
    assert peak_of(lambda: read(data)) < 64 * len(data)
    assert np.isfinite(read(data).w).all()
