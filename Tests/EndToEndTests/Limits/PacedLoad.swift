import CLinux
import Glibc
import WeirIO
import WeirTestSupport

/// Sends requests at given times over one connection for each target, without waiting for the responses. All targets get
/// the same arrivals.
struct PacedLoad {
  struct Answer {
    let status: Int
    /// Seconds from the beginning on.
    let sent: Double
    let came: Double
    let head: String
  }

  /// A connection, and what has come on it.
  private struct Connection {
    let descriptor: CInt
    let request: [UInt8]
    var pending: [UInt8] = []
    var answers: [Answer] = []

    init(port: Int, request: String) throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      self.request = Array(request.utf8)
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

    /// Takes the responses that have come; false at the connection's end.
    mutating func receive(at now: Double, _ sent: [Double]) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return false }
      pending += buffer[..<count]
      var begin = 0
      while let (head, end) = response(from: begin) {
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        answers.append(Answer(status: status, sent: sent[answers.count], came: now, head: head))
        begin = end
      }
      pending.removeFirst(begin)
      return true
    }

    /// A complete response in what has come: its head in lower case, and where it ends.
    private func response(from begin: Int) -> (head: String, end: Int)? {
      let mark = Array("\r\n\r\n".utf8)
      guard let blank = pending[begin...].firstRange(of: mark) else { return nil }
      let head = String(decoding: pending[begin..<blank.lowerBound], as: UTF8.self).lowercased()
      let length = head.split(separator: "content-length: ").dropFirst().first.flatMap {
        Int($0.prefix { $0.isNumber })
      }
      let end = blank.upperBound + (length ?? 0)
      return end <= pending.count ? (head, end) : nil
    }
  }

  private var connections: [Connection]

  init(_ targets: [(port: Int, request: String)]) throws {
    connections = try targets.map { try Connection(port: $0.port, request: $0.request) }
  }

  /// Returns the answers of each target. Gives up after ten seconds without one.
  ///
  /// - Parameter times: Seconds from now on, in order.
  mutating func run(_ times: [Double]) throws -> [[Answer]] {
    defer { for connection in connections { close(connection.descriptor) } }
    let start = MonotonicTime.now
    var sent: [Double] = []
    var lastAnswer = 0.0
    while connections.contains(where: { $0.answers.count < times.count }) {
      var now = MonotonicTime.now.seconds(since: start)
      while sent.count < times.count, times[sent.count] <= now {
        sent.append(now)
        for connection in connections {
          _ = send(connection.descriptor, connection.request, connection.request.count, CInt(MSG_NOSIGNAL))
        }
      }
      let pause = sent.count < times.count ? max(0, times[sent.count] - now) : 1
      var polls = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      _ = poll(&polls, nfds_t(polls.count), CInt(pause * 1000))
      now = MonotonicTime.now.seconds(since: start)
      for (index, poll) in polls.enumerated() where poll.revents != 0 {
        guard connections[index].receive(at: now, sent) else { throw PeerError("target \(index) has closed") }
        lastAnswer = now
      }
      let isSilent = now - max(lastAnswer, times.last ?? 0) > 10
      if isSilent { throw PeerError("no answer for ten seconds") }
    }
    return connections.map(\.answers)
  }
}
