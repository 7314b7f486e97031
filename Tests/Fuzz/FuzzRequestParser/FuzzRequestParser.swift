import FuzzSupport
import WeirServer

// What must hold for any input: no trap; the same requests and the same refusal however the input is cut; and a request
// that was accepted, written out again, is accepted as the same.
//
// The first byte chooses limits and cuts; the rest is what a client sends.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let bytes = Array(input.dropFirst())
  let limits = limits(choice)
  let whole = Outcome(bytes, limits: limits, cut: { .max })
  let single = Outcome(bytes, limits: limits, cut: { 1 })
  let random = Outcome(bytes, limits: limits, cut: pieceLengths(seed: choice))
  guard whole == single, whole == random else { fatalError("cut differently: \(whole), \(single), \(random)") }
  for request in whole.requests where request.isComplete {
    let again = Outcome(request.written, limits: ServerLimits(), cut: { .max })
    guard again.refusal == nil, again.requests == [request] else { fatalError("written again: \(request), \(again)") }
  }
}

/// Small ones for half of the inputs, so that the limits are met.
private func limits(_ choice: UInt8) -> ServerLimits {
  var limits = ServerLimits()
  guard choice & 1 == 0 else { return limits }
  limits.targetBytes = 16
  limits.headerBytes = 80
  limits.headerFields = 5
  limits.bodyBytes = 20
  return limits
}

private struct Request: Equatable {
  var method: String
  var target: String
  var path: String
  var query: String?
  var authority: String
  var isVersion11: Bool
  var fields: [[UInt8]] = []
  var bodyLength: BodyLength
  var keepsAlive: Bool
  var body: [UInt8] = []
  var isComplete = false

  init(_ head: RequestHead) {
    method = head.method
    target = head.target
    path = head.path
    query = head.query
    authority = head.authority
    isVersion11 = head.version == .http11
    bodyLength = head.bodyLength
    keepsAlive = head.keepsAlive
    var fields: [[UInt8]] = []
    head.fields.forEach { fields.append(Array($0) + Array(": ".utf8) + Array($1)) }
    self.fields = fields
  }

  var written: [UInt8] {
    var bytes = Array("\(method) \(target) HTTP/1.\(isVersion11 ? 1 : 0)\r\n".utf8)
    for field in fields { bytes += field + Array("\r\n".utf8) }
    bytes += Array("\r\n".utf8)
    guard bodyLength == .chunked else { return bytes + body }
    if !body.isEmpty { bytes += Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8) }
    return bytes + Array("0\r\n\r\n".utf8)
  }
}

private struct Outcome: Equatable {
  var requests: [Request] = []
  var refusal: RequestRefusal?

  init(_ bytes: [UInt8], limits: ServerLimits, cut: () -> Int) {
    var parser = RequestParser(limits: RequestParser.Limits(limits))
    var rest = bytes[...]
    while !rest.isEmpty, refusal == nil {
      let piece = Array(rest.prefix(cut()))
      rest = rest.dropFirst(piece.count)
      feed(piece, to: &parser)
    }
  }

  private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser) {
    var position = 0
    while true {
      let start = position
      let event = parser.next(piece.span, at: &position)
      guard position >= start, position <= piece.count else { fatalError("at \(position) of \(piece.count)") }
      switch event {
      case .head(let head): requests.append(Request(head))
      case .body(let range): requests[requests.count - 1].body += piece[range]
      case .end: requests[requests.count - 1].isComplete = true
      case .needsInput:
        guard position == piece.count else { fatalError("input was left behind") }
        return
      case .refused(let refusal):
        self.refusal = refusal
        return
      }
    }
  }
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif
