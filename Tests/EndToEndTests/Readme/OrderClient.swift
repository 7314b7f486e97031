// docs/requests.md begins
import Foundation
import FoundationNetworking
import Weir

/// Orders of another service: each request names the tenant, and is tried again when that may help.
final class OrderClient: Sendable {
  struct Order: Codable, Sendable, Equatable {
    let id: Int
    let item: String
  }

  private let base: String
  private let session: Session

  init(base: String, tenant: String) {
    self.base = base
    let adapter = Adapter(
      { urlRequest, _, completion in
        var urlRequest = urlRequest
        urlRequest.setValue(tenant, forHTTPHeaderField: "X-Tenant")
        completion(.success(urlRequest))
      }, name: "tenant")
    session = Session(
      interceptor: Interceptor(adapters: [adapter], retriers: [RetryPolicy.recommended(limit: 3)]))
  }

  /// Awaited.
  func order(_ id: Int) async throws -> Order {
    try await session.request("\(base)/orders/\(id)").validate().serializingDecodable(Order.self).value
  }

  /// The same with a closure.
  func order(_ id: Int, completion: @escaping @Sendable (Result<Order, WeirError>) -> Void) {
    session.request("\(base)/orders/\(id)").validate()
      .responseDecodable(of: Order.self) { response in completion(response.result) }
  }

  /// With a body. POST is not idempotent, so that the policy doesn't repeat it.
  func place(_ order: Order) async throws {
    let response = await session.request(
      "\(base)/orders", method: .post, parameters: order, encoder: JSONParameterEncoder.default
    ).validate().serializingData(emptyResponseCodes: [201]).response
    if let error = response.error { throw error }
  }
}
// docs/requests.md ends
