import Foundation

/// An entry of libFuzzer's: passes an input to the check of a target.
package func checkInput(
  _ start: UnsafeRawPointer?, _ count: Int, _ check: (UnsafeRawBufferPointer) -> Void
) -> CInt {
  check(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

/// The program of a target that is built without libFuzzer: checks the inputs in the files that are named.
package func checkFiles(_ check: (UnsafeRawBufferPointer) -> Void) throws {
  for path in CommandLine.arguments.dropFirst() {
    try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes(check)
    print("\(path): holds")
  }
}

/// The lengths of pieces that an input is cut into, from 1 to 40, which depend on `seed` alone.
package func pieceLengths(seed: UInt8) -> () -> Int {
  var state = UInt32(seed) | 1
  return {
    state = state &* 1_664_525 &+ 1_013_904_223
    return Int(state >> 24) % 40 + 1
  }
}
