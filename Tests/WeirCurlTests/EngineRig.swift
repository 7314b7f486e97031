import Glibc
import Synchronization
import Testing
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirCurl
@testable import WeirHTTP1

/// The engines on a loop of their own, driven from a test's thread.
///
/// Which engine a transfer goes by is decided as in the product, so that the environment's `WEIR_HTTP1_ENGINE` chooses
/// for the whole suite.
final class EngineRig: Sendable {
  let loop: EventLoop
  let counts: ConnectionCounts
  private let engines: LoopBound<Engines>

  /// - Parameter onConnection: called on the loop when a new connection stands, before anything is sent on it.
  init(
    _ configure: (inout TransportOptions) -> Void = { _ in }, workers: WorkerPool? = nil,
    onConnection: @escaping @Sendable () -> Void = {}
  ) async throws {
    let counts = ConnectionCounts(onConnection)
    self.counts = counts
    var options = TransportOptions()
    options.connectTimeout = 10
    configure(&options)
    let (loop, chosen) = (try EventLoop(name: "test"), options)
    self.loop = loop
    engines = try await withCheckedThrowingContinuation { continuation in
      loop.post {
        continuation.resume(
          with: Result {
            LoopBound(
              try Engines(loop: loop, options: chosen, observer: counts, workers: workers), on: loop)
          })
      }
    }
  }

  /// Runs a transfer to its end.
  func transfer(
    _ spec: TransferSpec, headers: [String] = [], _ configure: @escaping @Sendable (Recorder) -> Void = { _ in }
  ) async -> Outcome {
    await start(spec, headers: headers, configure).outcome
  }

  func get(_ url: String) async -> Outcome { await transfer(TransferSpec(url: url)) }

  /// Starts a transfer and returns when the engine has it.
  func start(
    _ spec: TransferSpec, headers: [String] = [], _ configure: @escaping @Sendable (Recorder) -> Void = { _ in }
  ) async -> Running {
    let running = Running(loop: loop)
    await withCheckedContinuation { continuation in
      loop.post { [engines] in
        running.start(spec, PreparedHeaders(lines: headers), engines.value, configure)
        continuation.resume()
      }
    }
    return running
  }

  func onEngine<Result: Sendable>(_ body: @escaping @Sendable (Engines) -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      loop.post { [engines] in continuation.resume(returning: body(engines.value)) }
    }
  }

  /// Seconds of CPU that the loop has had. Other suites run in the same process.
  var cpu: Double {
    get async {
      await onEngine { _ in
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
      }
    }
  }

  /// Closes the engine and returns when all has ended, which is at the end of that turn.
  func close() async {
    await onEngine { $0.close() }
    await onEngine { _ in }
  }
}

/// Whether the requests that our own engine may run go by it.
let isOwnEngine = HTTP1EngineChoice.standard == .own

extension Engines {
  var activeTransfers: Int { libcurl.activeTransfers + (own?.activeTransfers ?? 0) }
  var openConnections: Int { libcurl.openConnections + (own?.openConnections ?? 0) }
  var runningLookups: Int { libcurl.runningLookups }
}

extension TransferHandle {
  /// Whether sending is paused for lack of bytes.
  var awaitsSource: Bool {
    (self as? Transfer)?.sending.awaitsSource ?? (self as? HTTP1Transfer)?.upload.awaitsSource ?? false
  }
}

/// Open and closed connections as the engines told of them.
final class ConnectionCounts: TransferEngineObserver, Sendable {
  struct Counts: Equatable, Sendable {
    var opened = 0
    var closed = 0
    var tags: [ObjectIdentifier: Int] = [:]
  }

  private let counts = Mutex(Counts())
  private let onConnection: @Sendable () -> Void

  init(_ onConnection: @escaping @Sendable () -> Void) {
    self.onConnection = onConnection
  }

  var value: Counts { counts.withLock { $0 } }
  var open: Int { counts.withLock { $0.opened - $0.closed } }

  func open(of tag: AnyObject) -> Int {
    let tag = ObjectIdentifier(tag)
    return counts.withLock { $0.tags[tag] ?? 0 }
  }

  func engineDidOpenConnection(tag: AnyObject?) {
    count(tag, by: 1)
    onConnection()
  }

  func engineDidCloseConnection(tag: AnyObject?) { count(tag, by: -1) }

  private func count(_ tag: AnyObject?, by change: Int) {
    let tag = tag.map { ObjectIdentifier($0) }
    counts.withLock { counts in
      if change > 0 { counts.opened += 1 } else { counts.closed += 1 }
      if let tag { counts.tags[tag, default: 0] += change }
    }
  }
}

/// The name that these tests have for ``soon(_:)``.
func eventually(_ condition: () async -> Bool) async -> Bool { await soon(condition) }

extension EngineRig {
  /// A rig before a TLS server in Python, whose script gets the certificate, the key and the port.
  ///
  /// - Returns: What has to live as long as the rig is `kept`.
  static func before(
    tlsServer script: String
  ) async throws -> (
    EngineRig, url: String, kept: (Peer, TestCertificates)
  ) {
    let certificates = try await TestCertificates()
    let port = LoopbackPort.free()
    let pair = certificates.server
    let peer = try Peer(Tool(named: "python3"), ["-c", script, pair.certificate, pair.key, "\(port)"])
    try await peer.waitForPort(port)
    let authority = certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(authority)
    }
    return (rig, "https://127.0.0.1:\(port)/", (peer, certificates))
  }
}

/// A credential for a proxy whose value the test changes.
final class TestProxyCredential: ProxyCredential {
  let userAndPassword: TransferCredential?
  private let value: Mutex<String?>

  init(_ value: String?, userAndPassword: TransferCredential? = nil) {
    self.value = Mutex(value)
    self.userAndPassword = userAndPassword
  }

  func set(_ value: String?) { self.value.withLock { $0 = value } }

  var authorization: [UInt8]? { value.withLock { $0 }.map { Array($0.utf8) } }

  func redacted(_ text: String) -> String { text.replacing("s3cret", with: "<redacted>") }
}
