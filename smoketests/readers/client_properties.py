"""How to log in to a Kafka that wants TLS or a login: from a client.properties, as Kafka's own tools read it.

The environment variable SMOKE_KAFKA_CLIENT names the file; `{cluster}` in it stands for the cluster's name. Secrets
stay in that file: they are in no inventory, on no command line and in no reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from agent.sources import java_properties
from smoketests.readers import CannotRead

VARIABLE = "SMOKE_KAFKA_CLIENT"
# Kafka's name -> kafka-python's
NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.password": "ssl_password",
}
# org.apache.kafka.common.security.plain.PlainLoginModule required username="smoke" password="…";
JAAS = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def of(cluster: str, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Settings for kafka-python; none where no file is named. CannotRead if the file cannot be used."""
    path = environment.get(VARIABLE, "").replace("{cluster}", cluster)
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(1 << 16), path)
    except (OSError, UnicodeError) as error:
        raise CannotRead(f"{VARIABLE}: {path}: {getattr(error, 'strerror', '') or error}") from None


def parse(text: str, path: str) -> dict[str, Any]:
    """The settings of a client.properties; CannotRead for what Python cannot use, such as a Java key store."""
    said = java_properties.parse(text)
    for store in ("ssl.truststore", "ssl.keystore"):
        if f"{store}.location" in said and said.get(f"{store}.type", "JKS").upper() != "PEM":
            raise CannotRead(f"{path}: {store}.location must be a PEM file, with {store}.type=PEM")
    settings: dict[str, Any] = {ours: said[theirs] for theirs, ours in NAMES.items() if theirs in said}
    login = {name: re.sub(r"\\(.)", r"\1", value) for name, value in JAAS.findall(said.get("sasl.jaas.config", ""))}
    settings.update({f"sasl_plain_{name}": value for name, value in login.items()})
    if said.get("ssl.endpoint.identification.algorithm") == "":
        settings["ssl_check_hostname"] = False
    return settings
