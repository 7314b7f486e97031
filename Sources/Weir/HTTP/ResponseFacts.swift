import FoundationNetworking

/// What serializers and validators ask of a response, whichever form it has.
protocol ResponseFacts {
  var statusCode: Int { get }
  func value(forHeader name: String) -> String?
}

extension LazyHTTPResponse: ResponseFacts {}

extension HTTPURLResponse: ResponseFacts {
  func value(forHeader name: String) -> String? { value(forHTTPHeaderField: name) }
}
