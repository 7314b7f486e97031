import Testing

@testable import WeirMetrics

@Suite struct NumberTextTests {
  @Test func writesEveryLengthOfInteger() {
    for value in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1_000, 9_999, 10_000, 12_345, 99_999, 100_000, UInt64.max] {
      #expect(text(value) == String(value))
    }
    var value: UInt64 = 1
    for _ in 0..<20 {
      for near in [value &- 1, value, value &+ 1] { #expect(text(near) == String(near)) }
      value = value.multipliedReportingOverflow(by: 10).partialValue
    }
  }

  @Test(
    arguments: [
      (0, "0"), (-0.0, "0"), (1, "1"), (-1, "-1"), (0.1, "0.1"), (-0.25, "-0.25"), (1.5, "1.5"), (100.05, "100.05"),
      (0.000001, "0.000001"), (0.0000015, "1.5e-06"), (123456.789012, "123456.789012"), (1e15, "1000000000000000"),
      (0x1p53, "9007199254740992"), (0x1p53 + 2, "9.007199254740994e+15"),
      (1e14, "100000000000000"),
      (999_999_999_999_999, "999999999999999"), (1e22, "1e+22"), (.pi, "3.141592653589793"),
      (.leastNonzeroMagnitude, "5e-324"),
      (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
    ] as [(Double, String)])
  func writesTheShortest(value: Double, expected: String) {
    #expect(text(value) == expected)
  }

  @Test func readsBackAsTheSameNumber() {
    var state = SplitMix(state: 7)
    for _ in 0..<20_000 {
      let bits = Double(bitPattern: state.next())
      let decimal = Double(Int64(bitPattern: state.next()) >> 20) / [1, 10, 1e3, 1e6, 1e7][Int(state.next() % 5)]
      for value in [bits, decimal] where value.isFinite {
        let text = text(value)
        #expect(Double(text) == value)
        #expect(text.utf8.count <= max(value.description.utf8.count, 24), "\(text)")
        #expect(digits(text).count <= digits(value.description).count, "\(text) for \(value)")
      }
    }
  }

  /// The table of OpenMetrics 1.0, "Canonical Numbers", and some others.
  @Test(
    arguments: [
      (0, "0.0"), (1, "1.0"), (10, "10.0"), (100, "100.0"), (1_000, "1000.0"), (100_000, "100000.0"), (1e6, "1e+06"),
      (1e7, "1e+07"), (1e10, "1e+10"), (0.1, "0.1"), (0.001, "0.001"), (0.0001, "0.0001"), (1e-5, "1e-05"),
      (1e-10, "1e-10"), (0.005, "0.005"), (2.5, "2.5"), (268_435_456, "2.68435456e+08"), (1_234_567.5, "1.2345675e+06"),
      (-1, "-1.0"), (-2e6, "-2e+06"), (1e100, "1e+100"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ] as [(Double, String)])
  func writesBoundsCanonically(value: Double, expected: String) {
    #expect(NumberText.canonical(value) == expected)
  }

  private func text(_ value: UInt64) -> String {
    written { NumberText.write(value, to: $0) }
  }

  private func text(_ value: Double) -> String {
    written { NumberText.write(value, to: $0) }
  }

  private func written(_ write: (UnsafeMutableRawPointer) -> Int) -> String {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
      guard let start = buffer.baseAddress else { return "" }
      return String(decoding: buffer[..<write(start)], as: UTF8.self)
    }
  }

  /// The significant digits.
  private func digits(_ text: String) -> Substring {
    var digits = text.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
    while digits.last == "0" { digits.removeLast() }
    return Substring(digits)
  }
}

/// Random numbers that are the same in every run.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
