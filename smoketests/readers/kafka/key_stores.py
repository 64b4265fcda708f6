"""Certificates and keys out of the stores that Java's tools make: JKS, PKCS12 and PEM, told apart by their content.

JKS is read here: pyjks, the one library for it, had its last release in 2020 and needs a compiler. PKCS12 and PEM are
read by cryptography. Formats: OpenJDK's sun.security.provider.JavaKeyStore and KeyProtector.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import ssl
import struct
from typing import NamedTuple

from inventory.errors import SmokeError

JKS_MAGIC, JCEKS_MAGIC = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
WHITENER = b"Mighty Aphrodite"
PRIVATE_KEY, TRUSTED = 1, 2
DIGEST = 20
LARGEST = 4 << 20
# -----BEGIN CERTIFICATE-----MIIC…-----END CERTIFICATE-----, in a properties file often without line breaks
PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----((?:(?!-----).)*)-----END \1-----", re.DOTALL)
BASE64_WIDTH = 64


class CannotOpen(SmokeError):
    """Why the store cannot be used; never a password."""


class Store(NamedTuple):
    """PEM texts. certificates: of a trust store, or a key's own with its chain. key: unencrypted, empty if none."""

    certificates: tuple[str, ...]
    key: str = ""


def opened(data: bytes, password: str, key_password: str = "") -> Store:
    """key_password: of the key where it is another one than the store's. CannotOpen."""
    if data.startswith(JKS_MAGIC):
        return _jks(data, password, key_password or password)
    if data.startswith(JCEKS_MAGIC):
        raise CannotOpen("JCEKS store; convert it to PKCS12: keytool -importkeystore -deststoretype PKCS12")
    if data[:1] == b"\x30":
        return _pkcs12(data, password)
    text = data.decode("utf-8", "replace")
    if PEM.search(text):
        return pem(text, key_password or password)
    raise CannotOpen("not JKS, PKCS12 or PEM")


def pem(text: str, password: str = "") -> Store:
    """The certificates and the key in a PEM text, also where its line breaks were lost. CannotOpen."""
    blocks = [(kind, _wrapped(kind, body)) for kind, body in PEM.findall(text)]
    keys = [block for kind, block in blocks if kind.endswith("PRIVATE KEY")]
    certificates = tuple(block for kind, block in blocks if kind.endswith("CERTIFICATE"))
    if not keys and not certificates:
        raise CannotOpen("no PEM block such as -----BEGIN CERTIFICATE-----")
    return Store(certificates, _key(keys[0].encode(), password) if keys else "")


def _wrapped(kind: str, body: str) -> str:
    """With its lines as they must be; headers of an old encrypted key stay as they are."""
    if ":" in body:
        return f"-----BEGIN {kind}-----{body}-----END {kind}-----\n"
    packed = re.sub(r"\s+", "", body)
    lines = [packed[at : at + BASE64_WIDTH] for at in range(0, len(packed), BASE64_WIDTH)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


def _key(data: bytes, password: str) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    load = serialization.load_der_private_key if data[:1] == b"\x30" else serialization.load_pem_private_key
    secret = password.encode() if password and b"ENCRYPTED" in data else None
    try:
        key = load(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        why = "wrong or missing password" if b"ENCRYPTED" in data else f"{type(error).__name__} {error}"[:120]
        raise CannotOpen(f"its private key cannot be read: {why}") from None
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


def _pkcs12(data: bytes, password: str) -> Store:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except (ValueError, TypeError) as error:
        raise CannotOpen(f"wrong password, or not a PKCS12 store ({error})"[:200]) from None
    own = [store.cert] if store.cert else []
    encoding = serialization.Encoding.PEM
    certificates = tuple(one.certificate.public_bytes(encoding).decode() for one in [*own, *store.additional_certs])
    if store.key is None:
        return Store(certificates)
    plain = serialization.NoEncryption()
    return Store(certificates, store.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain).decode())


class _Reader:
    """Numbers, texts and blobs one after the other, as Java's DataOutputStream writes them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if count < 0 or len(part) < count:
            raise CannotOpen("the JKS store is truncated")
        self._at += count
        return part

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def skip_text(self) -> None:
        self.take(struct.unpack(">H", self.take(2))[0])

    def certificate(self) -> str:
        self.skip_text()
        return ssl.DER_cert_to_PEM_cert(self.take(self.number()))


def _jks(data: bytes, password: str, key_password: str) -> Store:
    body, digest = data[:-DIGEST], data[-DIGEST:]
    if password and hashlib.sha1(_spelled(password) + WHITENER + body).digest() != digest:  # noqa: S324  Java's choice
        raise CannotOpen("wrong password, or the JKS store is damaged")
    reader = _Reader(body)
    reader.take(len(JKS_MAGIC))
    version, count = reader.number(), reader.number()
    if version not in (1, 2):
        raise CannotOpen(f"JKS store of unknown version {version}")
    certificates, key = [], ""
    for _entry in range(min(count, LARGEST)):
        kind = reader.number()
        reader.skip_text()
        reader.take(8)
        if kind == TRUSTED:
            certificates += [reader.certificate()][: not key]
        elif kind == PRIVATE_KEY:
            locked = reader.take(reader.number())
            chain = [reader.certificate() for _one in range(min(reader.number(), LARGEST))]
            if not key:
                key, certificates = _key(_unlocked(locked, key_password), ""), chain
        else:
            raise CannotOpen(f"the JKS store holds an entry of unknown type {kind}")
    return Store(tuple(certificates), key)


def _spelled(password: str) -> bytes:
    return password.encode("utf-16-be")


def _unlocked(locked: bytes, password: str) -> bytes:
    """The key (PKCS8) of a JKS entry: salt, what is XORed with a chain of SHA-1, and a digest to know it by."""
    hidden = _last_octets(locked)
    salt, text, digest = hidden[:DIGEST], hidden[DIGEST:-DIGEST], hidden[-DIGEST:]
    secret = _spelled(password)
    stream, link = bytearray(), salt
    while len(stream) < len(text):
        link = hashlib.sha1(secret + link).digest()  # noqa: S324  Java's choice
        stream += link
    plain = bytes(one ^ other for one, other in itertools.zip_longest(text, stream[: len(text)], fillvalue=0))
    if hashlib.sha1(secret + plain).digest() != digest:  # noqa: S324  Java's choice
        raise CannotOpen("wrong key password (ssl.key.password)")
    return plain


def _last_octets(data: bytes) -> bytes:
    """EncryptedPrivateKeyInfo ::= SEQUENCE { SEQUENCE { algorithm }, OCTET STRING }: the content of the last part."""
    _tag, inside, _rest = _der(data)
    _tag, _algorithm, rest = _der(inside)
    tag, octets, _rest = _der(rest)
    if tag != 4 or len(octets) < 2 * DIGEST:
        raise CannotOpen("the key in the JKS store is damaged")
    return octets


def _der(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag, content and what follows of one DER value."""
    if len(data) < 2:
        raise CannotOpen("the key in the JKS store is damaged")
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[2:start], "big")
    return data[0], data[start : start + size], data[start + size :]
