extension DecodingError {
  /// What does not fit and where, without values of the body: they may be secrets.
  var summary: String {
    switch self {
    case .keyNotFound(let key, let context):
      "there is no \"\(key.stringValue)\"\(Self.place(context))"
    case .valueNotFound(let type, let context):
      "null is no \(type)\(Self.place(context))"
    case .typeMismatch(let type, let context):
      "the value is no \(type)\(Self.place(context))"
    case .dataCorrupted(let context):
      context.codingPath.isEmpty ? context.debugDescription : "the value is not valid\(Self.place(context))"
    @unknown default:
      "the value does not fit"
    }
  }

  /// ` at orders[2].price`; nothing for the whole.
  private static func place(_ context: Context) -> String {
    var path = ""
    for key in context.codingPath {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    return path.isEmpty ? "" : " at \(path)"
  }
}
