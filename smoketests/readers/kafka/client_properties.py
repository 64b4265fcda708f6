"""How to log in to a Kafka that requires TLS or authentication: from a client.properties, as Kafka's own tools read it.

The environment variable SMOKE_KAFKA_CLIENT names the file; `{cluster}` in it stands for the cluster's name. Secrets
stay in that file: they are in no inventory, on no command line and in no reason. Login settings are used or
rejected, never ignored; settings of Java's own machinery (providers, ciphers, buffers, time limits) do not apply.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import secrets
import ssl
import tempfile
from collections.abc import Mapping
from typing import Any

from agent.api.properties import java_properties
from inventory.errors import SmokeError
from smoketests.readers import CannotRead
from smoketests.readers.kafka import jaas, key_stores
from smoketests.readers.kafka.key_stores import CannotOpen, Store

VARIABLE = "SMOKE_KAFKA_CLIENT"
LARGEST = 1 << 20
PROTOCOL, MECHANISM, JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
KERBEROS = "GSSAPI"
SERVICE = "sasl.kerberos.service.name"
HOSTNAME = "ssl.endpoint.identification.algorithm"
TRUST, OWN = "ssl.truststore", "ssl.keystore"
INLINE_TRUST, INLINE_KEY, INLINE_CHAIN = f"{TRUST}.certificates", f"{OWN}.key", f"{OWN}.certificate.chain"
STORES = [f"{store}.{what}" for store in (TRUST, OWN) for what in ("location", "password", "type")]
OF_THE_KEY = "ssl.key.password"
USED = (PROTOCOL, MECHANISM, JAAS, SERVICE, HOSTNAME, *STORES, INLINE_TRUST, INLINE_KEY, INLINE_CHAIN, OF_THE_KEY)
# how Java does it, which changes nothing in whom we are or whom we trust
JAVAS = (
    "ssl.protocol", "ssl.enabled.protocols", "ssl.cipher.suites", "ssl.provider", "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm", "ssl.secure.random.implementation", "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
)  # fmt: skip
LOGIN_PREFIXES = ("security.", "sasl.", "ssl.")
ALMOST = 0.9
DAMAGED = "malformed certificate"
# password="a\\\\b", as Java's Properties.load reads the line
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def of(cluster: str, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Settings for kafka-python; none where no file is named. CannotRead if the file cannot be used."""
    path = environment.get(VARIABLE, "").replace("{cluster}", cluster)
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LARGEST)
    except (OSError, UnicodeError) as error:
        raise CannotRead(f"{VARIABLE}: {path}: {getattr(error, 'strerror', '') or error}") from None
    return parse(text, path)


def parse(text: str, path: str) -> dict[str, Any]:
    """The settings of a client.properties; CannotRead, in one sentence without a secret, for what cannot be used."""
    try:
        said = _properties(text)
        protocol = said.get(PROTOCOL, "PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            raise BadSetting(f"{PROTOCOL} must be one of {', '.join(PROTOCOLS)}")
        settings: dict[str, Any] = {"security_protocol": protocol} if PROTOCOL in said else {}
        if protocol.startswith("SASL"):
            settings.update(_login(said))
        elif MECHANISM in said or JAAS in said:
            raise BadSetting(f"{MECHANISM if MECHANISM in said else JAAS} needs {PROTOCOL}=SASL_SSL or SASL_PLAINTEXT")
        if protocol.endswith("SSL"):
            settings["ssl_context"] = _tls(said)
            settings["ssl_check_hostname"] = settings["ssl_context"].check_hostname
        return settings
    except BadSetting as error:
        raise CannotRead(f"{path}: {error}"[:300]) from None


class BadSetting(SmokeError):
    """Why a setting cannot be used, without its value."""


def _properties(text: str) -> dict[str, str]:
    """Names and values as Java reads them; a setting of the login that nobody knows is a mistake."""
    said = {name: ESCAPE.sub(_unescaped, value) for name, value in java_properties.parse(text).items()}
    known = (*USED, *JAVAS)
    for name in said:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 1, ALMOST)
        if near or name.startswith(LOGIN_PREFIXES):
            mean = near or difflib.get_close_matches(name, known, 1)
            raise BadSetting(f"{name[:80]} is not a known setting" + (f"; did you mean {mean[0]}?" if mean else ""))
    return said


def _unescaped(found: re.Match[str]) -> str:
    said = found[1]
    return chr(int(said[1:], 16)) if len(said) == 5 else CONTROL.get(said, said)


def _login(said: Mapping[str, str]) -> dict[str, Any]:
    mechanism = said.get(MECHANISM, KERBEROS).upper()
    if mechanism not in (*PASSWORDS, KERBEROS):
        raise BadSetting(f"{MECHANISM} must be one of {', '.join((*PASSWORDS, KERBEROS))}")
    try:
        login = jaas.parse(said[JAAS]) if said.get(JAAS) else jaas.Login("", {})
    except jaas.CannotParse as error:
        raise BadSetting(f"{JAAS}: {error}") from None
    if mechanism == KERBEROS:
        return _kerberos(said, login.options)
    missing = [name for name in ("username", "password") if not login.options.get(name)]
    if missing:
        raise BadSetting(f"{JAAS} must set {' and '.join(missing)} for {mechanism}")
    return {"sasl_mechanism": mechanism, "sasl_plain_username": login.options["username"],
            "sasl_plain_password": login.options["password"]}  # fmt: skip


def _kerberos(said: Mapping[str, str], options: Mapping[str, str]) -> dict[str, Any]:
    """Tickets come from the cache that kinit fills, or by the system's own client keytab."""
    if importlib.util.find_spec("gssapi") is None:
        raise BadSetting(
            f"{MECHANISM}={KERBEROS} needs the package gssapi: pip install 'fleet-smoke[kerberos]' (with MIT Kerberos)"
        )
    if options.get("useKeyTab", "").lower() == "true" and not os.environ.get("KRB5_CLIENT_KTNAME"):
        raise BadSetting(
            f"{JAAS}: a keytab is read by the Kerberos library alone: export KRB5_CLIENT_KTNAME=FILE, or run kinit -kt"
        )
    service = said.get(SERVICE) or options.get("serviceName")
    if not service:
        raise BadSetting(f"{SERVICE} must name the brokers' service, such as kafka")
    return {"sasl_mechanism": KERBEROS, "sasl_kerberos_service_name": service}


def _tls(said: Mapping[str, str]) -> ssl.SSLContext:
    trusted, own = _trusted(said), _own(said)
    try:
        context = ssl.create_default_context(cadata="".join(trusted) or None)
    except (ssl.SSLError, ValueError, TypeError):
        raise BadSetting(f"{INLINE_TRUST if said.get(INLINE_TRUST) else f'{TRUST}.location'}: {DAMAGED}") from None
    algorithm = said.get(HOSTNAME, "https").lower()
    if algorithm not in ("", "https"):
        raise BadSetting(f"{HOSTNAME} must be https, or empty where host names are not to be checked")
    context.check_hostname = bool(algorithm)
    if own:
        _present(context, own)
    return context


def _trusted(said: Mapping[str, str]) -> tuple[str, ...]:
    store = _inline(said, INLINE_TRUST, said.get(INLINE_TRUST, "")) or _store(said, TRUST)
    if store is not None and not store.certificates:
        raise BadSetting(f"{INLINE_TRUST if said.get(INLINE_TRUST) else f'{TRUST}.location'}: no certificate found")
    return store.certificates if store else ()


def _own(said: Mapping[str, str]) -> Store | None:
    """Our key and certificates, where the brokers want some."""
    if bool(said.get(INLINE_KEY)) != bool(said.get(INLINE_CHAIN)):
        raise BadSetting(f"{INLINE_KEY} and {INLINE_CHAIN} belong together")
    both = f"{said[INLINE_KEY]}\n{said[INLINE_CHAIN]}" if said.get(INLINE_KEY) else ""
    store = _inline(said, INLINE_KEY, both) or _store(said, OWN)
    if store and not (store.key and store.certificates):
        name = INLINE_KEY if both else f"{OWN}.location"
        raise BadSetting(f"{name}: no {'certificate' if store.key else 'private key'}")
    return store


def _inline(said: Mapping[str, str], name: str, text: str) -> Store | None:
    try:
        return key_stores.pem(text, said.get(OF_THE_KEY, "")) if text else None
    except CannotOpen as error:
        raise BadSetting(f"{name}: {error}") from None
    except ValueError:
        raise BadSetting(f"{name} or {OF_THE_KEY} contains characters that are not allowed") from None


def _store(said: Mapping[str, str], which: str) -> Store | None:
    where = said.get(f"{which}.location", "")
    if not where:
        return None
    try:
        with open(where, "rb") as file:
            data = file.read(key_stores.LARGEST)
        return key_stores.opened(data, said.get(f"{which}.password", ""), said.get(OF_THE_KEY, ""))
    except (OSError, CannotOpen) as error:
        raise BadSetting(f"{which}.location: {where}: {getattr(error, 'strerror', '') or error}") from None
    except ValueError:
        raise BadSetting(f"{which}.location or its password contains characters that are not allowed") from None


def _present(context: ssl.SSLContext, own: Store) -> None:
    """Python takes a key from a file only: from one of our own, locked with a password that nobody knows, and gone."""
    from cryptography.hazmat.primitives import serialization

    password = secrets.token_urlsafe()
    key = serialization.load_pem_private_key(own.key.encode(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode()),
    )  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # readable for us alone
        file.write(locked + "".join(own.certificates).encode())
        file.flush()
        try:
            context.load_cert_chain(file.name, password=password)
        except (ssl.SSLError, ValueError) as error:
            if not isinstance(error, ssl.SSLError):
                raise BadSetting(f"{OWN}: {DAMAGED}") from None
            why = (error.reason or str(error)).lower().replace("_", " ")
            raise BadSetting(f"{OWN}: key and certificate do not match: {why}") from None
