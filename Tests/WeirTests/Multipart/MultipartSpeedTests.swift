import Foundation
import FoundationNetworking
import Glibc
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: speed")
struct MultipartSpeedTests {
  /// The shortest of many times, in seconds: what else runs on the machine can only add.
  private static func shortest(_ body: () throws -> Void) rethrows -> Double {
    var shortest = Double.infinity
    for _ in 0..<30 {
      let start = ContinuousClock.now
      try body()
      let time = start.duration(to: .now) / .seconds(1)
      shortest = min(shortest, time)
    }
    return shortest
  }

  @Test(
    "100 parts of 100 KiB cost at most twice what copying them to fresh memory costs",
    .disabled(if: ThisProcess.isSanitized))
  func encoding() throws {
    let form = MultipartFormData()
    let bytes = (0..<100).map { number in Data(repeating: UInt8(number), count: 100 << 10) }
    for (number, data) in bytes.enumerated() { form.append(data, withName: "n\(number)") }
    let size = 100 * (100 << 10)
    let copying = Self.shortest {
      guard let target = malloc(size) else { return }
      for (number, data) in bytes.enumerated() {
        data.withUnsafeBytes { source in
          guard let start = source.baseAddress else { return }
          memcpy(target + number * source.count, start, source.count)
        }
      }
      free(target)
    }
    let encoding = try Self.shortest { _ = try form.encode() }
    print("multipart: \(encoding / copying) of memcpy (\(copying) s)")
    #expect(encoding < 2 * copying, "\(encoding) s, \(copying) s")
  }
}
