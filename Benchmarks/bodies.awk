# Reads bodies.tsv of script/bench (program, case, rps, CPU, memory per line) after median.awk, and prints medians, the
# medians of the rounds' ratios, and goals.

BEGIN { rps = 3; cpu = 4; memory = 5 }

function row(label, program, name) {
  if (!measured(program, name)) return
  printf "%-46s %9.2f %12.1f %9.0f %8s %8s\n", label, median(program, name, rps), median(program, name, cpu),
    median(program, name, memory), pairwise(program, "c", name, cpu), pairwise(program, "c", name, rps)
}

function rows(label, name, base) {
  row(label ", " base, "c", name)
  row(label ", weir", "weir", name)
}

function limit(label, name, column, bound, isLeast,    value) {
  if (!measured("weir", name)) return
  value = pairwise("weir", "c", name, column)
  printf "%-46s %8s   %-8s %-6s %s\n", label, value, isLeast ? "at least" : "at most", bound,
    (isLeast ? value + 0 >= bound : value + 0 <= bound) ? "met" : "MISSED"
}

END {
  printf "\n%-46s %9s %12s %9s %8s %8s\n", "medians of " rounds["c", "1m"] " rounds", "per s", "CPU us", "peak kB", "CPU/C", "rate/C"
  rows("1 MiB, 8 in flight", "1m", "C")
  rows("gzip of 16 KiB, 8 in flight", "gzip", "C with zlib")
  rows("gzip of 84 KiB, 16 on the wire", "gzip-long", "C with zlib")
  rows("download of " size, "download", "curl")
  rows("upload of " size, "upload", "curl")
  rows("download of a sixteenth", "download-small", "curl")
  rows("upload of a sixteenth", "upload-small", "curl")
  rows(forms " forms of 100 parts of 100 KiB", "multipart", "memcpy")

  printf "\n%-46s    value   goal\n", "median of the rounds' ratios"
  limit("1 MiB, CPU (must 0.7)", "1m", cpu, 0.5)
  limit("gzip of 16 KiB, CPU", "gzip", cpu, 1.25)
  limit("gzip of 84 KiB, 16 on the wire, CPU", "gzip-long", cpu, 1.25)
  limit("download, CPU (must 1.4)", "download", cpu, 1.1)
  limit("download, rate (must 0.75)", "download", rps, 1, 1)
  limit("upload, CPU", "upload", cpu, 1.15)
  limit("upload, rate", "upload", rps, 0.9, 1)
  limit("upload of a sixteenth, CPU (must 1.15)", "upload-small", cpu, 1)
  limit("forms, CPU", "multipart", cpu, 2)
  growth("download")
  growth("upload")
}

# Peak memory with sixteen times the bytes.
function growth(name,    value) {
  value = median("weir", name, memory) / median("weir", name "-small", memory)
  printf "%-46s %8.2f   %-8s %-6s %s\n", "peak memory, " name " of sixteen times the bytes", value, "at most", 1.1,
    value <= 1.1 ? "met" : "MISSED"
}
