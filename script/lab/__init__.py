"""The laboratory: real processes on the loopback, faults and load, and a verdict.

A folder or module for each command (storm, overload, chaos, endure, fleet, scale) has its rows. They are made of what lies here:

- command: the options that all commands have, and their exit status; processes: programs that are started and ended
- origin, and models of when it answers: the one HTTP origin; servers: nginx and dnsmasq
- gateway: the weir that is measured, and what the system tells of it
- client: one connection, many of them, and a GET; load: callers in a row or at a rate, and wrk; clients: many that stay
- page: the metrics of weir; prometheus: what watches it, and Alertmanager, with the shipped files (rules) in shorter time
- calls: what became of requests, and figures of it; picture: what drawings share; doctests: runs the examples
"""
