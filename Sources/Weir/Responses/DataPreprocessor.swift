/// Changes a body before it is serialized. It is not called for empty bodies.
@preconcurrency
public protocol DataPreprocessor: Sendable {
  /// Returns the body to serialize. Runs where the serializer runs; an error it throws arrives as the serializer's own.
  func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
  /// There is nothing to set.
  public init() {}

  public func preprocess(_ data: Data) throws -> Data { data }
}

/// Removes the six bytes `)]}',\n` that some services put before JSON against script inclusion.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
  private static let prefix = Data(")]}',\n".utf8)

  /// There is nothing to set.
  public init() {}

  public func preprocess(_ data: Data) throws -> Data {
    // A new Data, so that indices start at 0.
    data.starts(with: Self.prefix) ? Data(data.dropFirst(Self.prefix.count)) : data
  }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
  /// Leaves the body as it is.
  public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
  /// Removes the XSSI prefix.
  public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
