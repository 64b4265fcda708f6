"""Services of a machine: systemd's units, antivirus products, the ports that must be open, kernel settings."""

from agent.checks.network.firewall import needed_ports as needed_ports
from agent.checks.system import swappiness as swappiness
from agent.checks.system import transparent_hugepages as transparent_hugepages
from agent.sources.system import antivirus_products as antivirus_products
from agent.sources.system import systemd as systemd
