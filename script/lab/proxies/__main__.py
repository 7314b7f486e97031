"""Proves that a gateway reaches its upstreams through proxies, and names the proxies that fail."""

from lab.proxies import environment, faults, names, sharing, table
from lab.proxies.ways import Here
from lab.table import Rows, conduct

ROWS: Rows[Here] = {
    "table": (
        "requests and checks through each proxy in each state: as curl; proxies fail by their names",
        table.table,
    ),
    "faults": ("proxies that do what none should: the right failure, no endpoint is blamed", faults.faults),
    "environment": ("the proxies that the environment names are those that curl takes", environment.environment),
    "names": ("proxies that look names up get names, others addresses", names.names),
    "shared": ("one idle connection to a proxy serves all http origins", sharing.shared),
    "cost": (f"http through a proxy: at most {sharing.MOST} of the processor time", sharing.cost),
}


if __name__ == "__main__":
    conduct("proxies", __doc__, "a third of a minute, as a test", ROWS, Here.made)
