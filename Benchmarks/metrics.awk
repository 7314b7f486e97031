# Reads metrics.tsv of script/bench (program, case, value per line) and prints medians, ratios and goals.

BEGIN { FS = "\t" }

{
  count = ++rounds[$1, $2]
  values[$1, $2, count] = $3 + 0
}

function median(program, name,    count, i, j, sorted, swap) {
  count = rounds[program, name]
  for (i = 1; i <= count; i++) sorted[i] = values[program, name, i]
  for (i = 2; i <= count; i++)
    for (j = i; j > 1 && sorted[j] < sorted[j - 1]; j--) {
      swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
    }
  return count % 2 ? sorted[(count + 1) / 2] : (sorted[count / 2] + sorted[count / 2 + 1]) / 2
}

# A case of all three programs; a goal of 0 is none.
function figures(label, name, goal,    bound, weir, go) {
  bound = median("c", name)
  weir = median("weir", name)
  go = median("go", name)
  printf "%-44s %9.2f %9.2f %9.2f %9.2f %9.1f", label, bound, weir, go, weir / bound, go / weir
  if (goal) printf "   at most %-5s %s", goal, weir / bound <= goal ? "met" : "MISSED"
  printf "\n"
}

END {
  printf "\n%-44s %9s %9s %9s %9s %9s\n", "medians of " rounds["c", "increment"] " rounds", "C++", "weir", "Go", "weir/C++", "Go/weir"
  figures("increment, held, ns", "increment", 1.15)
  figures("look up by three labels and increment, ns", "lookup", 2.5)
  figures("observe, held, 12 buckets, ns", "observe", 1.1)
  figures("increment by two threads, ns", "contention", 1.1)
  figures("page of 1,000 x (histogram, 2 counters), ms", "scrape", 3)
  figures("the same in gzip, to zlib level 1, ms", "gzip", 1.4)
  figures("page of 100,000 counters, ms", "large", 0)
  figures("make one of 100,000 series, ns", "register", 0)
  printf "%-44s %19.0f %50s\n", "memory of a series with 10 bytes of label, B", median("weir", "bytes-per-series"),
    (median("weir", "bytes-per-series") <= 260) ? "at most 260   met" : "at most 260   MISSED"
}
