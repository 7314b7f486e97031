import CLinux
import Glibc
import WeirIO
import WeirTestSupport

/// Sends requests at given times, without waiting for responses: each takes a connection on which nothing is under way.
/// All targets get the same arrivals.
struct PacedLoad {
  struct Answer {
    let status: Int
    /// Seconds from the beginning on.
    let sent: Double
    let came: Double
  }

  private final class Connection {
    let descriptor: CInt
    let target: Int
    /// The time of the request under way; nil without one.
    var sent: Double?
    private var pending: [UInt8] = []

    init(port: Int, target: Int) throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      self.target = target
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      address.sin_port = UInt16(port).bigEndian
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else { throw PeerError("no connection to port \(port)") }
    }

    deinit { close(descriptor) }

    func send(_ request: [UInt8], at now: Double) {
      sent = now
      _ = Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL))
    }

    /// Takes what has come. Returns the status once the response is complete.
    func receive() throws -> Int? {
      var buffer = [UInt8](repeating: 0, count: 16_384)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw PeerError("target \(target) has closed a connection") }
      pending += buffer[..<count]
      guard let blank = pending.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
      let head = String(decoding: pending[..<blank.lowerBound], as: UTF8.self).lowercased()
      let length = head.split(separator: "content-length: ").dropFirst().first.flatMap {
        Int($0.prefix { $0.isNumber })
      }
      guard pending.count >= blank.upperBound + (length ?? 0) else { return nil }
      pending = []
      return Int(head.dropFirst(9).prefix(3))
    }
  }

  private let ports: [Int]
  private let request: [UInt8]
  private var connections: [Connection] = []
  private var answers: [[Answer]]

  init(_ ports: [Int], request: String) {
    self.ports = ports
    self.request = Array(request.utf8)
    answers = ports.map { _ in [] }
  }

  /// Returns the answers of each target. Gives up after ten seconds without one.
  ///
  /// - Parameter times: Seconds from now on, in order.
  mutating func run(_ times: [Double]) throws -> [[Answer]] {
    let start = MonotonicTime.now
    var sentCount = 0
    var lastAnswer = 0.0
    while answers.contains(where: { $0.count < times.count }) {
      let now = MonotonicTime.now.seconds(since: start)
      while sentCount < times.count, times[sentCount] <= now {
        sentCount += 1
        for target in ports.indices { try send(to: target, at: now) }
      }
      let pause = sentCount < times.count ? max(0, times[sentCount] - now) : 1
      if try receive(within: pause, since: start) { lastAnswer = now }
      let isSilent = now - max(lastAnswer, times.last ?? 0) > 10
      if isSilent { throw PeerError("no answer for ten seconds") }
    }
    return answers
  }

  private mutating func send(to target: Int, at now: Double) throws {
    if let idle = connections.first(where: { $0.target == target && $0.sent == nil }) {
      idle.send(request, at: now)
    } else {
      let connection = try Connection(port: ports[target], target: target)
      connections.append(connection)
      connection.send(request, at: now)
    }
  }

  /// Whether an answer has come.
  private mutating func receive(within seconds: Double, since start: MonotonicTime) throws -> Bool {
    var polls = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    _ = poll(&polls, nfds_t(polls.count), CInt(seconds * 1000))
    var hasCome = false
    for (connection, poll) in zip(connections, polls) where poll.revents != 0 {
      guard let status = try connection.receive(), let sent = connection.sent else { continue }
      let now = MonotonicTime.now.seconds(since: start)
      answers[connection.target].append(Answer(status: status, sent: sent, came: now))
      connection.sent = nil
      hasCome = true
    }
    return hasCome
  }
}
