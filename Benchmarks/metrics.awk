# Reads metrics.tsv of script/bench (program, case, value per line) after median.awk, and prints medians, ratios and goals.

# A case of all three programs; a goal of 0 is none.
function figures(label, name, most,    bound, weir, go) {
  bound = median("c", name, 3)
  weir = median("weir", name, 3)
  go = median("go", name, 3)
  printf "%-44s %9.2f %9.2f %9.2f %9.2f %9.1f", label, bound, weir, go, weir / bound, go / weir
  if (most) printf "   at most %-5s %s", most, weir / bound <= most ? "met" : "MISSED"
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
  printf "%-44s %19.0f %50s\n", "memory of a series with 10 bytes of label, B", median("weir", "bytes-per-series", 3),
    (median("weir", "bytes-per-series", 3) <= 260) ? "at most 260   met" : "at most 260   MISSED"
}
