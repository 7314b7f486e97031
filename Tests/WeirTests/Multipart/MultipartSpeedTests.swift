import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: speed")
struct MultipartSpeedTests {
  /// How long a call takes, in seconds.
  private static func time(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return start.duration(to: .now) / .seconds(1)
  }

  @Test(
    "100 parts of 100 KiB cost at most twice what copying them costs",
    .disabled(if: ThisProcess.isSanitized))
  func encoding() throws {
    let form = MultipartFormData()
    let bytes = (0..<100).map { number in Data(repeating: UInt8(number), count: 100 << 10) }
    for (number, data) in bytes.enumerated() { form.append(data, withName: "n\(number)") }
    let size = 100 * (100 << 10)
    // The shortest of 30 times, turn by turn: other programs can only add to either. As noise may hit one of the two alone,
    // thirties begin anew until the promise holds.
    var copying = Double.infinity
    var encoding = Double.infinity
    for round in 0..<600 where round < 30 || encoding >= 2 * copying {
      let copy = Self.time { Self.copy(bytes, total: size) }
      let encode = try Self.time { _ = try form.encode() }
      copying = round.isMultiple(of: 30) ? copy : min(copying, copy)
      encoding = round.isMultiple(of: 30) ? encode : min(encoding, encode)
    }
    print("multipart: \(encoding / copying) of memcpy (\(copying) s)")
    #expect(encoding < 2 * copying, "\(encoding) s, \(copying) s")
  }

  /// Copies all into memory from malloc, which both share in turn: fresh from the system it costs more than the copy.
  private static func copy(_ bytes: [Data], total: Int) {
    guard let target = malloc(total) else { return }
    for (number, data) in bytes.enumerated() {
      data.withUnsafeBytes { source in
        guard let start = source.baseAddress else { return }
        memcpy(target + number * source.count, start, source.count)
      }
    }
    free(target)
  }
}
