import CLinux
import Dispatch
import Foundation
import WeirIO

/// What a scripted server does on one connection, in order; then it closes the connection.
package struct Script: Sendable {
  package indirect enum Step: Sendable {
    /// Reads to the end of a request head.
    case head
    /// Reads a request with the body that its `Content-Length` announces.
    case request
    /// Reads a request's head, and goes on with the steps that it decides on; a body waits to be read by them.
    case route(@Sendable (_ head: String) -> [Step])
    /// Reads so many bytes.
    case bytes(Int)
    /// Reads so many bytes and keeps none of them.
    case swallow(Int)
    /// Reads a chunked body, trailers included.
    case chunkedBody
    /// Plays a SOCKS5 proxy (RFC 1928) that has connected to the client's destination.
    case socks5
    /// Reads to the client's end.
    case awaitClose
    /// Reads until the client sends no more, and goes on.
    case awaitEnd
    /// Reads what has come, and ends the script if the client has ended its side.
    case drain
    case send([UInt8])
    /// Reads a request, body included, and goes on with the steps that its first line decides on.
    case dispatch(@Sendable (_ requestLine: String) -> [Step])
    /// The same by its whole head.
    case dispatchHead(@Sendable (_ head: String) -> [Step])
    /// Sends what is made when it comes to that; nil ends the script.
    case answer(@Sendable () -> String?)
    /// Sends byte by byte, with so many seconds between.
    case drip([UInt8], every: Double)
    /// Closes our direction only.
    case halfClose
    /// Closes so that the client sees a reset.
    case reset
    case close
    /// Lets so many seconds pass; see ``letPass(_:)``.
    case sleep(Double)
    /// Waits until a test opens the gate.
    case wait(Gate)
    /// Tells a test how far the script has come.
    case call(@Sendable () -> Void)
    /// One after another.
    case steps([Step])
    /// Over and over until the client closes.
    case forever([Step])
    /// Hands the connection to code that reads and sends by itself, and returns when that is over.
    case handOver(@Sendable (_ descriptor: CInt) -> Void)
  }

  let steps: [Step]

  package init(_ steps: Step...) {
    self.steps = steps
  }

  /// Answers every request, which must have no body, with the same bytes, until the client closes.
  package static func answering(_ response: String) -> Script {
    Script(.forever([.head, .send(response)]))
  }

  /// Answers requests with whatever `make` says, until that says nothing or the client closes.
  package static func answering(with make: @escaping @Sendable () -> String?) -> Script {
    Script(.forever([.request, .answer(make)]))
  }

  /// Answers one request with the given bytes and closes.
  package static func once(_ response: String) -> Script {
    Script(.head, .send(response))
  }
}

extension Script.Step {
  package static func send(_ text: String) -> Script.Step { .send(Array(text.utf8)) }

  package static func drip(_ text: String, every seconds: Double) -> Script.Step {
    .drip(Array(text.utf8), every: seconds)
  }
}

/// A complete response of status 200 with a body.
package func okResponse(_ body: String, _ fields: String = "") -> String {
  "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}

/// Holds scripts back until a test opens it; stays open.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open() {
    semaphore.signal()
  }

  /// Gives up after two minutes, so that a failed test ends.
  package func wait() {
    if semaphore.wait(timeout: .now() + 120) == .success { semaphore.signal() }
  }
}

/// A connection seen from the script that serves it.
struct ScriptedPeer {
  let descriptor: CInt
  let record: ([UInt8]) -> Void
  private(set) var sawEnd = false
  /// Read, recorded, and not asked for yet.
  private var pending: [UInt8] = []

  init(descriptor: CInt, record: @escaping ([UInt8]) -> Void) {
    self.descriptor = descriptor
    self.record = record
  }

  /// False when the connection is over.
  mutating func run(_ steps: [Script.Step]) -> Bool {
    for step in steps where !run(step) { return false }
    return true
  }

  private mutating func run(_ step: Script.Step) -> Bool {
    switch step {
    case .head: return read(through: "\r\n\r\n")
    case .request: return readRequest()
    case .dispatch(let decide):
      guard let line = readRequest(through: "\r\n") else { return false }
      return run(decide(line))
    case .dispatchHead(let decide):
      guard let head = readRequest(through: "\r\n\r\n") else { return false }
      return run(decide(head))
    case .route(let decide):
      guard let head = readHead() else { return false }
      return run(decide(head))
    case .bytes(let count): return read { $0.count >= count ? count : nil }
    case .swallow(let count): return swallow(count)
    case .chunkedBody: return readChunks()
    case .socks5: return answerSOCKS()
    case .awaitClose:
      while fill() {}
      return false
    case .awaitEnd:
      while fill() {}
      return true
    case .drain: return drain()
    case .send(let bytes): return ServerSocket.send(descriptor, bytes)
    case .answer(let make): return make().map { ServerSocket.send(descriptor, Array($0.utf8)) } ?? false
    case .drip(let bytes, let delay):
      for byte in bytes {
        guard ServerSocket.send(descriptor, [byte]) else { return false }
        letPass(delay)
      }
      return true
    case .halfClose:
      shutdown(descriptor, CInt(SHUT_WR))
      return true
    case .reset:
      ServerSocket.resetOnClose(descriptor)
      return false
    case .close: return false
    case .sleep(let seconds):
      letPass(seconds)
      return true
    case .wait(let gate):
      gate.wait()
      return true
    case .call(let body):
      body()
      return true
    case .steps(let steps): return run(steps)
    case .forever(let steps):
      while run(steps) {}
      return false
    case .handOver(let serve):
      serve(descriptor)
      return false
    }
  }

  /// Reads a request, body included, and returns what comes before the mark.
  private mutating func readRequest(through mark: String) -> String? {
    let mark = Array(mark.utf8)
    var text: String?
    let hasText = read(until: { bytes in
      text = Self.end(of: mark, in: bytes).map { String(decoding: bytes[..<($0 - mark.count)], as: UTF8.self) }
      return text == nil ? nil : 0
    })
    return hasText && readRequest() ? text : nil
  }

  private mutating func readHead() -> String? {
    var text: String?
    let hasHead = read(until: { bytes in
      guard let end = Self.end(of: Array("\r\n\r\n".utf8), in: bytes) else { return nil }
      text = String(decoding: bytes[..<end], as: UTF8.self)
      return end
    })
    return hasHead ? text : nil
  }

  private mutating func readRequest() -> Bool {
    read { bytes in
      guard let end = Self.end(of: Array("\r\n\r\n".utf8), in: bytes) else { return nil }
      let length = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").lazy
        .filter { $0.lowercased().hasPrefix("content-length:") }
        .compactMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }.first
      let total = end + max(0, length ?? 0)
      return bytes.count >= total ? total : nil
    }
  }

  private mutating func readChunks() -> Bool {
    while true {
      var line: [UInt8] = []
      let hasLine = read { bytes in
        guard let end = Self.end(of: [13, 10], in: bytes) else { return nil }
        line = Array(bytes[..<(end - 2)])
        return end
      }
      guard hasLine, let size = Int(String(decoding: line, as: UTF8.self), radix: 16) else { return false }
      if size == 0 { return read(through: "\r\n") }
      guard read(until: { $0.count >= size + 2 ? size + 2 : nil }) else { return false }
    }
  }

  /// Accepts the client's first method without a look at it, so it must be the one without a credential.
  private mutating func answerSOCKS() -> Bool {
    guard read(until: { $0.count >= 2 && $0.count >= 2 + Int($0[1]) ? 2 + Int($0[1]) : nil }),
      ServerSocket.send(descriptor, [5, 0])
    else { return false }
    let hasRequest = read { bytes in
      guard bytes.count > 4 else { return nil }
      let length = bytes[3] == 1 ? 10 : bytes[3] == 4 ? 22 : 7 + Int(bytes[4])
      return bytes.count >= length ? length : nil
    }
    return hasRequest && ServerSocket.send(descriptor, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  }

  private static func end(of mark: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= mark.count else { return nil }
    return (mark.count...bytes.count).first { bytes[($0 - mark.count)..<$0].elementsEqual(mark) }
  }

  private mutating func read(through mark: String) -> Bool {
    let mark = Array(mark.utf8)
    return read { Self.end(of: mark, in: $0) }
  }

  /// Reads until `end` finds how many bytes are asked for, and takes those.
  private mutating func read(until end: ([UInt8]) -> Int?) -> Bool {
    while true {
      if let count = end(pending) {
        pending.removeFirst(count)
        return true
      }
      guard fill() else { return false }
    }
  }

  private mutating func swallow(_ count: Int) -> Bool {
    var left = count - pending.count
    pending.removeFirst(min(count, pending.count))
    while left > 0 {
      guard let bytes = ServerSocket.receive(descriptor, atMost: left) else {
        sawEnd = true
        return false
      }
      left -= bytes.count
    }
    return true
  }

  private mutating func drain() -> Bool {
    while ServerSocket.isReadable(descriptor) { guard fill() else { return false } }
    return true
  }

  private mutating func fill() -> Bool {
    guard let bytes = ServerSocket.receive(descriptor) else {
      sawEnd = true
      return false
    }
    record(bytes)
    pending += bytes
    return true
  }
}
