import Dispatch
import Synchronization
import Testing
import WeirIO
import WeirResolver

typealias Outcome = Result<Answer, LookupProblem>

/// What happened, in order, from any thread.
final class Log: Sendable {
  private let entries = Mutex<[String]>([])

  func append(_ entry: String) { entries.withLock { $0.append(entry) } }
  var all: [String] { entries.withLock { $0 } }
}

extension EventLoop {
  /// Runs `body` on the loop and returns when it has run.
  func sync(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    run {
      body()
      done.signal()
    }
    if done.wait(timeout: .now() + 30) != .success { Issue.record("the loop didn't run a job within half a minute") }
  }
}

/// A resolver on a loop of its own.
final class ResolverHost: Sendable {
  let loop: EventLoop
  private let bound: LoopBound<Resolver?>
  private let peers: [DNSPeer]

  /// - Parameter resolvConf: The path of resolv.conf, by default one without a search list.
  init(
    servers: ResolverServers, of peers: [DNSPeer] = [], limit: Int = QuestionGate.standardLimit,
    resolvConf: String = "/dev/null"
  ) throws {
    self.peers = peers
    loop = try EventLoop(name: "test")
    bound = LoopBound(nil, on: loop)
    loop.sync { [loop, bound] in
      bound.value = Resolver(
        loop: loop, servers: servers, gate: QuestionGate(limit: limit), resolvConf: resolvConf)
    }
  }

  convenience init(
    _ peers: DNSPeer..., limit: Int = QuestionGate.standardLimit, resolvConf: String = "/dev/null"
  ) throws {
    try self.init(
      servers: try ResolverServers(parsing: peers.map(\.server)), of: peers, limit: limit, resolvConf: resolvConf)
  }

  deinit {
    // A test that has failed may have left lookups.
    loop.post { [bound] in bound.value?.close() }
  }

  /// Runs `body` on the loop with the resolver, and returns when it has run.
  func sync(_ body: @escaping @Sendable (Resolver) -> Void) {
    loop.sync { [bound] in
      if let resolver = bound.value { body(resolver) }
    }
  }

  /// Looks a name up.
  func lookUp(_ question: Question, timeout: Double = 5, seeksGaps: Bool = false) async -> Outcome {
    await withCheckedContinuation { continuation in
      loop.run { [bound] in
        bound.value?.lookUp(question, timeout: timeout, seeksGaps: seeksGaps) { continuation.resume(returning: $0) }
      }
    }
  }

  func lookUp(_ name: String, _ family: Question.Family = .any, timeout: Double = 5) async -> Outcome {
    await lookUp(.addresses(of: name, family: family), timeout: timeout)
  }
}

extension Result where Success == Answer, Failure == LookupProblem {
  /// The answer in short, such as `10.0.0.1 ttl=5`, or the problem's label.
  var text: String {
    switch self {
    case .failure(let problem): problem.label
    case .success(let answer): answer.text
    }
  }
}

extension Answer {
  var text: String {
    var words = entries.map { entry in
      guard let port = entry.port else { return "\(entry.address)" }
      return "\(SocketText(entry.address, port))/\(entry.priority)/\(entry.weight)/\(entry.target ?? "")"
    }
    if let ttl { words.append("ttl=\(Int(ttl))") }
    if isCut { words.append("cut") }
    words += gaps.map(\.text).sorted()
    return words.joined(separator: " ")
  }
}

extension Answer.Gap {
  /// The gap in short, such as `-ipv6` or `-a.test:80/ipv6`.
  fileprivate var text: String {
    guard let target, let port else { return "-\(family)" }
    return "-\(target):\(port)/\(family)"
  }
}

private struct SocketText: CustomStringConvertible {
  let description: String

  init(_ address: IPAddress, _ port: UInt16) {
    description = if case .v6 = address { "[\(address)]:\(port)" } else { "\(address):\(port)" }
  }
}
