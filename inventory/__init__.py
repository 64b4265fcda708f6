"""Which machines exist and what they should be. Imports nothing of ours; yaml and jsonschema only to read a file."""

from inventory.loader import load
from inventory.model import Cluster, Host, Inventory, NoSuchHost
from inventory.problems import InventoryError

__all__ = ["Cluster", "Host", "Inventory", "InventoryError", "NoSuchHost", "load"]
