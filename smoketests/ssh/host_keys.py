"""Which host keys are trusted: known_hosts as ssh reads it, and the decision about the key that a host shows.

Supported: several names on a line, [host]:port, hashed names, patterns with * ? and !, @revoked, @cert-authority.
Nothing is ever accepted unseen, whatever StrictHostKeyChecking says.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import glob
import hashlib
import hmac
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import paramiko
from paramiko.message import Message

from smoketests.ssh.failures import Unreachable

PORT = 22
CERTIFICATE = "-cert-v01@openssh.com"
HOST_CERTIFICATE = 2
# how many strings a key of each kind is made of, in its certificate
KEY_PARTS = {"ssh-ed25519": 1, "ssh-rsa": 2}
ECDSA_PARTS = 2
# as OpenSSH has it: SSHKEY_CERT_MAX_PRINCIPALS
MOST_PRINCIPALS = 256


class Entry(NamedTuple):
    """One line of known_hosts; blob is the key as it goes over the wire."""

    marker: str
    names: tuple[str, ...]
    kind: str
    blob: bytes


class Known(NamedTuple):
    """What is known of one host. expected: keys under its very name and port; the others may be believed as well."""

    expected: tuple[Entry, ...]
    trusted: frozenset[bytes]
    authorities: frozenset[bytes]
    revoked: frozenset[bytes]
    names: tuple[str, ...]

    def kinds(self, offered: Sequence[str]) -> list[str]:
        """The kinds of key to ask for, best first: those that we could recognise."""
        known = {entry.kind for entry in self.expected}
        wanted = [kind for kind in offered if _plain(kind) in known]
        if self.authorities:
            wanted = [kind + CERTIFICATE for kind in offered] + wanted
        return wanted + [kind for kind in offered if kind not in wanted]

    def check(self, key: paramiko.PKey) -> None:
        """Nothing if the key is to be trusted; Unreachable with both fingerprints otherwise."""
        blob, certificate = key.asbytes(), _certificate(key)
        offered = fingerprint(blob)
        if blob in self.revoked or (certificate and certificate.authority in self.revoked):
            raise Unreachable("key-revoked", f"host key {offered} is marked @revoked in known_hosts")
        if blob in self.trusted:
            return
        if certificate and certificate.authority in self.authorities:
            certificate.check(self.names, time.time())
        elif self.expected:
            same_kind = [entry for entry in self.expected if entry.kind == key.get_name()] or list(self.expected)
            known = ", ".join(fingerprint(entry.blob) for entry in same_kind[:3])
            raise Unreachable("key-changed", f"host key changed (known {known}, offered {offered})")
        else:
            why = "and no certificate of a known authority" if self.authorities else ""
            raise Unreachable(
                "key-unknown", f"host key unknown (offered {offered}{why}): accept it with `smoke inventory keys`"
            )


class KnownHosts:
    """known_hosts files, parsed once for all hosts."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._exact: dict[str, list[Entry]] = {}
        self._to_match: list[Entry] = []
        for path in paths:
            for name in sorted(glob.glob(os.path.expanduser(path))):
                if os.path.isfile(name):
                    self._read(name)

    def _read(self, path: str) -> None:
        with open(path, encoding="utf-8", errors="replace") as file:
            entries = filter(None, map(parse_line, file))
            for entry in entries:
                if entry.marker or any(set(name) & set("|*?!") for name in entry.names):
                    self._to_match.append(entry)
                else:
                    for name in entry.names:
                        self._exact.setdefault(name, []).append(entry)

    def of(self, names: Sequence[str], port: int = PORT) -> Known:
        """What is known of a host with these names, at this port. As in ssh, a key under the bare name serves too."""
        bare = [name.lower() for name in names if name]
        full = [name if port == PORT else f"[{name}]:{port}" for name in bare]
        expected = [entry for name in full for entry in self._found(name)]
        others = expected if full == bare else expected + [entry for name in bare for entry in self._found(name)]
        marked = {marker: frozenset(entry.blob for entry in others if entry.marker == marker)
                  for marker in ("", "@cert-authority", "@revoked")}  # fmt: skip
        plain = tuple(entry for entry in expected if not entry.marker)
        return Known(plain, marked[""], marked["@cert-authority"], marked["@revoked"], tuple(bare))

    def _found(self, name: str) -> list[Entry]:
        return self._exact.get(name, []) + [entry for entry in self._to_match if _matches(name, entry.names)]


def parse_line(line: str) -> Entry | None:
    """One line of known_hosts; None for comments and for what ssh itself would not understand."""
    words = line.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#") or marker not in ("", "@cert-authority", "@revoked"):
        return None
    names, kind, key = words[:3]
    try:
        blob = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return None
    lower = (name if name.startswith("|") else name.lower() for name in names.split(","))
    return Entry(marker, tuple(lower), kind, blob)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """As ssh does it: some pattern fits, and none of those with ! before them."""
    refused = any(_fits(name, pattern[1:]) for pattern in patterns if pattern.startswith("!"))
    return not refused and any(_fits(name, pattern) for pattern in patterns if not pattern.startswith("!"))


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("|1|"):
        return _is_hash_of(name, pattern)
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def _is_hash_of(name: str, hashed: str) -> bool:
    """|1|salt|HMAC-SHA1 of the name, both in base64"""
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in hashed[3:].split("|"))
    except (binascii.Error, ValueError):
        return False
    return hmac.digest(salt, name.encode(), "sha1") == digest


def fingerprint(blob: bytes) -> str:
    """As ssh shows it: SHA256:…"""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _plain(kind: str) -> str:
    """The kind under which known_hosts keeps a key that is used with this algorithm."""
    return "ssh-rsa" if kind.startswith("rsa-sha2-") else kind


class Certificate(NamedTuple):
    """A host's certificate (PROTOCOL.certkeys of OpenSSH); times in seconds since the epoch."""

    kind: int
    principals: tuple[str, ...]
    after: int
    before: int
    critical: bytes
    authority: bytes
    signed: bytes
    signature: bytes

    def check(self, names: Sequence[str], now: float) -> None:
        problem = self._problem(names, now)
        if problem:
            raise Unreachable("key-certificate", f"host certificate rejected: {problem}")

    def _problem(self, names: Sequence[str], now: float) -> str:
        if not self._is_signed():
            return "invalid signature"
        if self.kind != HOST_CERTIFICATE or self.critical:
            return "not a host certificate"
        if not self.after <= now < self.before:
            return "expired or not yet valid"
        if self.principals and not any(fnmatch.fnmatchcase(name, one) for name in names for one in self.principals):
            return f"issued for {', '.join(self.principals)[:100]}"
        return ""

    def _is_signed(self) -> bool:
        try:
            signer = paramiko.PKey.from_type_string(Message(self.authority).get_text(), self.authority)
            return bool(signer.verify_ssh_sig(self.signed, Message(self.signature)))
        except (paramiko.SSHException, paramiko.pkey.UnknownKeyType, ValueError):
            return False


def _certificate(key: paramiko.PKey) -> Certificate | None:
    """The certificate that came with a host's key."""
    blob: Any = key.public_blob
    if blob is None:
        return None
    try:
        return parse_certificate(blob.key_blob)
    except (paramiko.SSHException, ValueError) as error:
        raise Unreachable("key-certificate", f"malformed host certificate: {error}") from error


def parse_certificate(blob: bytes) -> Certificate:
    """SSHException or ValueError where it is none."""
    words = Message(blob)
    kind = words.get_text().removesuffix(CERTIFICATE)
    words.get_string()  # a nonce
    for _ in range(KEY_PARTS.get(kind, ECDSA_PARTS)):
        words.get_string()
    words.get_int64()  # a serial number
    usage = words.get_int()
    words.get_string()  # an identity, for logs
    principals = _principals(words.get_string())
    after, before, critical = words.get_int64(), words.get_int64(), words.get_string()
    words.get_string()  # extensions
    words.get_string()  # reserved
    authority = words.get_string()
    signed = words.get_so_far()
    return Certificate(usage, principals, after, before, critical, authority, signed, words.get_string())


def _principals(listed: bytes) -> tuple[str, ...]:
    """The names, each behind its length. paramiko fills what a packet lacks with up to 1 MB of zeros: empty names."""
    found: list[str] = []
    start = 0
    while start < len(listed):
        name, start = start + 4, start + 4 + int.from_bytes(listed[start : start + 4], "big")
        if start > len(listed) or len(found) == MOST_PRINCIPALS:
            raise ValueError(f"principals truncated, or more than {MOST_PRINCIPALS}")
        found.append(listed[name:start].decode().lower())
    return tuple(found)
