"""The laboratory: real processes on the loopback, faults and load, and a verdict.

Each command has a folder or a module here: storm, overload, chaos, credentials, pace, proxies, egress, endure, fleet, scale. A new row is a
function in a module of endure with the decorator `row`, an entry in overload/rows.py, or one in `ROWS` of credentials, pace, proxies or egress.
Rows are made of:

- command: options, a place for files and processes, and the exit status; table: the same for rows that share their surroundings;
  processes: programs that are started and ended, some of which report
- gateway: the weir that is measured, its page of metrics, and what the system tells of it
- origin: the HTTP origin, which fails, hangs and is slow as models say; servers: nginx and dnsmasq; tls: certificates
- client: one connection, several of them, and a GET; clients: many that stay
- load: callers at their times or in a row, and wrk; the ends of their requests, and figures
- prometheus: Prometheus, Alertmanager and VictoriaMetrics, with the shipped files in shorter time
- picture: the common part of drawings; doctests: runs the examples of all modules
"""
