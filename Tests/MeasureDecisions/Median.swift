import WeirIO

/// The nanoseconds that each of `count` steps takes: the median of nine passes behind one that warms up.
func median(of count: Int, _ step: (Int) -> Void) -> Int {
  let passes = (0...9).map { _ in
    let start = MonotonicTime.now
    for index in 0..<count { step(index) }
    return MonotonicTime.now.seconds(since: start) * 1e9 / Double(count)
  }
  return Int(passes.dropFirst().sorted()[4].rounded())
}
