import Dispatch
import Foundation
import Glibc
import Synchronization
import WeirCurl
import WeirIO

// What must hold whatever an upstream sends: nothing is read or written outside of memory, in libcurl either; each
// transfer ends, once; a request that follows gets its own answer; no descriptor is lost.
//
// The first byte chooses the methods and whether the connection ends with the input. The rest is what the upstream
// sends: 0xFF begins another piece, 0xFE waits for another request.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let parts = input.dropFirst().split(separator: 0xFE, omittingEmptySubsequences: false).map { part in
    part.split(separator: 0xFF).map { Array($0) }
  }
  rig.upstream.load(parts, closesAtEnd: choice & 1 != 0)
  for index in 0..<min(parts.count, 3) {
    let method = ["GET", "HEAD", "POST", "GET"][Int(choice >> (1 + 2 * index)) & 3]
    _ = rig.transfer("/fuzz/\(index)", method)
  }
  let own = rig.nextOwnPath()
  let answer = rig.transfer(own, "GET")
  guard answer.error == nil, answer.status == 200, answer.body == Array(own.utf8) else {
    fatalError(
      "\(own) got \(answer.status) \(String(decoding: answer.body, as: UTF8.self)): \(String(describing: answer.error))"
    )
  }
  rig.checkDescriptors()
}

private let rig = Rig()

private final class Answer: TransferDelegate, Sendable {
  struct Value: Sendable {
    var status = 0
    var body: [UInt8] = []
    var error: TransferError?
    var ends = 0
  }

  private let value = Mutex(Value())
  private let ended = DispatchSemaphore(value: 0)

  var current: Value { value.withLock { $0 } }

  func wait(seconds: Double) -> Bool { ended.wait(timeout: .now() + seconds) == .success }

  func transfer(_ transfer: Transfer, didReceiveHead head: ResponseHead) -> Flow {
    value.withLock { $0.status = head.status }
    return .proceed
  }

  func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    value.withLock { $0.body += bytes }
    return .proceed
  }

  func transfer(_ transfer: Transfer, didFinish error: TransferError?, report: TransferReport) {
    let ends = value.withLock { value in
      value.error = error
      value.ends += 1
      return value.ends
    }
    guard ends == 1 else { fatalError("a transfer ended \(ends) times") }
    ended.signal()
  }
}

/// An engine that lives as long as the process, and its upstream.
private final class Rig: Sendable {
  let upstream = Upstream()
  private let loop: EventLoop
  private let engine: LoopBound<TransferEngine>
  private let counter = Atomic(0)

  private var count: Int { counter.load(ordering: .relaxed) }

  init() {
    do {
      let made = try EventLoop(name: "fuzz")
      let box = Mutex<LoopBound<TransferEngine>?>(nil)
      let done = DispatchSemaphore(value: 0)
      made.post {
        if let engine = try? TransferEngine(loop: made, options: TransportOptions(), observer: nil) {
          let bound = LoopBound(engine, on: made)
          box.withLock { $0 = bound }
        }
        done.signal()
      }
      done.wait()
      guard let bound = box.withLock({ $0 }) else { fatalError("no engine") }
      (loop, engine) = (made, bound)
    } catch {
      fatalError("no loop: \(error)")
    }
  }

  func nextOwnPath() -> String {
    counter.add(1, ordering: .relaxed)
    return "/own/\(count)"
  }

  func transfer(_ path: String, _ method: String) -> Answer.Value {
    // A new address now and then, as connections that are over keep their ports for a minute.
    let host = "127.0.\(count / 50_000 % 250).\(count / 200 % 250 + 1)"
    let body: TransferBody = method == "POST" ? .bytes([1]) : .none
    let spec = TransferSpec(url: "http://\(host):\(upstream.port)\(path)", method: method, body: body)
    let answer = Answer()
    while upstream.hasAnswered(within: 0) {}
    loop.post { [engine] in
      _ = engine.value.start(spec, headers: PreparedHeaders(lines: []), delegate: answer)
    }
    if path.hasPrefix("/own/") {
      guard answer.wait(seconds: 8) else { fatalError("a request has no answer") }
    } else {
      finish(answer)
    }
    upstream.awaitQuiet()
    return answer.current
  }

  func checkDescriptors() {
    guard count % 64 == 0 else { return }
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    guard open < 500 else { fatalError("\(open) descriptors are open") }
  }

  /// An answer without an end waits for more: then that is cut off.
  private func finish(_ answer: Answer) {
    for _ in 0..<20_000 {
      if answer.wait(seconds: 0) { return }
      if upstream.hasAnswered(within: 0.0005) { break }
    }
    upstream.awaitQuiet()
    for _ in 0..<10 {
      turnLoop()
      if answer.wait(seconds: 0) { return }
    }
    for _ in 0..<20 {
      upstream.cutAll()
      if answer.wait(seconds: 0.25) { return }
    }
    fatalError("a transfer doesn't end")
  }

  private func turnLoop() {
    let done = DispatchSemaphore(value: 0)
    loop.post { done.signal() }
    done.wait()
  }
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput") public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
    check(UnsafeRawBufferPointer(start: start, count: count))
    return 0
  }
#else
  @main enum Main {
    static func main() { print("built to be run by script/fuzz") }
  }
#endif
