import Foundation
import FoundationNetworking
import Glibc
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// A form with a known boundary, and files of a test's own.
enum MultipartSamples {
  static func form() -> MultipartFormData { MultipartFormData(boundary: "B") }

  static func text(_ form: MultipartFormData) throws -> String {
    String(decoding: try form.encode(), as: UTF8.self)
  }

  static func noise(_ count: Int, seed: UInt64) -> Data {
    var random = SeededRandom(seed: seed)
    return (0..<(count + 7) / 8).map { _ in random.next() }.withUnsafeBytes { Data($0.prefix(count)) }
  }

  static func url(_ path: String) -> URL { URL(fileURLWithPath: path) }

  /// The reason for which a form can't be encoded, to memory and to a file alike.
  static func reason(
    _ make: () throws -> MultipartFormData, _ location: SourceLocation = #_sourceLocation
  ) throws -> WeirError.MultipartEncodingFailureReason? {
    let directory = try TemporaryDirectory()
    let target = url("\(directory.path)/target")
    let toMemory = try make()
    let toFile = try make()
    let first = #expect(throws: WeirError.self, sourceLocation: location) { try toMemory.encode() }
    let second = #expect(throws: WeirError.self, sourceLocation: location) { try toFile.writeEncodedData(to: target) }
    #expect(first?.label == second?.label, sourceLocation: location)
    let isGone = access(target.path, F_OK) != 0
    #expect(isGone, "a failed write removes what it wrote", sourceLocation: location)
    guard case .multipartEncodingFailed(let reason) = first else { return nil }
    return reason
  }

  static func lengths(_ reason: WeirError.MultipartEncodingFailureReason?) -> WeirError.UnexpectedInputStreamLength? {
    guard case .inputStreamReadFailed(let error)? = reason else { return nil }
    return error as? WeirError.UnexpectedInputStreamLength
  }
}

/// A stream of anybody's making: gives pieces by a closure.
final class MadeStream: InputStream {
  private let give: (UnsafeMutableBufferPointer<UInt8>) -> Int
  private(set) var openings = 0
  private(set) var closings = 0
  private(set) var longestRead = 0

  init(_ give: @escaping (UnsafeMutableBufferPointer<UInt8>) -> Int) {
    self.give = give
    super.init(data: Data())
  }

  override func open() { openings += 1 }
  override func close() { closings += 1 }
  override var streamStatus: Status { openings == 0 ? .notOpen : .open }
  override var streamError: (any Error)? { SampleError() }
  override var hasBytesAvailable: Bool { true }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    longestRead = max(longestRead, length)
    return give(UnsafeMutableBufferPointer(start: buffer, count: length))
  }
}
