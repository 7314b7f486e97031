import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// The time limit of a request, which the head of a response that streams ends.
extension Forwarding {
  /// The head of a response that streams goes to the client: only its gaps are bounded from now on.
  func streamBegins(by route: RoutePlan) {
    streamBegan = .now
    attempt?.limitSilence(to: route.streamSilence)
  }

  /// Whether the client ends a stream by leaving now. It does not if it leaves with a part of what it was promised, or
  /// has not sent its whole request.
  var endsStream: Bool {
    streamBegan != nil && exchange.hasClientLeft && body.timer == nil
      && (isRecoded || head?.value(forField: "Content-Length") == nil)
  }

  /// The deadline has passed. If the upstream waits only for the client's body, or the response for its client, the
  /// upstream was not slow.
  func deadlineIsOver() {
    // The timer stays armed at a stream's head, since the response may still be taken back.
    if streamBegan != nil { return }
    if body.isAwaited && machine.stage != .passing || clientWait?.since != nil { return fail(.cancelled) }
    let seconds = outgoing?.route.timeout ?? 0
    fail(.transfer(TransferFailure(.timedOut, "the request took longer than its route allows (timeout: \(seconds) s)")))
  }
}
