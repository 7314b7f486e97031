import Testing

@testable import WeirCompression

/// Deterministic bytes: text-like ones that compress by about 3, and noise that does not.
enum Samples {
  static func text(_ count: Int) -> [UInt8] { Array(text.prefix(count)) }

  static func noise(_ count: Int) -> [UInt8] { Array(noise.prefix(count)) }

  private static let text: [UInt8] = {
    let words = ["weir", "stream", "steered", "measured", "upstream", "attempt", "\n"]
    var generator = SplitMix(state: 7)
    var bytes: [UInt8] = []
    while bytes.count < 500_000 {
      bytes.append(contentsOf: words[Int(generator.next() % UInt64(words.count))].utf8)
      bytes.append(UInt8(truncatingIfNeeded: generator.next() % 64 + 32))
    }
    return bytes
  }()

  private static let noise: [UInt8] = {
    var generator = SplitMix(state: 1)
    return (0..<500_000).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 32) }
  }()
}

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

/// What a decoder did with some input: the bytes it delivered, and how it ended.
struct Outcome: Equatable, CustomTestStringConvertible {
  var bytes: [UInt8] = []
  var error: CompressionError?
  var longestSlice = 0

  var testDescription: String { "\(bytes.count) bytes, \(error.map(String.init(describing:)) ?? "whole")" }

  static func == (left: Outcome, right: Outcome) -> Bool { left.bytes == right.bytes && left.error == right.error }
}

extension Inflater {
  /// Feeds `input` in pieces of `piece` bytes, each turn bounded by `budget`.
  func run(_ input: [UInt8], piece: Int = .max, budget: Int = .max) -> Outcome {
    drive(
      input, piece: piece,
      feed: { part, sink throws(CompressionError) in try feed(part, budget: budget, into: sink) },
      step: { sink throws(CompressionError) in try step(budget: budget, into: sink) },
      finish: { () throws(CompressionError) in try finish() })
  }
}

extension ContentDecoder {
  func run(_ input: [UInt8], piece: Int = .max, budget: Int = .max) -> Outcome {
    drive(
      input, piece: piece,
      feed: { part, sink throws(CompressionError) in try feed(part, budget: budget, into: sink) },
      step: { sink throws(CompressionError) in try step(budget: budget, into: sink) },
      finish: { () throws(CompressionError) in try finish() })
  }
}

private typealias Sink = (UnsafeRawBufferPointer) -> Void

private func drive(
  _ input: [UInt8], piece: Int,
  feed: (UnsafeRawBufferPointer, Sink) throws(CompressionError) -> Bool,
  step: (Sink) throws(CompressionError) -> Bool,
  finish: () throws(CompressionError) -> Void
) -> Outcome {
  var outcome = Outcome()
  input.withUnsafeBytes { bytes in
    do throws(CompressionError) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = rest.prefix(piece)
        rest = rest.dropFirst(part.count)
        var more = try feed(UnsafeRawBufferPointer(rebasing: part), { outcome.take($0) })
        while more { more = try step { outcome.take($0) } }
      }
      try finish()
    } catch {
      outcome.error = error
    }
  }
  return outcome
}

extension Outcome {
  fileprivate mutating func take(_ slice: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: slice)
    longestSlice = max(longestSlice, slice.count)
  }
}
