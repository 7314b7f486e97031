# Reads gateway.tsv of script/bench (proxy, load, rps, p50, p99, longest, CPU, memory, requests over 2 s, failed requests per line; or, for an idle proxy, two sizes of memory) after
# median.awk, and prints medians, ratios and goals. For the longest request the worst of all rounds counts, because
# it is there to show rare stalls.

BEGIN { rps = 3; p50 = 4; p99 = 5; longest = 6; cpu = 7; memory = 8; slow = 9; failed = 10 }

function worst(proxy, load, column,    i, value) {
  for (i = 1; i <= rounds[proxy, load]; i++)
    if (values[proxy, load, column, i] > value) value = values[proxy, load, column, i]
  return value
}

function sum(proxy, load, column,    i, value) {
  for (i = 1; i <= rounds[proxy, load]; i++) value += values[proxy, load, column, i]
  return value
}

function row(label, proxy, load,    old) {
  if (!measured(proxy, load)) return
  printf "%-42s %8.0f %8.0f %8.0f %8.0f %6d %8.1f %9.0f %9s %9s", label, median(proxy, load, rps),
    median(proxy, load, p50), median(proxy, load, p99), worst(proxy, load, longest), sum(proxy, load, slow),
    median(proxy, load, cpu), median(proxy, load, memory), quotient(proxy, "nginx", load, cpu),
    quotient(proxy, "nginx", load, p99)
  old = proxy == "weir" && measured("old", load)
  if (old) printf " %9s %9s", quotient("weir", "old", load, cpu), quotient("weir", "old", load, p99)
  printf "\n"
}

function extra(label, proxy, most) { goal(label ", CPU, wrk -c64", proxy, "weir", "extras-64", cpu, most) }

function table(label, load) {
  if (!measured("nginx", load)) return
  printf "\n%-42s %8s %8s %8s %8s %6s %8s %9s %9s %9s", label ", " rounds["nginx", load] " rounds", "rps", "p50 us",
    "p99 us", "worst us", "> 2 s", "CPU us", "peak kB", "CPU/nginx", "p99/nginx"
  printf measured("old", load) ? " %9s %9s\n" : "\n", "CPU/old", "p99/old"
  row("nginx as proxy", "nginx", load)
  row("haproxy", "haproxy", load)
  row("Caddy", "caddy", load)
  row("Envoy", "envoy", load)
  row("weir as gateway", "weir", load)
  row("weir as gateway, ten endpoints", "endpoints", load)
  row("old: weir as gateway", "old", load)
}

# Memory of proxies that do nothing: after one request, and with 1,000 connections of clients.
function idle(label, proxy) {
  printf "%-42s %8.0f %8.0f %8.1f\n", label, median(proxy, "idle", 3), median(proxy, "idle", 4),
    (median(proxy, "idle", 4) - median(proxy, "idle", 3)) / 1000
}

function dying(label, proxy) {
  printf "%-42s %8.0f %8.0f %8.0f %8d %8d\n", label, median(proxy, "dying-64", rps), median(proxy, "dying-64", p99),
    worst(proxy, "dying-64", longest), sum(proxy, "dying-64", slow), sum(proxy, "dying-64", failed)
}

# Nanoseconds of weir's own code.
function pace(label, what, kind, most,    value) {
  value = median(what, kind, 3)
  printf "%-52s %8d   at most %-6s %s\n", label, value, most, value <= most ? "met" : "MISSED"
}

# What handshakes beside them do to requests of open connections.
function beside(proxy, most,    value) {
  value = median(proxy, "beside-64", p99) / median(proxy, "tls-64", p99)
  printf "%-52s %8.2f", "p99 beside 1,000 handshakes/s, " proxy, value
  printf most ? "   at most %-6s %s\n" : "\n", most, value <= most ? "met" : "MISSED"
}

END {
  table("C program, 64 in flight", "c-64")
  table("wrk -c64, seven fields", "wrk-64")
  table("wrk -c512, seven fields", "wrk-512")
  table("TLS, wrk -c64", "tls-64")
  table("TLS, a connection each, wrk -c16", "anew-16")
  table("TLS, wrk -c64, beside 1,000 handshakes/s", "beside-64")
  table("gzip of 20 KiB, wrk -c16", "gzip20k-16")
  table("gzip of 1 MiB, wrk -c16", "gzip1m-16")

  if (measured("weir", "idle")) {
    printf "\n%-42s %8s %8s %8s\n", "idle, resident", "kB", "kB 1,000", "kB each"
    idle("nginx as proxy", "nginx"); idle("haproxy", "haproxy"); idle("Caddy", "caddy"); idle("Envoy", "envoy")
    idle("weir as gateway", "weir")
  }
  if (measured("weir", "dying-64")) {
    printf "\n%-42s %8s %8s %8s %8s %8s\n", "one of two endpoints dies, wrk -c64", "rps", "p99 us", "worst us", "> 2 s", "failed"
    dying("nginx as proxy", "nginx"); dying("haproxy", "haproxy"); dying("Caddy", "caddy"); dying("Envoy", "envoy")
    dying("weir as gateway", "weir")
  }

  printf "\n%-52s    value   goal\n", "to nginx"
  goal("gateway, CPU, wrk -c64 (must 1.08)", "weir", "nginx", "wrk-64", cpu, 1.0)
  goal("gateway, CPU, wrk -c512 (must 1.08)", "weir", "nginx", "wrk-512", cpu, 1.0)
  goal("gateway, p99, wrk -c64 (must 1.5)", "weir", "nginx", "wrk-64", p99, 1.2)
  goal("TLS, CPU, wrk -c64 (must 1.25)", "weir", "nginx", "tls-64", cpu, 1.1)
  goal("TLS, a connection each (ECDSA), CPU", "weir", "nginx", "anew-16", cpu, 1.3)
  goal("gzip of 20 KiB, CPU", "weir", "nginx", "gzip20k-16", cpu, 1.3)
  goal("gzip of 1 MiB, CPU", "weir", "nginx", "gzip1m-16", cpu, 1.3)
  if (measured("weir", "beside-64")) {
    printf "\n%-52s    value   goal\n", "to itself"
    beside("nginx")
    beside("weir", 3)
  }
  if (measured("old", "wrk-64")) {
    printf "\n%-52s    value   goal\n", "to the older weir"
    goal("gateway, CPU, wrk -c64", "weir", "old", "wrk-64", cpu, 1.02)
    goal("gateway, CPU, wrk -c512", "weir", "old", "wrk-512", cpu, 1.02)
  }
  printf "\n%-52s    value   goal\n", "ten endpoints to one"
  goal("gateway, CPU, wrk -c64", "endpoints", "weir", "wrk-64", cpu, 1.05)
  goal("gateway, CPU, wrk -c512", "endpoints", "weir", "wrk-512", cpu, 1.05)
  if (measured("pick", "roundRobin")) {
    printf "\n%-52s    value   goal\n", "nanoseconds"
    pace("a pick among ten endpoints, leastRequests", "pick", "leastRequests", 150)
    pace("a pick among ten endpoints, roundRobin", "pick", "roundRobin", 150)
    pace("a pick among ten endpoints, consistentHash", "pick", "consistentHash", 150)
    pace("a decision among 1,000 routes, by host", "decision", "host", 1000)
    pace("a decision among 1,000 routes, by prefix", "decision", "prefix", 1000)
    pace("a decision among 1,000 routes, by pattern", "decision", "pattern", 1000)
    pace("a decision among 1,000 routes, by a field too", "decision", "field", 1000)
  }
  if (measured("weir", "extras-64")) {
    printf "\n%-52s    value   goal\n", "switched on, to itself"
    extra("access log", "log", 1.08)
    extra("trace context", "trace", 1.08)
    extra("both, and a reader of the status page", "seen", 1.2)
    extra("a rate limit and a list of networks", "limited", 1.03)
  }
}
