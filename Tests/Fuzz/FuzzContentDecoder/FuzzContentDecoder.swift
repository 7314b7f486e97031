import FuzzSupport
import WeirCompression

// The first byte chooses codings and cuts; the rest is the body. What must hold for any input: no trap, no byte past
// the limits, slices and turns within their bounds, and the same bytes and error however the input is cut.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let body = Array(input.dropFirst())
  let codings: [ContentCoding] =
    switch choice & 3 {
    case 0: [.gzip]
    case 1: [.deflate]
    case 2: [.gzip, .deflate]
    default: [.deflate, .gzip]
    }
  let whole = decode(body, codings, piece: .max, budget: .max)
  let cut = decode(body, codings, piece: Int(choice >> 2) + 1, budget: Int(choice >> 2) * 16 + 1)
  // In a chain a limit or an error upstream may be met before or after bytes already under way.
  if codings.count == 1 {
    guard whole == cut else { fatalError("cut differently: \(whole), \(cut)") }
  }
}

private struct Outcome: Equatable {
  var count = 0
  var sum: UInt64 = 0
  var error: String?
}

private func decode(_ body: [UInt8], _ codings: [ContentCoding], piece: Int, budget: Int) -> Outcome {
  let limit = 1 << 16
  var outcome = Outcome()
  do {
    guard let decoder = try ContentDecoder(codings, limits: DecodeLimits(size: Int64(limit), ratio: nil)) else {
      fatalError("no decoder")
    }
    let sink = { (bytes: UnsafeRawBufferPointer) in
      guard bytes.count <= min(budget, Inflater.maximumSlice) else { fatalError("slice of \(bytes.count)") }
      outcome.count += bytes.count
      for byte in bytes { outcome.sum = outcome.sum &* 31 &+ UInt64(byte) }
    }
    var rest = body[...]
    while !rest.isEmpty {
      let part = rest.prefix(piece)
      rest = rest.dropFirst(part.count)
      var more = try part.withUnsafeBytes { try decoder.feed($0, budget: budget, into: sink) }
      while more { more = try decoder.step(budget: budget, into: sink) }
    }
    try decoder.finish()
  } catch {
    outcome.error = "\(error)"
  }
  guard outcome.count <= limit else { fatalError("\(outcome.count) bytes past the limit") }
  return outcome
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif
