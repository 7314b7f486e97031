import Foundation
import Synchronization
import WeirCompression
import WeirTestSupport

/// Answers every trial's requests as its plan says, which their path names.
final class KindServer: Sendable {
  private let server: ScriptedServer
  private let state = State()

  private final class State: Sendable {
    let plans = Mutex<[UInt64: KindPlan]>([:])
    /// Those that had their first answer.
    let answered = Mutex<Set<UInt64>>([])

    func isFirst(_ plan: KindPlan) -> Bool { answered.withLock { $0.insert(plan.seed).inserted } }
  }

  /// Where a resumed download begins.
  static func offset(_ plan: KindPlan) -> Int { plan.responseSize / 2 }

  init() throws {
    server = try ScriptedServer(
      Script(
        .forever([
          .route { [state] head in
            let number = head.split(separator: " ").dropFirst().first.flatMap { UInt64($0.dropFirst()) }
            guard let plan = number.flatMap({ number in state.plans.withLock { $0[number] } }) else { return [.close] }
            return Self.steps(plan, head, state)
          }
        ])))
  }

  /// Where to send the request of this plan.
  func url(of plan: KindPlan) -> String {
    state.plans.withLock { $0[plan.seed] = plan }
    return server.url + "\(plan.seed)"
  }

  private static func steps(_ plan: KindPlan, _ head: String, _ state: State) -> [Script.Step] {
    let body = body(head)
    let good = answer(plan, head)
    switch plan.answer {
    case .good: return body + [.send(good)]
    case .slow: return body + pieces(of: good).flatMap { [.send($0), .sleep(0.000_5)] }
    case .moved:
      let moved = text("307 Moved", "Location: /\(plan.seed)\r\n")
      return body + [.send(state.isFirst(plan) ? moved : good)]
    case .busyFirst: return body + [.send(state.isFirst(plan) ? text("503 Busy") : good)]
    case .unauthorizedFirst:
      return body + [.send(head.contains("Authorization: ") ? good : text("401 Unauthorized"))]
    case .earlyThenReads: return [.send(text("413 Too large"))] + body
    case .earlyThenCloses: return [.send(text("413 Too large")), .close]
    case .earlyThenResets: return [.send(text("413 Too large")), .reset]
    case .cutInHead: return body + [.send(Array(good.prefix(12))), .close]
    case .cutInBody: return body + [.send(cut(good)), .close]
    case .closed: return body + [.close]
    case .silent: return [.awaitClose]
    }
  }

  /// Takes the request's body, without keeping it.
  private static func body(_ head: String) -> [Script.Step] {
    for line in head.lowercased().components(separatedBy: "\r\n") {
      if line.hasPrefix("content-length: "), let count = Int(line.dropFirst(16)) { return [.swallow(count)] }
      if line == "transfer-encoding: chunked" { return [.chunkedBody] }
    }
    return []
  }

  private static func answer(_ plan: KindPlan, _ head: String) -> [UInt8] {
    let bytes = KindBody.bytes(plan.responseSize)
    switch plan.kind {
    case .downloadDecoded:
      let coded = (try? Compression.deflate(bytes, .gzip)) ?? []
      return response("200 OK", "Content-Encoding: gzip\r\n", coded)
    case .downloadResumed where head.contains("Range: bytes="):
      let offset = offset(plan)
      let range = "Content-Range: bytes \(offset)-\(bytes.count - 1)/\(bytes.count)\r\n"
      return response("206 Partial Content", "ETag: \"v1\"\r\n" + range, Array(bytes[offset...]))
    default: return response("200 OK", plan.kind.isDownload ? "ETag: \"v1\"\r\n" : "", bytes)
    }
  }

  private static func text(_ status: String, _ fields: String = "") -> [UInt8] {
    response(status, fields, Array(KindBody.refusal.utf8))
  }

  private static func response(_ status: String, _ fields: String, _ body: [UInt8]) -> [UInt8] {
    Array("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\(fields)\r\n".utf8) + body
  }

  /// Half of the body is missing.
  private static func cut(_ response: [UInt8]) -> [UInt8] {
    let mark = Array("\r\n\r\n".utf8)
    let head = response.indices.first { response[$0...].starts(with: mark) }.map { $0 + 4 } ?? 0
    return Array(response.prefix(response.count - (response.count - head + 1) / 2))
  }

  private static func pieces(of bytes: [UInt8]) -> [[UInt8]] {
    let size = max(40, bytes.count / 8)
    return stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
  }
}
