"""The baseboard management controller: sensors, power supplies and the system event log.

Reads ipmitool's output, in band or over the LAN.
Imported by the checks of hardware.
"""
