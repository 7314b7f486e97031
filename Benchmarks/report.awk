# Reads results.tsv of script/bench (name, rps, p50, p99, CPU, memory per line) and prints medians, ratios and goals.

{
  count = ++rounds[$1]
  for (column = 2; column <= 6; column++) values[$1, column, count] = $column + 0
}

function median(name, column,    count, i, j, sorted, swap) {
  count = rounds[name]
  for (i = 1; i <= count; i++) sorted[i] = values[name, column, i]
  for (i = 2; i <= count; i++)
    for (j = i; j > 1 && sorted[j] < sorted[j - 1]; j--) {
      swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
    }
  return count % 2 ? sorted[(count + 1) / 2] : (sorted[count / 2] + sorted[count / 2 + 1]) / 2
}

function figures(label, name) {
  if (!(name in rounds)) return
  printf "%-44s %8.0f %8.0f %8.0f %8.1f %9.0f\n", label, median(name, 2), median(name, 3), median(name, 4),
    median(name, 5), median(name, 6)
}

# The ratio of two programs in one column, and whether it is within the goal.
function ratio(label, name, base, column, goal,    value) {
  if (!(name in rounds) || !(base in rounds)) return
  value = median(name, column) / median(base, column)
  printf "%-44s %8.2f   at most %-6s %s\n", label, value, goal, value <= goal + 0 ? "met" : "MISSED"
}

function most(label, name, column, goal,    value) {
  if (!(name in rounds)) return
  value = median(name, column)
  printf "%-44s %8.1f   at most %-6s %s\n", label, value, goal, value <= goal + 0 ? "met" : "MISSED"
}

END {
  printf "\n%-44s      rps   p50 µs   p99 µs   CPU µs   peak kB\n", "medians of " rounds["c"] " rounds"
  figures("C on libcurl", "c")
  figures("weir, closures on the loop", "weir-inline")
  figures("weir, closures on the default queue", "weir-closure")
  figures("weir, async", "weir-async")
  figures("weir, async on session.executor", "weir-executor")
  figures("weir, closures on the loop, no metrics", "weir-unmetered")
  figures("C, 1,000 idle transfers beside it", "c-idle")
  figures("weir, 1,000 idle transfers beside it", "weir-idle")
  figures("nginx as proxy", "nginx-gateway")
  figures("weir as gateway", "weir-gateway")

  printf "\n%-44s    value   goal\n", "ratios"
  ratio("closures on the loop, CPU, to C", "weir-inline", "c", 5, 1.35)
  ratio("closures on the default queue, CPU, to C", "weir-closure", "c", 5, 1.7)
  ratio("async, CPU, to C", "weir-async", "c", 5, 1.7)
  ratio("async on session.executor, CPU, to C", "weir-executor", "c", 5, 1.45)
  ratio("closures on the loop, p99, to C", "weir-inline", "c", 4, 1.5)
  ratio("closures on the default queue, p99, to C", "weir-closure", "c", 4, 1.5)
  ratio("async, p99, to C", "weir-async", "c", 4, 1.5)
  ratio("async on session.executor, p99, to C", "weir-executor", "c", 4, 1.5)
  ratio("with 1,000 idle, CPU, to C with as many", "weir-idle", "c-idle", 5, 1.35)
  ratio("peak memory, 1,000,000 requests to 100,000", "weir-1m", "weir-100k", 6, 1.1)
  ratio("gateway, CPU, to nginx", "weir-gateway", "nginx-gateway", 5, 2.7)
  most("gateway, CPU, µs", "weir-gateway", 5, 40)
}
