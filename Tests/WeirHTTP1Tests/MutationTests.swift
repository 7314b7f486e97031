import Testing
import WeirHTTP1

@Suite struct MutationTests {
  /// Changed responses read the same however they are cut, and many of both kinds are among them.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func cutsChangeNothing(seed: UInt64) {
    var mutation = Mutation(seed: seed)
    var (whole, refused) = (0, 0)
    for _ in 0..<500 {
      let bytes = mutation.next()
      let reading = Reading(bytes)
      #expect(reading.problem == nil)
      if reading.defect == nil { whole += 1 } else { refused += 1 }
      var state = seed &* 2 &+ 1
      let cuts: [() -> Int] = [
        { 1 }, { 2 }, { 9 },
        {
          state = state &* 6_364_136_223_846_793_005 &+ 1
          return Int(state >> 59) + 1
        },
      ]
      for cut in cuts {
        let other = Reading(bytes, cut: cut)
        if other != reading {
          Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription): \(reading.text), but \(other.text)")
          return
        }
      }
    }
    #expect(whole > 50 && refused > 50)
  }
}
