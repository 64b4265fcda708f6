"""Keys, certificates and stores made by Java's own keytool, for brokers and for us."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

PASSWORD = "geheim1"
KEY_PASSWORD = "geheim2"
TYPES = ("JKS", "PKCS12", "PEM")


def keytool(*words: str) -> None:
    if not shutil.which("keytool"):
        pytest.skip("needs keytool (package default-jre-headless)")
    done = subprocess.run(["keytool", *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Stores:
    """own: store type -> where our key is; trust: store type -> where the certificate of the other is trusted."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, name
        self.own = {kind: folder / f"{name}-own.{kind.lower()}" for kind in TYPES}
        self.trust = {kind: folder / f"{name}-trust.{kind.lower()}" for kind in TYPES}
        self.certificate = folder / f"{name}.crt"
        key = ["-keypass", KEY_PASSWORD]
        for kind in ("JKS", "PKCS12"):
            secret = key if kind == "JKS" else []  # PKCS12 has one password for both
            if kind == "JKS":
                keytool("-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048", "-validity", "2",
                        "-dname", f"CN={name}", "-ext", "san=ip:127.0.0.1", "-keystore", str(self.own[kind]),
                        "-storetype", kind, "-storepass", PASSWORD, *secret)  # fmt: skip
            else:
                keytool("-importkeystore", "-srckeystore", str(self.own["JKS"]), "-srcstorepass", PASSWORD,
                        "-srckeypass", KEY_PASSWORD, "-srcalias", name, "-destkeystore", str(self.own[kind]),
                        "-deststoretype", kind, "-deststorepass", PASSWORD, "-destkeypass", PASSWORD)  # fmt: skip
        keytool("-exportcert", "-rfc", "-alias", name, "-keystore", str(self.own["JKS"]), "-storepass", PASSWORD,
                "-file", str(self.certificate))  # fmt: skip
        self._pem()

    def _pem(self) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12

        store = pkcs12.load_pkcs12(self.own["PKCS12"].read_bytes(), PASSWORD.encode())
        assert store.key is not None
        self.key = store.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(KEY_PASSWORD.encode()),
        ).decode()  # fmt: skip
        self.own["PEM"].write_text(self.key + self.certificate.read_text())

    def trusts(self, other: Stores) -> None:
        for kind in ("JKS", "PKCS12"):
            keytool("-importcert", "-noprompt", "-alias", other.name, "-file", str(other.certificate), "-keystore",
                    str(self.trust[kind]), "-storetype", kind, "-storepass", PASSWORD)  # fmt: skip
        self.trust["PEM"].write_text(other.certificate.read_text())

    def properties(self, kind: str, own: bool = True) -> dict[str, str]:
        """Of a client.properties, or of a broker's listener."""
        rows = {"ssl.truststore.location": str(self.trust[kind]), "ssl.truststore.type": kind}
        if kind != "PEM":
            rows["ssl.truststore.password"] = PASSWORD
        if own:
            rows.update({"ssl.keystore.location": str(self.own[kind]), "ssl.keystore.type": kind})
            rows["ssl.key.password"] = PASSWORD if kind == "PKCS12" else KEY_PASSWORD
            if kind != "PEM":
                rows["ssl.keystore.password"] = PASSWORD
        return rows
