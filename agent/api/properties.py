"""Java's properties files: server.properties, zoo.cfg, client.properties."""

from agent.sources.kafka import java_properties as java_properties
