import FuzzSupport
import WeirMetrics
import WeirOTLP

// The first octet of the input chooses the encoding; the rest is the body of a collector's response. These must hold
// for any of them: no trap, a count that is not negative, a text within its bounds that needs no escapes to be shown,
// and the same again when what was understood is written down in protobuf.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let first = input.first else { return }
  let encoding: MessageEncoding = first & 1 == 0 ? .protobuf : .json
  let body = Array(input.dropFirst())
  for isError in [false, true] {
    let read =
      isError ? CollectorResponse(error: body, as: encoding) : CollectorResponse(body, as: encoding)
    guard let read else { continue }
    checkBounds(read)
    guard response(written(read, isError: isError), isError: isError) == read else { fatalError("\(read)") }
  }
}

private func checkBounds(_ read: CollectorResponse) {
  guard read.rejected >= 0, read.message.utf8.count <= CollectorResponse.longestMessage else { fatalError("\(read)") }
  let isShown = read.message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  guard isShown else { fatalError("\(read.message.debugDescription)") }
}

private func response(_ body: [UInt8], isError: Bool) -> CollectorResponse? {
  isError ? CollectorResponse(error: body, as: .protobuf) : CollectorResponse(body, as: .protobuf)
}

private func written(_ response: CollectorResponse, isError: Bool) -> [UInt8] {
  var page = ExpositionPage()
  page.withProtobuf { writer in
    if isError {
      writer.string(2, response.message)
    } else {
      writer.delimited(1) { partial in
        partial.varint(1, Int64(response.rejected))
        partial.string(2, response.message)
      }
    }
  }
  return page.withBytes { Array($0) }
}

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif
