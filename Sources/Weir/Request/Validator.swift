public import Foundation
public import FoundationNetworking

/// One check of a response. What needs no `HTTPURLResponse` gets the raw head, so that none is built for it.
struct Validator: Sendable {
  /// Nil when the response passes.
  let failure: @Sendable (ValidationInput) -> WeirError?
}

struct ValidationInput: Sendable {
  let urlRequest: URLRequest?
  let response: LazyHTTPResponse
  let data: Data?
}
