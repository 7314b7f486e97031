import Weir
import WeirServer

/// Anything that can show header fields one by one: a request's, a response's.
protocol FieldSource {
  /// Calls `body` with name and value of each field, in order. The bytes are valid during the call.
  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void)
}

extension HeaderFields: FieldSource {}

extension LazyHTTPResponse: FieldSource {
  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    forEachField(body)
  }
}
