"""sockets: which ports are listened on."""

from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.machine.live import LiveHost
from agent.sources.network import sockets
from tests.agent.servers import tcp_table
from tests.machine import FakeHost

# recorded on a Debian 12 machine: a listener on 9092, IPv6 one on 2181, an established connection
# ruff: noqa: E501
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1472 1 0000000055c80193 100 0 0 10 0
   1: 020200C0:9C90 507100CB:01BB 01 00000000:00000000 00:00000000 00000000     0        0 12304 1 0000000036fa4d14 20 4 29 13 -1
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0885 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0
"""


def test_ports_of_both_tables_are_listened_on() -> None:
    host = FakeHost(files={"/proc/7/net/tcp": TCP, "/proc/7/net/tcp6": TCP6})

    assert sockets.listening_ports(host, 7) == {9092, 2181}


def test_a_kernel_without_ipv6_has_one_table() -> None:
    assert sockets.listening_ports(FakeHost(files={"/proc/7/net/tcp": TCP}), 7) == {9092}


def test_a_process_that_is_gone_has_no_ports_to_tell() -> None:
    with pytest.raises(CannotTell, match="listening ports unknown"):
        sockets.listening_ports(FakeHost(), 7)


@given(st.text() | st.builds(lambda cut: TCP[:cut], st.integers(0, len(TCP))))
def test_rubbish_gives_ports_or_cannot_be_told(text: str) -> None:
    try:
        ports = sockets.parse_listening(text)
    except CannotTell:
        return
    assert ports <= {9092}


@given(st.sets(st.integers(1, 65535), max_size=20))
def test_every_listening_port_is_found(ports: set[int]) -> None:
    assert sockets.parse_listening(tcp_table(*ports)) == ports


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_real_port_is_listened_on_until_it_is_closed(family: socket.AddressFamily, address: str) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError as error:
            pytest.skip(f"no {address} here: {error}")
        port = listener.getsockname()[1]
        assert port not in sockets.listening_ports(LiveHost(), os.getpid())
        listener.listen()
        assert port in sockets.listening_ports(LiveHost(), os.getpid())
