import Testing
import WeirHTTP

@Suite struct TimestampTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (951_868_799_999, "2000-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (1_767_225_599_005, "2025-12-31T23:59:59.005Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func milliseconds(milliseconds: Int64, text: String) {
    #expect(self.text(Timestamp(milliseconds: milliseconds)) == text)
  }

  @Test(arguments: [
    (951_782_400.0, "2000-02-29T00:00:00.000Z"), (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
    (-5, "1970-01-01T00:00:00.000Z"), (1e300, "1970-01-01T00:00:00.000Z"), (.nan, "1970-01-01T00:00:00.000Z"),
  ])
  func seconds(seconds: Double, text: String) {
    #expect(self.text(Timestamp(seconds: seconds)) == text)
  }

  @Test func parts() {
    let time = Timestamp(milliseconds: 1_767_225_599_005)
    #expect((time.day, time.clock) == ("2025-12-31", "23:59:59"))
    #expect(time.seconds == 1_767_225_599.005)
  }

  private func text(_ time: Timestamp) -> String {
    var bytes: [UInt8] = []
    time.append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
