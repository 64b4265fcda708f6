"""Which machines exist and what they should be. Imports no other package of the project."""

from inventory.loader import load
from inventory.model import Cluster, Host, Inventory, NoSuchHost
from inventory.problems import InventoryError

__all__ = ["Cluster", "Host", "Inventory", "InventoryError", "NoSuchHost", "load"]
