public import Foundation
public import FoundationNetworking

/// One request of a caller, whatever number of attempts it takes.
// Sendable: only constants so far.
public class Request: @unchecked Sendable {
  public let id: UUID
  public let retryCount: Int
  public let request: URLRequest?
  package let lazyResponse: LazyHTTPResponse?

  /// The last response.
  public var response: HTTPURLResponse? { lazyResponse?.response }

  package init(
    id: UUID = UUID(), retryCount: Int = 0, request: URLRequest? = nil, lazyResponse: LazyHTTPResponse? = nil
  ) {
    self.id = id
    self.retryCount = retryCount
    self.request = request
    self.lazyResponse = lazyResponse
  }
}
