import CLinux
import CTLS
import Testing
import WeirTLS
import WeirTestSupport

/// The memory that streams hold. Other tests run meanwhile, so that the limits leave room for them. Alone, this suite
/// prints exact figures.
@Suite(.slow, .serialized) struct MemoryTests {
  private let context: TLSServerContext

  init() throws {
    context = try TLSServerContext(
      TLSSettings(certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()]))
  }

  private var allocated: Int { Int(mallinfo2().uordblks) + Int(mallinfo2().hblkhd) }

  @Test(.disabled(if: ThisProcess.isSanitized), arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func idleStreamsAreSmall(maximum: CInt) throws {
    _ = try idleStream(maximum)
    let count = 1000
    var streams: [TLSStream] = []
    streams.reserveCapacity(count)
    let before = allocated
    for _ in 0..<count { streams.append(try idleStream(maximum)) }
    let each = (allocated - before) / count
    print("an idle stream of TLS \(streams[0].version) holds \(each) bytes")
    #expect(each < 32 << 10)
  }

  /// A stream that has taken and given 100 kB, and then waits.
  private func idleStream(_ maximum: CInt) throws -> TLSStream {
    let connection = try Connection.opened(context, .init(serverName: "server.example", maximum: maximum))
    let bytes = [UInt8](repeating: 7, count: 100_000)
    connection.client.write(bytes)
    #expect(connection.sendToServer().bytes.count == bytes.count)
    try connection.stream.write(bytes)
    connection.client.take(connection.stream.takeOutput())
    #expect(connection.client.read().count == bytes.count)
    return connection.stream
  }

  @Test(.disabled(if: ThisProcess.isSanitized)) func droppedStreamsLeaveNothing() throws {
    func make(_ count: Int) throws {
      for index in 0..<count {
        switch index % 4 {
        case 0:
          let connection = try Connection.opened(
            context, .init(maximum: index % 8 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION))
          #expect(connection.state == .done)
        case 1:
          // In the middle of the handshake.
          let (stream, client) = (try TLSStream(context), try TestClient())
          client.handshake()
          stream.take(client.takeOutput())
          #expect(stream.step() == .needsInput)
        case 2:
          let stream = try TLSStream(context)
          stream.take([22, 3, 1, 0, 5, 1, 2, 3, 4, 5])
          guard case .failed = stream.step() else {
            Issue.record("garbage was taken")
            continue
          }
        default: _ = try TLSStream(context)
        }
      }
    }
    try make(2000)
    let (before, resident) = (allocated, try ThisProcess.residentBytes)
    try make(10_000)
    let (grown, residentGrown) = (allocated - before, try ThisProcess.residentBytes - resident)
    print("10000 dropped streams left \(grown) bytes allocated and \(residentGrown) resident")
    #expect(grown < 8 << 20)
  }

  @Test(.disabled(if: ThisProcess.isSanitized)) func droppedContextsLeaveNothing() throws {
    let authority = try MadeCertificate("authority", isAuthority: true)
    let settings = TLSSettings(
      certificates: [try MadeCertificate("a").pair(with: [authority]), try MadeCertificate("b", kind: .rsa).pair()],
      clientCA: authority.certificatePEM)
    func make(_ count: Int) throws {
      var last: TLSServerContext?
      for _ in 0..<count { last = try TLSServerContext(settings, keysOf: last) }
      var broken = settings
      broken.certificates[1].chain = broken.certificates[0].chain
      for _ in 0..<count { #expect(throws: TLSProblem.keyMismatch(index: 1)) { try TLSServerContext(broken) } }
    }
    try make(50)
    let before = allocated
    try make(500)
    let grown = allocated - before
    print("500 contexts and 500 problems left \(grown) bytes")
    #expect(grown < 4 << 20)
  }

  /// A context may go before the streams that it made.
  @Test func streamsKeepTheirContext() throws {
    var context: TLSServerContext? = try TLSServerContext(
      TLSSettings(certificates: [try MadeCertificate("server").pair()]))
    let watch = Watch(context)
    var connection: Connection? = try Connection(try #require(context))
    context = nil
    connection?.open()
    #expect(connection?.state == .done)
    #expect(watch.context != nil)
    connection = nil
    #expect(watch.context == nil)
  }

  private final class Watch {
    weak var context: TLSServerContext?
    init(_ context: TLSServerContext?) { self.context = context }
  }
}
