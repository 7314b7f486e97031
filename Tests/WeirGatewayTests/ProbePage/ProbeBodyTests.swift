import Testing
import WeirCompression
import WeirTestSupport

@testable import WeirGateway

/// How a probe reads a coded body.
@Suite struct ProbeBodyTests {
  private static let size = 8 << 20

  private func module(_ http: String) throws -> ProbeModule {
    let text = "modules:\n  m: { prober: http, http: { \(http) } }\n"
    let configuration = try ProbeConfiguration(parsing: Array(text.utf8), file: "probe.yml")
    return try #require(configuration.modules["m"])
  }

  private func coded() throws -> [UInt8] {
    var coded: [UInt8] = []
    let deflater = try Deflater(.gzip)
    try [UInt8](repeating: 0, count: Self.size).withUnsafeBytes { try deflater.feed($0) { coded += $0 } }
    try deflater.finish { coded += $0 }
    return coded
  }

  @Test func aTurnDecodesItsShare() throws {
    var reader = try ProbeBodyReader(module("compression: gzip"))
    let coded = try coded()
    let isWanted = coded.withUnsafeBytes { reader.take($0) }
    #expect(isWanted && reader.hasPending)
    var turns = 1
    var before: Int64 = 0
    while reader.hasPending {
      #expect(reader.body.count - before <= 64 << 10)
      before = reader.body.count
      let goesOn = reader.decodeMore()
      #expect(goesOn)
      turns += 1
    }
    reader.end()
    #expect(reader.body.count == Self.size && reader.body.failure == nil)
    #expect(turns >= Self.size >> 16)
  }

  @Test func itsLimitEndsIt() throws {
    var reader = try ProbeBodyReader(module("compression: gzip, body_size_limit: 1MB"))
    let coded = try coded()
    var goesOn = coded.withUnsafeBytes { reader.take($0) }
    while goesOn, reader.hasPending { goesOn = reader.decodeMore() }
    #expect(!goesOn && !reader.hasPending)
    #expect(reader.body.failure == "the body is longer than body_size_limit, 1048576 bytes")
    #expect(reader.body.count == 1 << 20)
  }

  /// A body without an octet is of no coding; one without a module's coding may be empty.
  @Test(arguments: [
    ("compression: gzip", true, true), ("compression: deflate", true, false), ("method: GET", false, false),
  ])
  func nothingIsNotCoded(http: String, fails: Bool, isNotDecodable: Bool) throws {
    var reader = try ProbeBodyReader(module(http))
    let isWanted = [UInt8]().withUnsafeBytes { reader.take($0) }
    reader.end()
    #expect(isWanted)
    #expect((reader.body.failure != nil) == fails && reader.body.isNotDecodable == isNotDecodable)
  }
}
