/// The facts about a request's sender that routes may look at.
protocol RequestSender {
  /// The name of the listener by which the request came.
  var listener: [UInt8] { get }
  var client: ClientAddress { get }
}

/// A sender that no condition holds for, but those that name none.
struct UnknownSender: RequestSender {
  var listener: [UInt8] { [] }
  var client: ClientAddress { .unix }
}
