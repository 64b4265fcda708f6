"""The operating system around the servers: systemd units, sysctl, time daemons, antivirus products, fanotify.

Reads systemctl, /etc/sysctl.d, chronyc, ntpq, timedatectl and /proc.
Imported by the checks of system and services.
"""
