# Reads transfers.tsv of script/bench (program, requests in flight, rps, p50, p99, CPU, memory per line) after median.awk,
# and prints medians, ratios and goals. `handles` names the C program that works as weir has to with this libcurl.

BEGIN {
  rps = 3; p50 = 4; p99 = 5; cpu = 6; memory = 7
  c = "c-" handles
  other = handles == "fresh" ? "c-reset" : "c-fresh"
}

function row(label, program, flight, base, second,    old) {
  if (!measured(program, flight)) return
  printf "%-42s %8.0f %8.0f %8.0f %8.1f %9.0f %7s %7s %7s", label, median(program, flight, rps),
    median(program, flight, p50), median(program, flight, p99), median(program, flight, cpu),
    median(program, flight, memory), quotient(program, base, flight, cpu), quotient(program, base, flight, p99),
    quotient(program, second, flight, cpu)
  old = program
  if (sub(/^weir-/, "old-", old) && measured(old, flight))
    printf " %9s %9s", quotient(program, old, flight, cpu), quotient(program, old, flight, p99)
  printf "\n"
}

function table(flight) {
  if (!measured(c, flight)) return
  printf "\n%-42s %8s %8s %8s %8s %9s %7s %7s %7s", flight " in flight, " rounds[c, flight] " rounds", "rps", "p50 us",
    "p99 us", "CPU us", "peak kB", "CPU/C", "p99/C", "CPU/C2"
  printf measured("old-inline", flight) ? " %9s %9s\n" : "\n", "CPU/old", "p99/old"
  row("C on plain sockets, the floor", "sockets", flight, c, other)
  row("C, " handles " handles, as libcurl needs them", c, flight, c, other)
  row("C2, the other way", other, flight, c, other)
  row("closures on the loop", "weir-inline", flight, c, other)
  row("closures on the default queue", "weir-closure", flight, c, other)
  row("async", "weir-async", flight, c, other)
  row("async on session.executor", "weir-executor", flight, c, other)
  row("old: closures on the loop", "old-inline", flight, c, other)
  row("old: closures on the default queue", "old-closure", flight, c, other)
  row("old: async", "old-async", flight, c, other)
  row("old: async on session.executor", "old-executor", flight, c, other)
  row("on the loop, no metrics", "weir-unmetered", flight, c, other)
  row("on the loop, Swift linked dynamically", "weir-dynamic", flight, c, other)
  row("default queue, no interceptor", "weir-intercepted-none", flight, c, other)
  row("default queue, closure adapter", "weir-intercepted-closure", flight, c, other)
  row("default queue, async adapter", "weir-intercepted-async", flight, c, other)
  row("default queue, HeaderAdapter", "weir-intercepted-headers", flight, c, other)
  row("default queue, AuthenticationInterceptor", "weir-intercepted-authentication", flight, c, other)
  row("C beside 1,000 idle", c "-idle", flight, c "-idle", other "-idle")
  row("C2 beside 1,000 idle", other "-idle", flight, c "-idle", other "-idle")
  row("on the loop, beside 1,000 idle", "weir-idle", flight, c "-idle", other "-idle")
  row("https, C", c "-https", flight, c "-https", other "-https")
  row("https, C2", other "-https", flight, c "-https", other "-https")
  row("https, on the loop", "weir-https", flight, c "-https", other "-https")
}

END {
  table(1)
  table(8)
  table(64)
  table(512)

  printf "\n%-52s    value   goal\n", "to C with " handles " handles"
  goal("closures on the loop, CPU, 64 in flight (must 0.65)", "weir-inline", c, 64, cpu, 0.5)
  goal("closures on the loop, CPU, 8 in flight (must 0.7)", "weir-inline", c, 8, cpu, 0.55)
  goal("closures on the loop, CPU, 512 in flight (must 0.55)", "weir-inline", c, 512, cpu, 0.45)
  goal("async on session.executor, CPU, 64 (must 0.75)", "weir-executor", c, 64, cpu, 0.6)
  goal("async, CPU, 64 in flight (must 0.9)", "weir-async", c, 64, cpu, 0.75)
  goal("https, on the loop, CPU, 64 in flight (must 0.7)", "weir-https", c "-https", 64, cpu, 0.6)
  goal("closures on the default queue, CPU, 64 in flight", "weir-closure", c, 64, cpu, 1.7)
  goal("async, CPU, 1 in flight (must 1.2)", "weir-async", c, 1, cpu, 1.0)
  goal("closures on the loop, p99, 64 in flight", "weir-inline", c, 64, p99, 1.5)
  goal("closures on the default queue, p99, 64 in flight", "weir-closure", c, 64, p99, 1.5)
  goal("async, p99, 64 in flight", "weir-async", c, 64, p99, 1.5)
  goal("async on session.executor, p99, 64 in flight", "weir-executor", c, 64, p99, 1.5)
  goal("with 1,000 idle, CPU, to C with as many", "weir-idle", c "-idle", 64, cpu, 1.35)
  goal("async adapter, CPU, to the closure form", "weir-intercepted-async", "weir-intercepted-closure", 64, cpu, 1.3)
  goal("HeaderAdapter, CPU, to none (must 1.1)", "weir-intercepted-headers", "weir-intercepted-none", 64, cpu, 1.05)
  goal("AuthenticationInterceptor, CPU, to none (must 1.1)", "weir-intercepted-authentication", "weir-intercepted-none", 64, cpu, 1.05)
  goal("peak memory, ten times the requests", "weir-long", "weir-short", 64, memory, 1.1)
}
