import Foundation
import FoundationNetworking
import Weir

// The listings about authentication that are in no other example.

struct Key: AuthenticationCredential, Decodable, Sendable {
  let text: String
  let end: Date
  var requiresRefresh: Bool { end < .now }
}

final class KeySource: AsyncAuthenticator {
  func apply(_ key: Key, to urlRequest: inout URLRequest) { urlRequest.headers["X-Key"] = key.text }

  /// Others wait for it, so it has a deadline of its own.
  func refresh(_ key: Key, for session: Session) async throws -> Key {
    try await session.request("https://keys.example/next").validate().deadline(5).serializingDecodable(Key.self).value
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool { response.statusCode == 401 }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith key: Key) -> Bool {
    urlRequest.headers["X-Key"] == key.text
  }
}

struct Tenant: HeaderAdapter {
  let name: String

  func headers(using state: RequestAdapterState) -> HTTPHeaders { ["X-Tenant": name] }
}

protocol SigningKeys: Sendable {
  func signature(of urlRequest: URLRequest) async throws -> String
}

struct AuthenticationListings {
  func maps() throws -> Session {
    let key = SecretField("X-API-Key", Secret(try SecretFile("/run/secrets/maps")))
    let session = Session(interceptor: key)
    return session
  }

  func signer(_ keys: any SigningKeys) -> Adapter {
    let signer = Adapter(name: "signer") { urlRequest, state in
      var urlRequest = urlRequest
      urlRequest.headers["Signature"] = try await keys.signature(of: urlRequest)
      return urlRequest
    }
    return signer
  }
}
