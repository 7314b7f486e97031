import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§15 Multipart: streams that lie", .timeLimit(.minutes(5)))
struct MultipartStreamTests {
  private static func form(_ stream: InputStream, _ length: UInt64) -> MultipartFormData {
    let form = MultipartSamples.form()
    form.append(stream, withLength: length, name: "n", fileName: "f", mimeType: "a/b")
    return form
  }

  @Test(
    "Other than the declared length",
    arguments: [
      (0, 1), (1, 0), (3, 4), (4, 3), (10, 0), (0, 10), (300_000, 300_001), (300_001, 300_000), (131_072, 131_071),
      (131_071, 131_072), (0, .max), (5, .max), (300_000, .max),
    ] as [(Int, UInt64)])
  func wrongLength(given: Int, declared: UInt64) throws {
    let lengths = MultipartSamples.lengths(
      try MultipartSamples.reason { Self.form(InputStream(data: Data(count: given)), declared) })
    #expect(lengths?.bytesExpected == declared)
    #expect(lengths?.bytesRead == UInt64(given))
  }

  @Test("Exactly the declared length", arguments: [0, 1, 131_071, 131_072, 131_073, 1_000_000, 2_500_000])
  func rightLength(count: Int) throws {
    let bytes = MultipartSamples.noise(count, seed: 1)
    let encoded = try Self.form(InputStream(data: bytes), UInt64(count)).encode()
    let tail = Data("\r\n--B--\r\n".utf8)
    #expect(encoded.suffix(tail.count) == tail)
    #expect(encoded.dropLast(tail.count).suffix(count) == bytes)
  }

  @Test("Endless ones are read no further than to see it")
  func endless() throws {
    var read = 0
    let lengths = MultipartSamples.lengths(
      try MultipartSamples.reason {
        Self.form(
          MadeStream { buffer in
            buffer.update(repeating: 65)
            read += buffer.count
            return buffer.count
          }, 200_000)
      })
    #expect(lengths?.bytesExpected == 200_000)
    #expect(lengths?.bytesRead == 331_072)
    #expect(read == 2 * 331_072)
  }

  @Test("Pieces are bounded, whatever is declared; opened once, closed once")
  func pieces() throws {
    let stream = MadeStream { _ in 0 }
    #expect(throws: WeirError.self) { try Self.form(stream, .max).encode() }
    #expect(stream.longestRead == 131_072)
    #expect(stream.openings == 1)
    #expect(stream.closings == 1)
  }

  @Test("A byte at a time")
  func drops() throws {
    var given = 0
    let stream = MadeStream { buffer in
      guard given < 1000 else { return 0 }
      buffer[0] = UInt8(ascii: "a")
      given += 1
      return 1
    }
    let text = try MultipartSamples.text(Self.form(stream, 1000))
    #expect(text.hasSuffix("\r\n\r\n\(String(repeating: "a", count: 1000))\r\n--B--\r\n"))
  }

  @Test("One that fails: at once, or after some bytes", arguments: [0, 10])
  func failing(after count: Int) throws {
    let reason = try MultipartSamples.reason {
      var rest = count
      return Self.form(
        MadeStream { _ in
          rest -= 1
          return rest >= 0 ? 1 : -1
        }, 100)
    }
    guard case .inputStreamReadFailed(let error)? = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    #expect(error is SampleError)
  }

  @Test("One that says that it gave more than there was room for")
  func boasting() throws {
    let reason = try MultipartSamples.reason { Self.form(MadeStream { $0.count + 1 }, 10) }
    #expect(reason?.summary.label == "input_stream_read_failed")
  }

  @Test("Of a file that isn't there")
  func noFile() throws {
    let reason = try MultipartSamples.reason {
      Self.form(try #require(InputStream(fileAtPath: "/nowhere/at/all")), 10)
    }
    #expect(reason?.summary.label == "input_stream_read_failed")
  }

  @Test("It is read once: another time there is nothing")
  func twice() throws {
    let form = Self.form(InputStream(data: Data("abc".utf8)), 3)
    #expect(try MultipartSamples.text(form).contains("\r\n\r\nabc\r\n"))
    let error = #expect(throws: WeirError.self) { try form.encode() }
    guard case .multipartEncodingFailed(let reason)? = error else { return }
    #expect(MultipartSamples.lengths(reason) == .init(bytesExpected: 3, bytesRead: 0))
  }

  @Test("One that is open already goes on where it is")
  func openAlready() throws {
    let stream = InputStream(data: Data("abcdef".utf8))
    stream.open()
    var skipped: [UInt8] = [0, 0]
    #expect(stream.read(&skipped, maxLength: 2) == 2)
    #expect(try MultipartSamples.text(Self.form(stream, 4)).contains("\r\n\r\ncdef\r\n"))
  }

  @Test("Declared lengths beyond all numbers add up to the largest")
  func sums() {
    let form = MultipartSamples.form()
    for _ in 0..<3 { form.append(InputStream(data: Data()), withLength: .max, headers: [:]) }
    #expect(form.contentLength == .max)
    #expect(throws: WeirError.self) { try form.encode() }
  }
}
