"""Have a card report PCI Express errors, through the kernel's aer_inject: INTERFACE corrected|uncorrected COUNT."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import time

# bits of the error status registers (PCI Express Base Specification, 7.8.4): Receiver Error, Completion Timeout
CORRECTED, UNCORRECTED = 0x1, 0x4000


def main() -> None:
    interface, kind, count = sys.argv[1:]
    card = pathlib.Path(os.path.realpath(f"/sys/class/net/{interface}/device")).name
    domain, bus, device, function = (int(part, 16) for part in re.split("[:.]", card))
    status = (0, CORRECTED) if kind == "corrected" else (UNCORRECTED, 0)
    subprocess.run(["modprobe", "aer_inject"], check=True)
    # struct aer_error_inj of drivers/pci/pcie/aer_inject.c
    error = struct.pack("=BBBxIIIIIII", bus, device, function, *status, 0, 0, 0, 0, domain)
    deadline = time.monotonic() + 30
    while not os.path.exists("/dev/aer_inject") and time.monotonic() < deadline:
        time.sleep(0.1)
    for _ in range(int(count)):
        with open("/dev/aer_inject", "wb", buffering=0) as file:
            file.write(error)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
