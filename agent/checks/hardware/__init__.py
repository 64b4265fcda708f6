"""Checks of the chassis, its cooling and power supplies, and the memory modules: what the BMC and EDAC report."""
