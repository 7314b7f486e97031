/// Makes a value of each chunk of a stream.
@preconcurrency
public protocol DataStreamSerializer: Sendable {
  /// The type of the values.
  associatedtype SerializedObject: Sendable

  /// Returns the value of a chunk. Chunks come one after another as they were received, and may end anywhere. A
  /// serializer that has to join chunks keeps them itself. An error that it throws arrives as `.stream(.failure)`.
  func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each chunk, so that there must be one value per chunk.
public struct DecodableStreamSerializer<Value: Decodable & Sendable>: DataStreamSerializer {
  /// Decodes the chunks; `JSONDecoder` by default.
  public let decoder: any DataDecoder
  /// Changes a chunk before it is decoded.
  public let dataPreprocessor: any DataPreprocessor

  /// Makes a serializer with a decoder, and a preprocessor that changes each chunk first.
  public init(
    decoder: any DataDecoder = JSONDecoder(), dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
  ) {
    self.decoder = decoder
    self.dataPreprocessor = dataPreprocessor
  }

  public func serialize(_ data: Data) throws -> Value {
    let chunk = try dataPreprocessor.preprocess(data)
    do {
      return try decoder.decode(Value.self, from: chunk)
    } catch {
      throw WeirError.responseSerializationFailed(reason: .decodingFailed(error: error))
    }
  }
}

/// Leaves chunks as they are.
public struct PassthroughStreamSerializer: DataStreamSerializer {
  /// There is nothing to set.
  public init() {}

  public func serialize(_ data: Data) -> Data { data }
}

/// Reads each chunk as UTF-8. Invalid bytes become U+FFFD, as does a character that is split between two chunks.
public struct StringStreamSerializer: DataStreamSerializer {
  /// There is nothing to set.
  public init() {}

  public func serialize(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }
}

extension DataStreamSerializer {
  /// Decodes each chunk.
  @preconcurrency
  public static func decodable<Value: Decodable & Sendable>(
    of type: Value.Type, decoder: any DataDecoder = JSONDecoder(),
    dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
  ) -> Self where Self == DecodableStreamSerializer<Value> {
    DecodableStreamSerializer<Value>(decoder: decoder, dataPreprocessor: dataPreprocessor)
  }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
  /// Leaves chunks as they are.
  public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
  /// Reads each chunk as UTF-8.
  public static var string: StringStreamSerializer { StringStreamSerializer() }
}
