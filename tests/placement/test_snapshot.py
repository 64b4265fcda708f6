"""A snapshot survives being written, and what is wrong with one is named with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement import snapshot
from placement.errors import PlacementError
from tests.placement.made_clusters import cluster

SMALL = cluster([2, 2, 1], 30)


def test_a_snapshot_is_read_back_as_it_was_written() -> None:
    assert snapshot.loads(snapshot.dumps(SMALL)) == SMALL


def test_the_same_snapshot_is_the_same_bytes() -> None:
    assert snapshot.dumps(cluster([2, 2, 1], 30)) == snapshot.dumps(SMALL)


def changed(**fields: Any) -> str:
    found = json.loads(snapshot.dumps(SMALL))
    found["partitions"][3].update(fields)
    return json.dumps(found)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"replicas": [0, 0, 1]}, "replica on broker 0 is listed twice"),
        ({"replicas": [0, 1.0, 2]}, "partition 4: replicas: a whole number from 0 is needed, not 1.0"),
        ({"replicas": [0, 1]}, "replicas, sizes_bytes and log_dirs must be as long as each other"),
        ({"replicas": [0, 1, 77]}, "has a replica on broker 77, which is not in the snapshot"),
        ({"sizes_bytes": [1, 2, -3]}, "sizes_bytes: size: a whole number from 0 is needed, not -3"),
        ({"sizes_bytes": [1, 2, True]}, "not True"),
        ({"topic": None}, "partition 4: topic: text is needed, not None"),
        ({"number": 2**60}, "number: a whole number"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlacementError) as error:
        snapshot.loads(changed(**fields), "prod.json")

    assert sentence in str(error.value) and str(error.value).startswith("prod.json")


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("", "prod.json:1:1: not JSON"),
        ("[]", "a JSON object is needed"),
        ('{"schema": 2}', "schema 2 is not 1"),
        ('{"schema": 1, "schema": 1}', "duplicate key"),
        ('{"schema": NaN}', "NaN is not a number"),
        ('{"a": ' + "[" * 100_000, "prod.json"),
    ],
)
def test_what_is_no_snapshot_is_said(written: str, sentence: str) -> None:
    with pytest.raises(PlacementError, match=r"prod\.json") as error:
        snapshot.loads(written, "prod.json")

    assert sentence in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=50)
@given(JSON | st.fixed_dictionaries({"schema": st.just(1), "brokers": st.lists(JSON), "partitions": st.lists(JSON)}))
def test_rubbish_is_refused_in_a_sentence(rubbish: Any) -> None:
    with pytest.raises(PlacementError):
        snapshot.loads(json.dumps(rubbish))
