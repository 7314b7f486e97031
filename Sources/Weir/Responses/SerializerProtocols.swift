public import Foundation
public import FoundationNetworking

/// Makes a value of a response held in memory.
///
/// It is called for failed requests too, with the error; it may rethrow it or make a value all the same. Not for those that
/// were ended from outside (cancelled, past their deadline, turned away, of a session that is gone): their outcome waits
/// for no serializer. A thrown
/// ``WeirError`` is kept, any other error arrives as
/// ``WeirError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
@preconcurrency
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
  associatedtype SerializedObject: Sendable

  func serialize(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject
}

/// Makes a value of a downloaded file, by the same rules.
@preconcurrency
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
  associatedtype SerializedObject: Sendable

  func serializeDownload(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
  ) throws -> SerializedObject
}

/// A built-in serializer's other door: it reads status and fields from the raw head, so that no `HTTPURLResponse` is
/// built for it.
package protocol LazyResponseSerializer<SerializedObject>: Sendable {
  associatedtype SerializedObject: Sendable

  func serialize(
    request: URLRequest?, lazyResponse: LazyHTTPResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject
}

/// A serializer's work as a function of the lazy response.
package typealias LazySerialization<Value> =
  @Sendable (
    _ request: URLRequest?, _ response: LazyHTTPResponse?, _ data: Data?, _ error: (any Error)?
  ) throws -> Value

extension DataResponseSerializerProtocol {
  /// This serializer as a function of the lazy response. Ask once, when a handler is added: it costs a cast.
  package var lazySerialization: LazySerialization<SerializedObject> {
    if let lazy = self as? any LazyResponseSerializer<SerializedObject> {
      return { try lazy.serialize(request: $0, lazyResponse: $1, data: $2, error: $3) }
    }
    return { try serialize(request: $0, response: $1?.response, data: $2, error: $3) }
  }
}

extension WeirError {
  /// What a serializer threw, as the error of the request.
  package static func serialization(_ error: any Error) -> WeirError {
    error.asWeirError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: error)))
  }
}
