"""One run over many hosts: collected, counted, judged, stored; and the store's history.

Reads the inventory and the results store.
Imported by the commands, the plugin and the gate.
"""
