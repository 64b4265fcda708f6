"""Whether a server is a usable Kafka, and if not, the reason: kafka-python only reports a timeout."""

from __future__ import annotations

import re
import socket
import ssl
import struct
from collections.abc import Mapping
from typing import Any

CONNECT_S = 4.0
# ApiVersions (18), version 0, correlation id 7, no client id: what every broker since 0.10 answers before any login.
HELLO = struct.pack(">ihhih", 10, 18, 0, 7, -1)
TLS_ALERT, TLS_HANDSHAKE = 21, 22


def greet(host: str, port: int, settings: Mapping[str, Any]) -> str:
    """Why this server cannot be asked; empty if it can."""
    tls = "SSL" in str(settings.get("security_protocol", ""))
    try:
        with socket.create_connection((host, port), timeout=CONNECT_S) as connection:
            return handshake(connection, host, settings) if tls else greeting(connection)
    except ConnectionRefusedError:
        return "connection refused"
    except TimeoutError:
        return f"no reply within {CONNECT_S:.0f} s"
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", "") or error)[:120]


def handshake(connection: socket.socket, host: str, settings: Mapping[str, Any]) -> str:
    """Why TLS cannot be; empty if it can."""
    connection.settimeout(CONNECT_S)
    context = settings.get("ssl_context") or ssl.create_default_context()
    try:
        context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return f"its TLS certificate is not trusted: {error.verify_message}"
    except ssl.SSLError as error:
        return f"TLS handshake failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
    return ""


def greeting(connection: socket.socket) -> str:
    """Why its answer to our first words is not Kafka's; empty if it is."""
    connection.settimeout(CONNECT_S)
    connection.sendall(HELLO)
    said = b""
    while len(said) < 8:
        part = connection.recv(8 - len(said))
        if not part:
            break
        said += part
    if said[:1] in (bytes([TLS_ALERT]), bytes([TLS_HANDSHAKE])) and said[1:2] == b"\x03":
        return "the port requires TLS (security_protocol)"
    if not said:
        return "connection closed without a reply: not Kafka, or TLS is required"
    if len(said) < 8 or said[4:8] != HELLO[8:12]:
        return "not a Kafka server"
    return ""


def reason(error: Exception, settings: Mapping[str, Any]) -> str:
    """Why kafka-python could not connect, as a person may use it; never a password."""
    said = re.sub(r"\s+", " ", f"{type(error).__name__} {error}").strip()
    for name, value in settings.items():
        if "password" in name and isinstance(value, str) and value:
            said = said.replace(value, "…")
    if "Authentication" in said or "Sasl" in said:
        return f"login rejected: {said[:150]}"
    if "CERTIFICATE" in said.upper() or "SSL" in said:
        return f"TLS handshake failed: {said[:150]}"
    # after a wrong password a broker only closes the connection, as kafka-python sees it
    hint = "; are the credentials correct?" if "sasl_mechanism" in settings else "; is authentication (SASL) required?"
    if settings.get("sasl_mechanism") == "GSSAPI":
        hint = "; is there a valid Kerberos ticket (klist)?"
    if settings.get("security_protocol") == "SSL":
        hint = "; is a client certificate required (mutual TLS)?"
    return f"it replies, but rejects requests: {said[:150]}{hint}"
