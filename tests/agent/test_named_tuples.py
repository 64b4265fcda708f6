"""The agent's NamedTuple does what typing's does."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.named_tuples import NamedTuple


class Ours(NamedTuple):
    """A row."""

    one: int
    two: str = "b"
    three: typing.Optional[float] = None

    @property
    def both(self) -> str:
        return f"{self.one}{self.two}"

    def doubled(self) -> Ours:
        return self._replace(one=self.one * 2)


class Theirs(typing.NamedTuple):
    """A row."""

    one: int
    two: str = "b"
    three: typing.Optional[float] = None

    @property
    def both(self) -> str:
        return f"{self.one}{self.two}"

    def doubled(self) -> Theirs:
        return self._replace(one=self.one * 2)


def made(kind: Any, values: list[object], named: dict[str, object]) -> object:
    """A row as plain values, and what it prints; the type of the error where there is none."""
    try:
        row = kind(*values, **named)
    except TypeError:
        return TypeError
    return tuple(row), row._asdict(), repr(row).partition("(")[2], row.both, hash(row), row == tuple(row), len(row)


@given(
    st.lists(st.integers() | st.text(), max_size=4),
    st.dictionaries(st.sampled_from(["one", "two", "three", "four", "_fields", "both"]), st.integers(), max_size=3),
)
def test_a_row_is_made_from_the_same_values_as_that_of_typing_and_refused_for_the_same(
    values: list[object], named: dict[str, object]
) -> None:
    assert made(Ours, values, named) == made(Theirs, values, named)


@given(st.dictionaries(st.sampled_from(["one", "two", "three", "four"]), st.integers()))
def test_a_part_is_replaced_as_typing_replaces_it(named: dict[str, Any]) -> None:
    def replaced(row: Any) -> object:
        try:
            return tuple(row._replace(**named))
        except (TypeError, ValueError):
            return None

    assert replaced(Ours(1)) == replaced(Theirs(1))


def test_a_row_is_a_tuple_that_cannot_be_changed_has_its_docstring_its_types_and_its_methods() -> None:
    row = Ours(1, three=2.5)

    assert isinstance(row, tuple) and type(row) is Ours and Ours.__doc__ == "A row."
    assert Ours._fields == Theirs._fields and Ours._field_defaults == Theirs._field_defaults
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert row.doubled() == (2, "b", 2.5) and Ours._make([3, "c", None]) == (3, "c", None)
    for name in ("one", "another"):
        with pytest.raises(AttributeError):
            setattr(row, name, 5)


def test_a_row_outlives_a_pickle_and_a_copy_and_may_be_matched() -> None:
    row = Ours(1, "z")

    again: Any
    for again in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row), copy.copy(row)):
        assert again == row and type(again) is Ours
    assert Ours.__match_args__ == Theirs.__match_args__
