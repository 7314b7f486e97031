import FuzzSupport
import Synchronization

// What must hold whatever an upstream sends to a gateway: its client gets one well-formed response, or a visible end
// before that is whole, but never nothing; no byte of another request's answer; a request that follows gets its own; a
// line of the log is one line; no descriptor is lost.
//
// Of the options, the lowest two, both set, choose a route that retries for the first request; the third has the client
// send all its requests at once.
private func check(_ bytes: UnsafeRawBufferPointer) {
  guard let input = FuzzInput(bytes) else { return }
  rig.withLock { $0.check(input) }
}

private let rig = Mutex(GatewayRig())

#if FUZZING
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { checkInput(start, count, check) }
#else
  @main enum Main {
    static func main() throws { try checkFiles(check) }
  }
#endif
