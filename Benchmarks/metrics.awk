# Reads metrics.tsv of script/bench (program, case, value per line) after median.awk, and prints medians, ratios and goals.

# A case that the C++ program does not have: to Go, and to another case of weir.
function native(label, name, most, other, times,    weir, go) {
  weir = median("weir", name, 3)
  go = median("go", name, 3)
  printf "%-44s %9s %9.2f %9s %9s %9s", label, "", weir, go ? sprintf("%.2f", go) : "", "", go ? sprintf("%.1f", go / weir) : ""
  if (most) printf "   weir/Go at most %-5s %s", most, weir / go <= most ? "met" : "MISSED"
  if (other) printf "   %.2f of the text, at most %s %s", weir / median("weir", other, 3), times,
    weir / median("weir", other, 3) <= times ? "met" : "MISSED"
  printf "\n"
}

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
  native("observe, held, classic and native, ns", "observe-native", 1.3)
  figures("increment by two threads, ns", "contention", 1.1)
  figures("page of 1,000 x (histogram, 2 counters), ms", "scrape", 3)
  native("the same in protobuf, ms", "scrape-protobuf", 0, "scrape", 1.2)
  native("with native histograms too, ms", "scrape-native")
  figures("the same in gzip, to zlib level 1, ms", "gzip", 1.4)
  figures("page of 100,000 counters, ms", "large", 0)
  figures("make one of 100,000 series, ns", "register", 0)
  printf "%-44s %19.0f\n", "bytes of the page as text", median("weir", "scrape-bytes", 3)
  printf "%-44s %19.0f\n", "in protobuf", median("weir", "scrape-protobuf-bytes", 3)
  printf "%-44s %19.0f\n", "with native histograms too", median("weir", "scrape-native-bytes", 3)
  printf "%-44s %19.0f\n", "memory of a label set with a native one, B", median("weir", "bytes-per-native", 3)
  printf "%-44s %19.0f %50s\n", "memory of a series with 10 bytes of label, B", median("weir", "bytes-per-series", 3),
    (median("weir", "bytes-per-series", 3) <= 260) ? "at most 260   met" : "at most 260   MISSED"
}
