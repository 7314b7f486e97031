-- After wrk's own report, the line that script/bench reads. A run with failed requests measures nothing, and ends with an
-- error, unless WEIR_BENCH_FAILURES is set. A request over 2 s, which wrk calls a timeout, is only counted.
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status
  if failed > 0 and not os.getenv("WEIR_BENCH_FAILURES") then
    io.stderr:write(string.format("wrk: %d of %d requests failed\n", failed, summary.requests))
    os.exit(1)
  end
  print(string.format("rps=%.0f p50_us=%d p99_us=%d max_us=%d slow=%d failed=%d requests=%d",
    summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99), latency.max,
    errors.timeout, failed, summary.requests))
end
