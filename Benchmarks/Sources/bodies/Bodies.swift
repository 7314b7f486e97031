import Foundation
import Weir
import WeirExporter
import WeirMetrics

/// Bodies by way of files and memory, to be run beside curl(1) and Baseline/multipart.c.
///
///     bodies download URL FILE
///     bodies upload FILE URL
///     bodies multipart PARTS SIZE ROUNDS
///
/// Baseline/measure.c measures it from outside.
@main struct Bodies {
  struct UsageError: Error, CustomStringConvertible {
    let description = "usage: bodies download URL FILE | upload FILE URL | multipart PARTS SIZE ROUNDS"
  }

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    switch (arguments.first, arguments.count) {
    case ("download", 3): try await download(arguments[2], to: URL(filePath: arguments[3]))
    case ("upload", 3): try await upload(URL(filePath: arguments[2]), to: arguments[3])
    case ("multipart", 4): try multipart(arguments.dropFirst().compactMap { Int($0) })
    default: throw UsageError()
    }
  }

  private static func makeSession() throws -> Session {
    Session(eventMonitors: [try MetricsMonitor(registry: Registry())])
  }

  private static func download(_ url: String, to file: URL) async throws {
    let session = try makeSession()
    let request = session.download(url, to: { _, _ in (file, [.removePreviousFile]) })
    _ = try await request.validate().serializingDownloadedFileURL().value
    withExtendedLifetime(session) {}
  }

  private static func upload(_ file: URL, to url: String) async throws {
    let session = try makeSession()
    let request = session.upload(file, to: url, method: .put)
    _ = try await request.validate().serializingData(emptyResponseCodes: [201, 204]).value
    withExtendedLifetime(session) {}
  }

  private static func multipart(_ numbers: [Int]) throws {
    guard numbers.count == 3, numbers.allSatisfy({ $0 > 0 }) else { throw UsageError() }
    let (parts, size, rounds) = (numbers[0], numbers[1], numbers[2])
    let bodies = (0..<parts).map { Data(repeating: UInt8(truncatingIfNeeded: $0), count: size) }
    for _ in 0..<rounds {
      let form = MultipartFormData(boundary: "weir.boundary.0123456789abcdef")
      for (index, body) in bodies.enumerated() {
        form.append(
          body, withName: "part\(index)", fileName: "part\(index).bin", mimeType: "application/octet-stream")
      }
      guard try form.encode().count > parts * size else { throw UsageError() }
    }
  }
}
