"""The virtual rack: QEMU hosts with real disks, BMCs and kernels, and one table of faults; see docs/rack.md."""
